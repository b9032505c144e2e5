#ifndef SP_API_HOST_HTTP_HTTP_INTERNAL_H
#define SP_API_HOST_HTTP_HTTP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <time.h>

#include "api/host/http/http_server.h"
#include "base/thread.h"

/*
 * The structs of the server.  Calls go one way: http_server.c (threads, listeners) to
 * http_connection.c (a socket) to http1_session.c or http2_session.c (what is spoken over it) to
 * http_request.c (one request and its answer); http_tls.c is between a connection and its socket.
 */
struct event;
struct event_base;
struct iovec;
typedef struct sp_http_connection sp_http_connection;
typedef struct sp_http_loop sp_http_loop;

/* -------------------------------------------------------------------- head */

/* Whether the name of a header may contain it. */
bool sp_http__is_token_char(char c);
bool sp_http__is_field_value(sp_bytes text);

/*
 * Fills in all but the headers of a head of HTTP/2 whose headers are set.  Returns and refuses as
 * sp_http_head_parse() does.
 */
int sp_http__head_complete(sp_http_head *head, sp_bytes method, sp_bytes target, sp_error *err);

/* ----------------------------------------------------------------- request */

typedef STAILQ_HEAD(sp_http_requests, sp_http_request) sp_http_requests;

/* Answered requests on their way back to the loop of their connection. */
typedef struct sp_http_answers {
	pthread_mutex_t lock; /* protects list */
	sp_http_requests list;
	int wake_fd;               /* eventfd that the loop waits on */
	const atomic_size_t *busy; /* sp_http_server.busy */

	/* For the thread of the loop only, about requests that it has answered itself. */
	size_t own_count; /* in `list` */
	int64_t own_ns;   /* when the last one was passed on, and by which socket it had come */
	int own_socket;
	int crowd; /* how many of the next requests do not count as alone */
} sp_http_answers;

/* Wakes the loop, which checks its answers and whether it has to stop. */
void sp_http__answers_wake(sp_http_answers *answers);

/* The calling thread runs the loop, which passes its own answers on without being woken. */
void sp_http__answers_own(sp_http_answers *answers);

/*
 * The state says which thread may access a request:
 *
 *	READING -> HANDED -> BEGUN -> ANSWERED -> (READING)
 *	              \-> ORPHANED
 *
 * READING, ANSWERED  the loop of its owner
 * HANDED             none: it waits for a thread, and only the state may be changed
 * BEGUN              the thread that changed HANDED to BEGUN
 * ORPHANED           its owner has left it; the thread that finds it frees it
 *
 * A request in state BEGUN or ANSWERED that its owner has left is freed by the loop, after the
 * answer.
 */
enum sp_http_request_state {
	SP_HTTP_READING,
	SP_HTTP_HANDED,
	SP_HTTP_BEGUN,
	SP_HTTP_ANSWERED,
	SP_HTTP_ORPHANED,
};

/*
 * What a request came by, and its answer goes to: a connection of HTTP/1.1 or a stream of HTTP/2.
 * Called on the thread of its loop.
 */
typedef struct sp_http_owner_ops {
	void (*answer)(void *owner); /* its request has been answered */

	/* The deadline of its request, which waits for a thread, is earlier now. */
	void (*set_deadline)(void *owner, int64_t deadline_ns);
} sp_http_owner_ops;

struct sp_http_request {
	atomic_int state;
	atomic_bool peer_closed; /* the client has closed its side */
	atomic_bool cancelled;   /* the client has reset its stream or connection */
	bool followed;           /* more has come behind it on a connection of HTTP/1.1 */
	const sp_http_options *options;
	sp_http_answers *answers;
	const sp_http_owner_ops *ops;
	void *owner;                        /* for the loop only; NULL: it has left the request */
	STAILQ_ENTRY(sp_http_request) link; /* in answers->list */
	int socket;
	bool secure;                  /* over TLS */
	int tag;                      /* for the observer */
	sp_call_record record;        /* likewise */
	char peer[SP_HTTP_PEER_SIZE]; /* "" unless noted */
	bool is_part;                 /* of the body of a stream, with `label` */
	char label[SP_HTTP_LABEL_SIZE];
	size_t label_size;
	int64_t handed_ns; /* when its last bytes were read, once it is complete; 0: not yet */
	int64_t deadline_ns;

	sp_buffer head_text; /* what `head` is a view of */
	sp_http_head head;
	sp_buffer body;

	int status;       /* of the answer; 0: none, because the client has gone */
	int outcome;      /* the status for the observer; 0: `status` */
	char reason[256]; /* error text, for the observer */
	const char *content_type;
	bool retry;
	sp_http_header fields[SP_HTTP_MAX_FIELDS]; /* headers, then trailers */
	size_t header_count, trailer_count;
	sp_buffer field_text; /* what `fields` are views of */
	sp_buffer out;
};

void sp_http__request_destroy(sp_http_request *request);

