#ifndef SP_API_HOST_HTTP_HTTP_SERVER_H
#define SP_API_HOST_HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/http/http_head.h"
#include "base/budget.h"
#include "base/buffer.h"
#include "base/status.h"

/*
 * An HTTP/1.1 server that gives whole requests to one function and sends back
 * what it answers.  Everything a client may do wrong (framing, sizes, speed,
 * going away) is dealt with here; refusals have the body {"error": "..."}.
 *
 * I/O threads each run an event loop over their own connections.  The handler
 * is called on one of them, so it must not wait: it answers at once, or hands
 * the request to another thread that does.
 *
 * A request has one deadline, counted from its first byte: 408 when it has not
 * been read by then, 504 when nobody has begun with it.
 */
typedef struct sp_http_server sp_http_server;
typedef struct sp_http_request sp_http_request;

typedef void sp_http_handler(void *context, sp_http_request *request);

/* What becomes of a request.  Views of bytes are of any bytes, and live during the call only. */
typedef struct sp_http_outcome {
	int tag; /* sp_http_request_set_tag(), else 0 */
	int status;
	int64_t took_ns;       /* since the whole request was there; 0 when that never was */
	sp_bytes method, path; /* {NULL, 0} where the head could not be read */
	const char *reason;    /* why the request failed, cut where it is long; else "" */
	int socket;            /* the client's, for sp_http_peer_print() */
} sp_http_outcome;

/* Told of every answer before it is sent, on its connection's I/O thread. */
typedef void sp_http_observer(void *context, const sp_http_outcome *outcome);

enum { SP_HTTP_PEER_SIZE = 64 };

/* "127.0.0.1:40312", "[::1]:40312": who a socket is connected to. */
void sp_http_peer_print(char out[SP_HTTP_PEER_SIZE], int socket);

typedef struct sp_http_options {
	const char *host; /* address or name to listen on */
	uint16_t port;    /* 0: any free one */
	bool reuse_port;  /* several processes on one port share its connections */
	bool cors;        /* answers allow requests from any web page */
	size_t io_threads;
	size_t max_connections;     /* beyond: one without a request goes, or new ones wait */
	size_t descriptors;         /* that the process may have; 0: not looked at */
	size_t reserve_descriptors; /* of these; connections stay below the rest, likewise */
	size_t max_head_bytes;      /* beyond: 431 */
	size_t max_body_bytes;      /* beyond: 413 */
	sp_budget *memory;          /* for requests and answers; beyond: 503.  NULL: no bound */
	int64_t request_timeout_ms;
	int64_t head_timeout_ms; /* from the first byte to the end of the headers */
	int64_t idle_timeout_ms; /* between two requests */
	sp_http_handler *handler;
	sp_http_observer *observer; /* NULL: none */
	void *context;
} sp_http_options;

/*
 * Listens, and starts the I/O threads: requests may come before it returns, but
 * not before *out is set.  NULL there on failure.
 */
SP_MUST_CHECK sp_status sp_http_server_create(sp_http_server **out, const sp_http_options *options,
					      sp_error *err);

/* The port that it listens on. */
uint16_t sp_http_server_port(const sp_http_server *server);

/* From now on each answer says that its connection ends; all else goes on. */
void sp_http_server_drain(sp_http_server *server);

/*
 * No more connections; those that are idle end, requests that have begun to
 * come in are still answered.  Returns true when all of them are, false when
 * that takes longer than timeout_ms; then it may be called again, and the server
 * must not be destroyed.
 */
bool sp_http_server_stop(sp_http_server *server, int64_t timeout_ms);

typedef struct sp_http_server_load {
	size_t open;          /* connections */
	size_t busy;          /* of these, with a request that has begun to come in */
	uint64_t dropped;     /* closed to make room for new ones, since the start */
	uint64_t turned_away; /* new ones that were closed because there was no room */
} sp_http_server_load;

/* *out is all zeros where `server` is NULL. */
void sp_http_server_get_load(const sp_http_server *server, sp_http_server_load *out);

/* After a stop that returned true.  NULL is fine. */
void sp_http_server_destroy(sp_http_server *server);

/* ---------------------------------------------------------------- requests */

const sp_http_head *sp_http_request_head(const sp_http_request *request);

/* With a NUL behind its last byte. */
sp_bytes sp_http_request_body(const sp_http_request *request);

/* Of the handler, before it answers the request or hands it on. */
void sp_http_request_set_tag(sp_http_request *request, int tag);

/*
 * Of the handler, before it hands the request on: who sends it is kept with it.
 * sp_http_request_peer() is then "127.0.0.1:4711", or "[::1]:4711"; else "".
 */
void sp_http_request_note_peer(sp_http_request *request);
const char *sp_http_request_peer(const sp_http_request *request);

/*
 * A thread that was handed a request calls this before it works on it.  False:
 * its deadline has passed or its client has gone, and it must not be touched
 * any more.
 */
SP_MUST_CHECK bool sp_http_request_begin(sp_http_request *request);

/* Whether the deadline has passed since. */
bool sp_http_request_expired(const sp_http_request *request);

typedef struct sp_http_answer {
	int status;
	const char *content_type; /* a literal; NULL is application/json */
	sp_buffer *body;          /* is emptied; NULL for none */
	bool retry;               /* "Retry-After: 1" */
} sp_http_answer;

/* Answers, from any thread, once; the request must not be touched any more. */
void sp_http_request_answer(sp_http_request *request, const sp_http_answer *answer);

/* Answers {"error": "<text>"}. */
void sp_http_request_fail(sp_http_request *request, int status, const char *text);

#endif
