#ifndef SP_API_HOST_HTTP_HTTP_SERVER_H
#define SP_API_HOST_HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/host/http/http_request.h"
#include "api/host/http/http_stream.h"
#include "base/budget.h"
#include "base/status.h"

/*
 * A server of HTTP/1.1 and HTTP/2 (with prior knowledge or by an upgrade) that passes complete
 * requests to one handler and sends its answers.  It deals with everything a client may do wrong
 * (framing, sizes, slowness, disconnecting); its own refusals have the body {"error": "..."}.
 *
 * Each I/O thread runs an event loop over its own connections.  The handler runs on an I/O thread
 * and must not block: it answers at once or hands the request to another thread.
 *
 * A request has one deadline, counted from its first byte: the answer is 408 if the request has not
 * been read by then, 504 if no thread has begun to work on it.
 */
typedef struct sp_http_server sp_http_server;
typedef struct sp_http_tls sp_http_tls; /* http_tls.h */

typedef void sp_http_handler(void *context, sp_http_request *request);

/*
 * Makes the answer of a request that the server refuses (late, too large, no memory) or that
 * sp_http_request_fail() answers: true after sp_http_request_set_answer(); false means
 * {"error": "<text>"}, with "Retry-After: 1" if the status is 503.  The head is all zero if it
 * could not be parsed.  Called on any thread.
 */
typedef bool sp_http_refusal(void *context, sp_http_request *request, int status, const char *text);

/* How a request ended.  All views are valid during the observer's call only. */
typedef struct sp_http_outcome {
	int tag; /* set by sp_http_request_set_tag(), else 0 */
	int status;
	const sp_call_record *record;
	const sp_http_head *head;
	const sp_http_header *fields; /* [field_count] of the answer, with its trailers */
	size_t field_count;
	bool secure;           /* over TLS */
	size_t bytes_out;      /* of the answer's body */
	sp_bytes method, path; /* arbitrary bytes; {NULL, 0} if the head could not be parsed */
	const char *reason;    /* error text, possibly truncated; "" on success */
	int socket;            /* the client's, for sp_http_peer_print() */
} sp_http_outcome;

/* Called for every answer before it is sent, on the I/O thread of its connection. */
typedef void sp_http_observer(void *context, const sp_http_outcome *outcome);

typedef struct sp_http_address {
	const char *host; /* address or name to listen on, or "unix:" and the path of a socket */
	uint16_t port;    /* 0: any free one */
	sp_http_tls *tls; /* NULL: plain */
} sp_http_address;

enum { SP_MAX_ADDRESSES = 4 };

/* The path of a socket; NULL for an address with a port. */
static inline const char *sp_http_address_path(const sp_http_address *address)
{
	return strncmp(address->host, "unix:", 5) == 0 ? address->host + 5 : NULL;
}

typedef struct sp_http_options {
	const sp_http_address *addresses; /* each answers all protocols */
	size_t address_count;             /* 1 to SP_MAX_ADDRESSES */
	const int *sockets; /* of addresses: one that listens already, non-blocking, or 0.  NULL:
			       none */
	bool reuse_port;    /* SO_REUSEPORT: several processes share the port's connections */
	bool cors;          /* answers allow requests from any web page */
	size_t io_threads;
	/* At the limit a connection without a whole request is closed, or new ones wait. */
	size_t max_connections;
	size_t descriptors;         /* RLIMIT_NOFILE; 0: not checked */
	size_t reserve_descriptors; /* of these, not used by connections */
	size_t max_streams;         /* requests at a time on a connection of HTTP/2; 0: 100 */
	size_t max_head_bytes;      /* beyond: 431 */
	size_t max_body_bytes;      /* beyond: 413 */
	sp_budget *memory;          /* of requests and answers; beyond: 503.  NULL: no bound */
	int64_t request_timeout_ms;
	int64_t head_timeout_ms;   /* from the first byte to the end of the headers */
	int64_t idle_timeout_ms;   /* between two requests */
	int64_t stream_timeout_ms; /* that an sp_http_stream may be silent; 0: an hour */
	int64_t stream_tick_ms;    /* between two calls of its tick(); 0: a second */
	sp_http_handler *handler;
	sp_http_observer *observer;         /* NULL: none */
	sp_http_stream_opener *open_stream; /* NULL: all are ordinary requests */
	sp_http_refusal *refusal;           /* NULL: all are {"error": ...} */
	void *context;
} sp_http_options;

/*
 * Listens and starts the I/O threads.  The handler is not called before *out is set, but
 * may be called before this function returns.  *out is NULL on failure.
 */
SP_MUST_CHECK sp_status sp_http_server_create(sp_http_server **out, const sp_http_options *options,
					      sp_error *err);

/* The port of address `i`; 0 for a socket with a path. */
uint16_t sp_http_server_port(const sp_http_server *server, size_t i);

/* Makes every answer close its connection; everything else continues. */
void sp_http_server_drain(sp_http_server *server);

/*
 * Stops listening and closes idle connections; requests that have begun to arrive are
 * still answered.  Returns true when all of them are.  Returns false after timeout_ms;
 * it may then be called again, and the server must not be destroyed yet.
 */
bool sp_http_server_stop(sp_http_server *server, int64_t timeout_ms);

typedef struct sp_http_server_load {
	size_t open;          /* connections */
	size_t busy;          /* of these, with a request that has begun to arrive */
	uint64_t dropped;     /* closed to make room for new ones, since the start */
	uint64_t turned_away; /* new ones closed at once for lack of room */
} sp_http_server_load;

/* *out is all zeros where `server` is NULL. */
void sp_http_server_get_load(const sp_http_server *server, sp_http_server_load *out);

/* After a stop that returned true.  NULL is fine. */
void sp_http_server_destroy(sp_http_server *server);

#endif
