#include <string.h>

#include "api/host/http/http2_internal.h"
#include "base/clock.h"

/* How often tick() is called, and how long a stream lasts unless the options say it. */
enum { TICK_MS = 1000, STREAM_MS = 3600 * 1000 };

typedef sp_http_stream stream;

void sp_http_stream_set_deadline(sp_http_stream *st, int64_t deadline_ns)
{
	if (deadline_ns < st->deadline_ns)
		sp_http2__stream_set_deadline(st, deadline_ns);
}

/* Forgets what has been sent. */
static void drop_sent(stream *st)
{
	sp_buffer *out = &st->request->out;

	out->size -= st->sent;
	if (out->size != 0)
		memmove(out->data, out->data + st->sent, out->size);
	st->sent = 0;
}

bool sp_http_stream_send(sp_http_stream *st, const sp_http_answer *head, sp_bytes data)
{
	sp_buffer *out = &st->request->out;

	if (st->state != SP_HTTP2_STREAMING)
		return false;
	drop_sent(st);
	sp_buffer_append(out, data.data, data.size);
	if (out->failed) {
		out->failed = false;
		return false;
	}
	if (st->begun) {
		sp_http2__stream_resume(st);
	} else {
		sp_http_answer first = *head;

		first.body = NULL;
		first.trailer_count = 0;
		sp_http_request_set_answer(st->request, &first);
		sp_http2__stream_submit(st);
		st->begun = true;
	}
	sp_http__connection_write_soon(st->s->c);
	return true;
}

void sp_http_stream_end(sp_http_stream *st, const sp_http_answer *with)
{
	if (st->state != SP_HTTP2_STREAMING)
		return;
	sp_http_request_set_answer(st->request, with);
	sp_http2__stream_answer(st);
	sp_http__connection_write_soon(st->s->c);
}

/* Ends it as sp_http_refusal makes it, if the client has taken all before, and can be told so. */
void sp_http2__streaming_fail(stream *st, int status, const char *text)
{
	sp_http_request *request = st->request;

	if (!st->begun) {
		sp_http2__stream_refuse(st, status, text);
		return;
	}
	if (st->sent == request->out.size) {
		sp_buffer_clear(&request->out);
		st->sent = 0;
		sp_http__request_set_error(request, status, text);
		if (request->out.size == 0 && request->trailer_count != 0) {
			sp_http2__stream_answer(st);
			return;
		}
	}
	sp_http2__stream_set_state(st, SP_HTTP2_ANSWERED);
	sp_http2__stream_reset(st, NGHTTP2_CANCEL);
}

/* Makes it SP_HTTP2_STREAMING if the head is that of a stream. */
void sp_http2__streaming_begin(stream *st)
{
	const sp_http_options *options = sp_http2__options(st->s);
	int64_t timeout_ms = options->stream_timeout_ms;
	sp_http_request *request = st->request;
	int64_t deadline_ns;

	if (options->open_stream == NULL)
		return;
	deadline_ns = st->deadline_ns;
	st->deadline_ns = sp_http__in_ms(timeout_ms != 0 ? timeout_ms : STREAM_MS);
	st->handler = options->open_stream(options->context, st, &request->head,
					   &st->handler_state);
	if (st->handler == NULL) {
		st->deadline_ns = deadline_ns;
		return;
	}
	sp_buffer_fini(&request->out);
	sp_buffer_set_budget(&request->out, options->memory);
	request->out.max_size = SP_HTTP_STREAM_BYTES;
	request->handed_ns = sp_clock_now_ns();
	sp_http2__stream_set_state(st, SP_HTTP2_STREAMING);
	st->tick_ns = sp_http__in_ms(TICK_MS);
	sp_http2__set_deadline(st->s, st->tick_ns);
}
