#ifndef SP_API_HOST_HTTP_HTTP_STREAM_H
#define SP_API_HOST_HTTP_HTTP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/host/http/http_request.h"

/*
 * A request of HTTP/2 whose body is passed on as it arrives, and which is answered in parts: with
 * bytes, or with the answers to requests that are made of parts of its body.
 *
 * Threads: everything here happens on the I/O thread of the connection, and must not block.
 */
typedef struct sp_http_stream sp_http_stream;

typedef struct sp_http_stream_handler {
	/*
	 * The next bytes of the body.  Returns how many it takes; the rest is passed again when a
	 * request of the stream has been answered, and the client is held back meanwhile.
	 */
	size_t (*data)(void *state, sp_http_stream *stream, sp_bytes data);

	/* The client sends no more, and all requests of the stream have been answered. */
	void (*end)(void *state, sp_http_stream *stream);

	/* Every stream_tick_ms. */
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
 * When it fails if it has not ended, as a request does that is too late.  A later time than the one
 * before is ignored.  Besides, it fails if the client sends nothing for stream_timeout_ms, and is
 * reset if the client does not take an answer within request_timeout_ms.
 */
void sp_http_stream_set_deadline(sp_http_stream *stream, int64_t deadline_ns);

/*
 * Sends the headers of the answer, which must go before all else; its body, trailers and outcome do
 * not matter.  Later calls do nothing.
 */
void sp_http_stream_begin(sp_http_stream *stream, const sp_http_answer *head);

/* How much of sp_http_stream_send() may wait until the client takes it. */
enum { SP_HTTP_STREAM_BYTES = 1 << 20 };

/*
 * Sends bytes.  False if the client has too much to take already, or memory is out: nothing was
 * added.
 */
SP_MUST_CHECK bool sp_http_stream_send(sp_http_stream *stream, sp_bytes data);

/* Requests of a stream that are being answered, or whose answers the client has not taken. */
enum { SP_HTTP_STREAM_REQUESTS = 16 };

/* Whether there may be one more. */
bool sp_http_stream_has_room(const sp_http_stream *stream);

/*
 * Passes a request with the head of the stream to the handler of requests (http_server.h), where
 * there is room for one.  The body, of the budget `memory` of the options, is exchanged for an
 * empty one.  The bodies of the answers are sent in the order of the requests; nothing else of an
 * answer matters.  A request that no thread begins within request_timeout_ms, or stream_tick_ms
 * more, is answered as too late.
 *
 * label   for sp_http_request_label()
 *
 * False if memory is out.
 */
SP_MUST_CHECK bool sp_http_stream_ask(sp_http_stream *stream, sp_bytes label, sp_buffer *body);

/*
 * Ends the answer, with its trailers; its headers are sent if no others have been.  The body must
 * be NULL.  No data is passed on any more, and requests that are not answered are cancelled.
 */
void sp_http_stream_end(sp_http_stream *stream, const sp_http_answer *answer);

#endif
