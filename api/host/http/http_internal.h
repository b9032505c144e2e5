#ifndef SP_API_HOST_HTTP_HTTP_INTERNAL_H
#define SP_API_HOST_HTTP_HTTP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <time.h>

#include "api/host/http/http_server.h"
#include "base/thread.h"

/*
 * The structs of the server.  Calls go one way: http_server.c (threads, listener) to
 * http_connection.c (one connection) to http_request.c (one request and its answer).
 */
struct event;
struct event_base;
typedef struct sp_http_connection sp_http_connection;

/* -------------------------------------------------------------------- head */

/* Whether the name of a header may contain it. */
bool sp_http__is_token_char(char c);
bool sp_http__is_field_value(sp_bytes text);

/* ----------------------------------------------------------------- request */

/* Answered requests on their way back to the loop of their connection. */
typedef struct sp_http_answers {
	pthread_mutex_t lock; /* protects list */
	STAILQ_HEAD(, sp_http_request) list;
	int wake_fd; /* eventfd that the loop waits on */
} sp_http_answers;

/* Wakes the loop, which checks its answers and whether it has to stop. */
void sp_http__answers_wake(sp_http_answers *answers);

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
	atomic_bool cancelled;   /* nobody will get the answer */
	const sp_http_options *options;
	sp_http_answers *answers;
	const sp_http_owner_ops *ops;
	void *owner;                        /* for the loop only; NULL: it has left the request */
	STAILQ_ENTRY(sp_http_request) link; /* in answers->list */
	int socket;
	int tag;                      /* for the observer */
	char peer[SP_HTTP_PEER_SIZE]; /* "" unless noted */
	int64_t handed_ns;            /* when it was complete; 0: not yet */
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

/* NULL when out of memory.  The owner sets ops, owner and socket. */
sp_http_request *sp_http__request_create(const sp_http_options *options, sp_http_answers *answers);
void sp_http__request_destroy(sp_http_request *request);

/*
 * A request with the same owner and head, through which another one is answered that no thread has
 * begun in time.  NULL when out of memory.
 */
sp_http_request *sp_http__request_copy(const sp_http_request *old);

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

/* Tells the observer how it ended. */
void sp_http__request_observe(const sp_http_request *request);

/* Prepares it for the next request on its connection. */
void sp_http__request_reset(sp_http_request *request, size_t max_body_bytes);

/* Sets the answer to a request that fails, without sending it. */
void sp_http__request_set_error(sp_http_request *request, int status, const char *text);

/* -------------------------------------------------------------------- loop */

/* How many phases a connection has (http_connection.c). */
enum { SP_HTTP_PHASES = 6 };

typedef TAILQ_HEAD(sp_http_connections, sp_http_connection) sp_http_connections;

/* One I/O thread.  Only that thread touches it, apart from `answers`. */
typedef struct sp_http_loop {
	sp_http_server *server;
	struct event_base *base;
	struct event *listener, *wake, *accept_again;
	int listen_fd;
	bool accepting, stopping;
	bool closed_one; /* a connection was closed since accepting was paused */
	size_t connection_count, max_connections;
	size_t left; /* requests whose owner has left them, still to be answered */
	sp_http_connections in[SP_HTTP_PHASES]; /* connections by phase, oldest first */
	sp_http_answers answers;
	time_t date_second;
	char date[32]; /* Date header for date_second */
} sp_http_loop;

struct sp_http_server {
	sp_http_options options;
	uint16_t port;
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

/* -------------------------------------------------------------- connection */

/* Takes over the socket, even if it fails for lack of memory. */
void sp_http__connection_open(sp_http_loop *loop, int fd);
void sp_http__connection_destroy(sp_http_connection *connection);

/* The connection that has been idle longest; NULL when none is. */
sp_http_connection *sp_http__connection_idle(sp_http_loop *loop);

/* The connection to close to make room; NULL if all have a request. */
sp_http_connection *sp_http__connection_spare(sp_http_loop *loop);

#endif
