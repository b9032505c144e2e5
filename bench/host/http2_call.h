#ifndef SP_BENCH_HOST_HTTP2_CALL_H
#define SP_BENCH_HOST_HTTP2_CALL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The client's side of a connection of HTTP/2 that makes gRPC calls, one at a time, without the
 * socket: the caller sends what output() returns and passes what it receives to input().
 *
 * Threads: one at a time per connection.
 */
typedef struct http2_call http2_call;

/* What every call sends; all of it must outlive the connection. */
typedef struct http2_request {
	const char *path;
	const char *body; /* with gRPC's five bytes in front */
	size_t size;
} http2_request;

typedef struct http2_answer {
	int status; /* of gRPC; -1: there was none */
	const char *body;
	size_t size;
} http2_answer;

/* Ends the program when there is no memory. */
http2_call *http2_call_new(const http2_request *request);
void http2_call_free(http2_call *call);

void http2_call_begin(http2_call *call);

/* What is to be sent now, until the next call of any function; NULL: nothing. */
const char *http2_call_output(http2_call *call, size_t *size);

/* False when the server breaks the protocol. */
bool http2_call_input(http2_call *call, const char *data, size_t size);

/* Whether the call has ended; its answer is there until the next begin(). */
bool http2_call_answer(const http2_call *call, http2_answer *answer);

#endif