/*
 * Makes a request with the owner, head and label of another one, which no thread has begun in time
 * and which is answered through it, or whose body it is a part of.  NULL when out of memory;
 * head_text has failed when there was none for the head.
 */
sp_http_request *sp_http__request_copy(sp_http_loop *loop, const sp_http_request *old);

/* Makes it a part of the body of a stream. */
void sp_http__request_set_label(sp_http_request *request, sp_bytes label);

/*
 * Takes a request back from the queue in which it waits: it becomes an orphan.  False if a thread
 * has begun it.
 */
SP_MUST_CHECK bool sp_http__request_orphan(sp_http_request *request);

/*
 * The client of a request that was handed over has gone.  The request must not be touched any more;
 * true: the loop has to wait for its answer (sp_http_loop.left).
 */
SP_MUST_CHECK bool sp_http__request_leave(sp_http_request *request);

/* Tells the observer how it ended, and when. */
void sp_http__request_observe(sp_http_request *request, int64_t answered_ns);

/* Prepares it for the next request on its connection. */
void sp_http__request_reset(sp_http_request *request);

/* Sets the answer to a request that fails, without sending it. */
void sp_http__request_set_error(sp_http_request *request, int status, const char *text);

/* -------------------------------------------------------------- connection */

/*
 * What a connection is doing.  HTTP/1.1 goes through all of them:
 *
 *	IDLE -> HEAD -> BODY -> WAITING -> WRITING -> IDLE
 *
 * HTTP/2 is in BODY while none of its streams has a whole request, and in WAITING while one has.
 *
 * The last phase is LINGER: everything has been sent, and for a moment the server reads and drops
 * what the client still sends, because closing a socket with unread data would make the kernel
 * discard the answer.
 */
enum sp_http_phase {
	SP_PHASE_IDLE,
	SP_PHASE_HEAD,
	SP_PHASE_BODY,
	SP_PHASE_WAITING,
	SP_PHASE_WRITING,
	SP_PHASE_LINGER,
	SP_PHASES, /* how many there are */
};

/* What is spoken over a connection.  Each function may destroy the connection. */
typedef struct sp_http_protocol {
	void (*readable)(sp_http_connection *c);
	void (*writable)(sp_http_connection *c);
	void (*late)(sp_http_connection *c);    /* deadline_ns has passed */
	void (*stop)(sp_http_connection *c);    /* accept no further request */
	void (*release)(sp_http_connection *c); /* the session and its requests */
} sp_http_protocol;

struct sp_http_connection {
	sp_http_loop *loop;
	int fd;
	enum sp_http_phase phase;
	struct event *readable, *writable, *timer;
	void *tls;    /* http_tls.c; NULL: plain */
	bool reading; /* `readable` is added */
	bool end_of_input;
	bool wants_writing; /* is in loop->to_write */
	int64_t deadline_ns;
	int64_t timer_ns;     /* when the timer fires; if before the deadline, it is set again */
	int64_t last_body_ns; /* when the last bytes of a body arrived */
	const sp_http_protocol *protocol;
	void *session;                              /* of the protocol; NULL while lingering */
	TAILQ_ENTRY(sp_http_connection) link;       /* in the loop's list of this phase */
	TAILQ_ENTRY(sp_http_connection) write_link; /* in loop->to_write */
};

/* Takes over the socket, even if it fails for lack of memory. */
void sp_http__connection_open(sp_http_loop *loop, int fd, sp_http_tls *tls);
void sp_http__connection_destroy(sp_http_connection *c);

/* All has been sent: releases the session and closes, without losing what was sent. */
void sp_http__connection_finish(sp_http_connection *c);

/* The connection to close to make room; NULL if all have a request. */
sp_http_connection *sp_http__connection_spare(sp_http_loop *loop);

void sp_http__connection_move(sp_http_connection *c, enum sp_http_phase phase);
void sp_http__connection_set_deadline(sp_http_connection *c, int64_t deadline_ns);
void sp_http__connection_set_reading(sp_http_connection *c, bool reading);

/* Bytes of a body have arrived, in the phase BODY. */
void sp_http__connection_note_progress(sp_http_connection *c);

/* Calls `writable` after all answers that wait have been passed to their owners. */
void sp_http__connection_write_soon(sp_http_connection *c);

/* As recv() and sendmsg(), over TLS where the connection has it. */
ssize_t sp_http__connection_receive(sp_http_connection *c, void *data, size_t size);
ssize_t sp_http__connection_send(sp_http_connection *c, const struct iovec *parts, size_t count);

/* TLS over a socket; `ssl` is of sp_http__tls_open(), which is NULL when out of memory. */
void *sp_http__tls_open(sp_http_tls *tls, int fd);
void sp_http__tls_end(void *ssl); /* tells the client that nothing follows */
void sp_http__tls_close(void *ssl);

/* 1: done; -1: failed; 0 or SP_HTTP_TLS_WRITE: call again when the socket can be read or written.
 */
