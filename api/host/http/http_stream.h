#ifndef SP_API_HOST_HTTP_HTTP_STREAM_H
#define SP_API_HOST_HTTP_HTTP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/host/http/http_request.h"

/*
 * A request of HTTP/2 whose body is passed on as it arrives, and which is answered in parts.
 *
 * Threads: everything here happens on the I/O thread of the connection, and must not block.
 */
typedef struct sp_http_stream sp_http_stream;

typedef struct sp_http_stream_handler {
	/* The next bytes of the body. */
	void (*data)(void *state, sp_http_stream *stream, sp_bytes data);

	/* The client sends no more. */
	void (*end)(void *state, sp_http_stream *stream);

	/* About every second. */
	void (*tick)(void *state, sp_http_stream *stream);

	/* The stream is gone, however it ended; the last call. */
	void (*closed)(void *state);
} sp_http_stream_handler;

/*
 * Called with each head of HTTP/2: NULL makes it an ordinary request.  *state is for the handler's
 * calls; the stream may be used from the first of them on, but for its deadline.
 */
typedef const sp_http_stream_handler *sp_http_stream_opener(void *context, sp_http_stream *stream,
							    const sp_http_head *head, void **state);

/*
 * Sets the time at which the stream fails as a late request does, unless it has ended by then.
 * Initially that is stream_timeout_ms after its start; a time later than the current one is
 * ignored.
 */
void sp_http_stream_set_deadline(sp_http_stream *stream, int64_t deadline_ns);

/* How many bytes may wait for the client to read them. */
enum { SP_HTTP_STREAM_BYTES = 1 << 20 };

/*
 * Sends bytes, and before the first ones the headers of `head`, whose body, trailers and outcome do
 * not matter.  False if the client has too much to take already, or memory is out: nothing was
 * added.
 */
SP_MUST_CHECK bool sp_http_stream_send(sp_http_stream *stream, const sp_http_answer *head,
				       sp_bytes data);

/*
 * Ends the answer, with its trailers; its headers are sent if no others have been.  The body must
 * be NULL.  No data is passed on any more.
 */
void sp_http_stream_end(sp_http_stream *stream, const sp_http_answer *answer);

#endif
