#ifndef SP_API_HOST_HTTP_HTTP_INTERNAL_H
#define SP_API_HOST_HTTP_HTTP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <time.h>

#include "api/host/http/http_server.h"
#include "base/thread.h"

/*
 * The inside of the server: http_server.c has the threads and the listener,
 * http_connection.c what happens on one connection, http_request.c what the
 * rest of the host does with a request.
 */
struct event;
struct event_base;
typedef struct sp_http_loop sp_http_loop;
typedef struct sp_http_connection sp_http_connection;

/* ----------------------------------------------------------------- request */

/*
 * Who may touch a request is its state:
 *
 *	READING -> HANDED -> BEGUN -> ANSWERED -> (READING)
 *	              \-> ORPHANED
 *
 * READING and ANSWERED: its loop.  HANDED: nobody but by changing the state.
 * BEGUN: the thread that began.  ORPHANED: the connection has gone on without
 * it; who finds it so, frees it.
 */
enum sp_http_request_state {
	SP_HTTP_READING,
	SP_HTTP_HANDED,
	SP_HTTP_BEGUN,
	SP_HTTP_ANSWERED,
	SP_HTTP_ORPHANED,
};

struct sp_http_request {
	atomic_int state;
	atomic_bool peer_closed; /* the client has closed its side */
	sp_http_loop *loop;
	sp_http_connection *connection;     /* for the loop only */
	STAILQ_ENTRY(sp_http_request) link; /* in the loop's list of answers */
	int tag;                            /* for the observer */
	char peer[64];                      /* "" unless it was asked for */
	int64_t handed_ns;                  /* 0: it is not all there */
	int64_t deadline_ns;

	sp_buffer head_text; /* what the head is a view of */
	sp_http_head head;
	sp_buffer body;

	int status;       /* of the answer; 0: none, the client has gone */
	char reason[256]; /* of a failure, for the observer */
	const char *content_type;
	bool retry;
	sp_buffer out;
};

/* How many places of its way a connection can be at (http_connection.c). */
enum { SP_HTTP_PLACES = 6 };

/* NULL when out of memory. */
sp_http_request *sp_http__request_create(sp_http_connection *connection, sp_http_loop *loop);
void sp_http__request_destroy(sp_http_request *request);

/* Ready for the next request on its connection. */
void sp_http__request_reset(sp_http_request *request);

/* Fills in {"error": "<text>"} without sending it. */
void sp_http__request_set_error(sp_http_request *request, int status, const char *text);

/* -------------------------------------------------------------------- loop */

typedef TAILQ_HEAD(sp_http_connections, sp_http_connection) sp_http_connections;

struct sp_http_loop {
	sp_http_server *server;
	struct event_base *base;
	struct event *listener, *wake, *accept_again;
	int listen_fd, wake_fd;
	bool accepting, stopping;
	size_t connection_count, max_connections;
	sp_http_connections at[SP_HTTP_PLACES]; /* the one that is there longest first */

	pthread_mutex_t lock; /* protects answers */
	STAILQ_HEAD(, sp_http_request) answers;

	time_t date_second;
	char date[32]; /* of date_second, as the Date header has it */
};

struct sp_http_server {
	sp_http_options options;
	uint16_t port;
	size_t loop_count;
	atomic_size_t next_loop; /* for the threads to take one each */
	atomic_bool draining, stopping;
	atomic_size_t open, busy;                   /* connections, and those with a request */
	atomic_uint_least64_t dropped, turned_away; /* as sp_http_server_load has them */
	sp_thread_group *threads;

	pthread_mutex_t lock; /* protects running */
	pthread_cond_t ended;
	size_t running; /* loops that have connections or accept them */
	sp_http_loop loops[];
};

/* A thread has put a request into loop->answers. */
void sp_http__loop_wake(sp_http_loop *loop);

/* One connection fewer: there may be room for another, or the loop may end. */
void sp_http__loop_forget(sp_http_loop *loop);

/* -------------------------------------------------------------- connection */

/* Takes over the socket, also on failure, which is for want of memory. */
void sp_http__connection_open(sp_http_loop *loop, int fd);
void sp_http__connection_destroy(sp_http_connection *connection);

/* The request of this connection has its answer. */
void sp_http__connection_answer(sp_http_connection *connection);

/* The address of its client, "127.0.0.1:4711" or "[::1]:4711"; "" when the system has none. */
void sp_http__connection_peer(const sp_http_connection *connection, char *out, size_t room);

/* The oldest idle connection; NULL when none is. */
sp_http_connection *sp_http__connection_idle(sp_http_loop *loop);

/* The one to be closed when another needs its place; NULL when all are at work. */
sp_http_connection *sp_http__connection_spare(sp_http_loop *loop);

#endif
