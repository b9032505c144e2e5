#ifndef SP_API_HOST_HTTP_HTTP_REQUEST_H
#define SP_API_HOST_HTTP_HTTP_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/host/http/http_head.h"
#include "api/host/metrics/call_record.h"
#include "base/buffer.h"
#include "base/bytes.h"

/*
 * A whole HTTP request as its handler sees it (http_server.h), and its answer.
 *
 * Threads: one thread at a time.  The handler owns the request until it answers it or
 * hands it to another thread, which must then call sp_http_request_begin() first.
 */
typedef struct sp_http_request sp_http_request;

const sp_http_head *sp_http_request_head(const sp_http_request *request);

/* Followed by a NUL byte. */
sp_bytes sp_http_request_body(const sp_http_request *request);

/* Sets an integer for the observer; call it before answering or handing on. */
void sp_http_request_set_tag(sp_http_request *request, int tag);
int sp_http_request_tag(const sp_http_request *request);

/* What the observer is told of the request, filled in by the thread that works on it. */
sp_call_record *sp_http_request_record(sp_http_request *request);

/*
 * Stores the client's address for sp_http_request_peer() on another thread; call it before handing
 * the request on.  Without it the peer is "".
 */
void sp_http_request_note_peer(sp_http_request *request);
const char *sp_http_request_peer(const sp_http_request *request);

enum { SP_HTTP_PEER_SIZE = 64 };

/* Longer ones are left out. */
enum { SP_HTTP_LABEL_SIZE = 128 };

/* What sp_http_stream_ask() was given; `data` is NULL if no stream has asked. */
sp_bytes sp_http_request_label(const sp_http_request *request);

/* Peer address of a socket: "127.0.0.1:40312", "[::1]:40312"; "unknown" once it is disconnected. */
void sp_http_peer_print(char out[SP_HTTP_PEER_SIZE], int socket);

/*
 * Must be called by a thread that was handed a request, before anything else.  False: the
 * deadline has passed or the client has gone; the request must not be touched any more.
 */
SP_MUST_CHECK bool sp_http_request_begin(sp_http_request *request);

/*
 * Whether the client of the request is the only one that uses this I/O thread, for the last
 * SP_HTTP_CROWD requests: no request of another connection was arriving or being answered, none
 * arrived while the thread computed, and the client had sent no further request behind it.  The
 * handler calls it for every request that it might answer on this thread, since each call counts.
 */
bool sp_http_request_is_alone(const sp_http_request *request);

enum { SP_HTTP_CROWD = 64 };

/* When the request must be answered, by sp_clock_now_ns(). */
int64_t sp_http_request_deadline_ns(const sp_http_request *request);

/*
 * Sets an earlier deadline; a later one is ignored.  If the handler calls it before it hands the
 * request to a thread, the server answers 504 at the new deadline unless a thread has begun the
 * request by then.
 */
void sp_http_request_set_deadline(sp_http_request *request, int64_t deadline_ns);

/*
 * Becomes true when the client has reset its stream or connection: it will not get the answer,
 * which must still be given.  Valid until the answer.
 */
const atomic_bool *sp_http_request_cancel_flag(const sp_http_request *request);

/*
 * An empty buffer for the body of the answer, with the memory and the budget of an earlier body on
 * the same connection if there was one.  Call it once a request has begun.
 */
sp_buffer sp_http_request_take_buffer(sp_http_request *request);

/* At most so many headers and trailers together in an answer. */
enum { SP_HTTP_MAX_FIELDS = 16 };

/*
 * All texts are copied.  Names of headers and trailers are in lower case.  An answer with more than
 * SP_HTTP_MAX_FIELDS of them, or with one that HTTP does not allow, is sent as 500 instead.
 */
typedef struct sp_http_answer {
	int status;
	const char *content_type; /* static; NULL is application/json */
	sp_buffer *body;          /* taken over and left empty; NULL for none */
	bool retry;               /* "Retry-After: 1" */

	/* Further ones: not Date, Content-Type, Content-Length, Connection or Retry-After. */
	const sp_http_header *headers;
	size_t header_count;

	/* HTTP/2 only.  With trailers and no body, they are part of the one block of headers. */
	const sp_http_header *trailers;
	size_t trailer_count;

	int outcome;        /* the status for the observer; 0: `status` */
	const char *reason; /* error text for the observer; NULL: none */
} sp_http_answer;

/* Answers, from any thread, exactly once; the request must not be touched any more. */
void sp_http_request_answer(sp_http_request *request, const sp_http_answer *answer);

/* Answers {"error": "<text>"} unless sp_http_refusal (http_server.h) makes something else of it. */
void sp_http_request_fail(sp_http_request *request, int status, const char *text);

/* Stores an answer without sending it; only for an sp_http_refusal. */
void sp_http_request_set_answer(sp_http_request *request, const sp_http_answer *answer);

#endif