enum { SP_HTTP_TLS_WRITE = 2 };
int sp_http__tls_shake_hands(void *ssl);
bool sp_http__tls_is_http2(const void *ssl);

/* As recv() and sendmsg(); has_more: whether receive() would return something at once. */
ssize_t sp_http__tls_receive(void *ssl, void *data, size_t size);
bool sp_http__tls_has_more(const void *ssl);
ssize_t sp_http__tls_send(void *ssl, const struct iovec *parts, size_t count);

/* The time in so many milliseconds, by sp_clock_now_ns(). */
int64_t sp_http__in_ms(int64_t ms);

/* Begins HTTP/1.1; false when out of memory. */
SP_MUST_CHECK bool sp_http__http1_open(sp_http_connection *c);

/*
 * Changes the connection to HTTP/2, and to `released` of the session before; `input` is what was
 * received.  May destroy the connection.
 */
void sp_http__http2_open(sp_http_connection *c, sp_bytes input);

/*
 * Changes to HTTP/2 as the request asks for; its answer goes to the first stream.  False if it
 * asks wrongly or memory is out: nothing has changed.  Otherwise sp_http__http2_receive() must be
 * called with what was received behind the request.
 */
SP_MUST_CHECK bool sp_http__http2_upgrade(sp_http_connection *c, sp_http_request *request);
void sp_http__http2_receive(sp_http_connection *c, sp_bytes input);

/* What every client of HTTP/2 sends first. */
#define SP_HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* -------------------------------------------------------------------- loop */

typedef TAILQ_HEAD(sp_http_connections, sp_http_connection) sp_http_connections;

/* Room for what is read and written at a time. */
enum { SP_HTTP_INPUT_BYTES = 64 << 10, SP_HTTP_OUTPUT_BYTES = 64 << 10 };

/* Sizes of blocks that are kept (http2_memory.h). */
enum { SP_HTTP_BLOCK_CLASSES = 7 };

/* An address, as one loop listens on it. */
typedef struct sp_http_listener {
	sp_http_loop *loop;
	int fd;
	sp_http_tls *tls;
	struct event *event;
} sp_http_listener;

/* One I/O thread.  Only that thread touches it, apart from `answers`. */
struct sp_http_loop {
	sp_http_server *server;
	const sp_http_options *options; /* of the server */
	struct event_base *base;
	struct event *wake, *accept_again;
	sp_http_listener listeners[SP_MAX_ADDRESSES];
	size_t listener_count;
	bool accepting, stopping;
	bool closed_one; /* a connection was closed since accepting was paused */
	size_t connection_count, max_connections;
	size_t left;    /* requests whose owner has left them, still to be answered */
	int64_t now_ns; /* when it began the current event of a connection, or passed an answer */
	sp_http_connections in[SP_PHASES]; /* connections by phase, oldest first */
	sp_http_connections to_write;
	sp_http_requests spare_requests; /* empty ones, kept for later */
	size_t spare_count;
	sp_http_answers answers;
	struct sp_http_block *spare_blocks[SP_HTTP_BLOCK_CLASSES]; /* memory of HTTP/2, kept */
	size_t spare_bytes;
	char *input;      /* [SP_HTTP_INPUT_BYTES] */
	sp_buffer output; /* of HTTP/2: frames that are sent at once */
	time_t date_second;
	char date[32]; /* Date header for date_second */
};

/* The value of a Date header. */
const char *sp_http__date(sp_http_loop *loop);

/*
 * A request from `spare_requests` or a new one, whose ops, owner and socket the caller sets; NULL
 * when out of memory.
 */
sp_http_request *sp_http__request_take(sp_http_loop *loop);

/* Resets the request and keeps it, or destroys it; NULL is fine. */
void sp_http__request_put(sp_http_loop *loop, sp_http_request *request);

struct sp_http_server {
	sp_http_options options; /* whose addresses are below */
	sp_http_address
		addresses[SP_MAX_ADDRESSES]; /* with ports; hosts only where they are paths */
	int listen_fds[SP_MAX_ADDRESSES];    /* until the loops have their own */
	char *paths[SP_MAX_ADDRESSES];       /* of sockets, to be removed; NULL: no socket */
	size_t loop_count;
	atomic_size_t next_loop; /* index of the loop that the next thread takes */
	atomic_bool draining, stopping;
	atomic_size_t open, busy;                   /* as in sp_http_server_load */
	atomic_uint_least64_t dropped, turned_away; /* likewise */
	sp_thread_group *threads;

	pthread_mutex_t lock; /* protects running */
	pthread_cond_t ended;
	size_t running; /* loops that have not ended */
	sp_http_loop loops[];
};

/* As sp_http__in_ms(), from when the loop began what it does now for this connection. */
static inline int64_t sp_http__connection_in_ms(const sp_http_connection *c, int64_t ms)
{
	return c->loop->now_ns + ms * 1000000;
}

#endif
