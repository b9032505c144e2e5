#ifndef SP_API_HOST_HTTP_HTTP_REQUEST_H
#define SP_API_HOST_HTTP_HTTP_REQUEST_H

#include <stdbool.h>

#include "api/host/http/http_head.h"
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

/*
 * Stores the client's address for sp_http_request_peer() on another thread; call it before handing
 * the request on.  Without it the peer is "".
 */
void sp_http_request_note_peer(sp_http_request *request);
const char *sp_http_request_peer(const sp_http_request *request);

enum { SP_HTTP_PEER_SIZE = 64 };

/* Peer address of a socket: "127.0.0.1:40312", "[::1]:40312"; "unknown" once it is disconnected. */
void sp_http_peer_print(char out[SP_HTTP_PEER_SIZE], int socket);

/*
 * Must be called by a thread that was handed a request, before anything else.  False: the
 * deadline has passed or the client has gone; the request must not be touched any more.
 */
SP_MUST_CHECK bool sp_http_request_begin(sp_http_request *request);

/* Whether the deadline has passed. */
bool sp_http_request_expired(const sp_http_request *request);

typedef struct sp_http_answer {
	int status;
	const char *content_type; /* static; NULL is application/json */
	sp_buffer *body;          /* taken over and left empty; NULL for none */
	bool retry;               /* "Retry-After: 1" */
} sp_http_answer;

/* Answers, from any thread, exactly once; the request must not be touched any more. */
void sp_http_request_answer(sp_http_request *request, const sp_http_answer *answer);

/* Answers {"error": "<text>"}; 503 comes with "Retry-After: 1". */
void sp_http_request_fail(sp_http_request *request, int status, const char *text);

#endif
