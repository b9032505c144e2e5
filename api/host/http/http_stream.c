#include <string.h>

#include "api/host/http/http2_internal.h"
#include "base/clock.h"

/*
 * A stream that is answered in parts.  What the handler does not take of the body is kept in that
 * of its request, up to the window of the stream, which only grows by what the handler takes.
 */

/* How long a client may be silent, and how often tick() is called, unless the options say it. */
enum { QUIET_MS = 3600 * 1000, TICK_MS = 1000 };

/* Answers up to this size are put together. */
enum { SMALL_BYTES = 32 << 10 };

typedef sp_http_stream stream;

static int64_t quiet_until(const stream *st)
{
	int64_t timeout_ms = st->s->loop->options->stream_timeout_ms;

	return sp_http__in_ms(timeout_ms != 0 ? timeout_ms : QUIET_MS);
}

static int64_t next_tick(const stream *st)
{
	int64_t tick_ms = st->s->loop->options->stream_tick_ms;

	return sp_http__in_ms(tick_ms != 0 ? tick_ms : TICK_MS);
}

/* ----------------------------------------------------------------- its requests */

static sp_http2_part *part_at(const stream *st, size_t i)
{
	sp_http2_streaming *streaming = st->streaming;

	return &streaming->parts[(streaming->first + i) % SP_HTTP_STREAM_REQUESTS];
}

static void drop_first(stream *st)
{
	sp_http__request_put(st->s->loop, part_at(st, 0)->request);
	st->streaming->first = (st->streaming->first + 1) % SP_HTTP_STREAM_REQUESTS;
	st->streaming->count--;
	st->s->part_count--;
}

/* The stream has ended: answers that are ready are dropped, others will be when they are. */
static void leave_parts(stream *st)
{
	while (st->streaming->count != 0) {
		sp_http2_part *part = part_at(st, 0);

		if (!part->answered) {
			if (sp_http__request_leave(part->request))
				st->s->loop->left++;
			part->request = NULL;
		}
		drop_first(st);
	}
}

static void drop_front(sp_buffer *buffer, size_t size)
{
	if (size == 0)
		return;
	buffer->size -= size;
	memmove(buffer->data, buffer->data + size, buffer->size);
}

static size_t unsent(const stream *st)
{
	return st->request->out.size - st->sent;
}

static void exchange(sp_buffer *a, sp_buffer *b)
{
	sp_buffer kept = *a;

	*a = *b;
	*b = kept;
}

/* Sets when the stream is reset, unless the client takes something. */
static void set_taken(stream *st)
{
	st->streaming->taken_ns = sp_http__in_ms(st->s->loop->options->request_timeout_ms);
}

/* Appends to what the client has to take; false if memory is out. */
static bool append(stream *st, sp_bytes data)
{
	sp_buffer *out = &st->request->out;

	if (st->sent != 0 || out->size == 0)
		set_taken(st);
	drop_front(out, st->sent);
	st->sent = 0;
	sp_buffer_append(out, data.data, data.size);
	if (!out->failed)
		return true;
	out->failed = false;
	return false;
}

/* False if it has to wait until the client has taken more. */
static bool move_answer(stream *st, sp_buffer *answer)
{
	sp_buffer *out = &st->request->out;

	if (unsent(st) != 0)
		return unsent(st) + answer->size <= SMALL_BYTES &&
		       append(st, (sp_bytes){answer->data, answer->size});
	sp_buffer_clear(out);
	exchange(out, answer);
	st->sent = 0;
	set_taken(st);
	return true;
}

void sp_http2__streaming_collect(stream *st)
{
	bool some = false;

	while (st->streaming->count != 0 && part_at(st, 0)->answered) {
		sp_http_request *request = part_at(st, 0)->request;

		if (request->out.failed) {
			sp_http2__streaming_fail(st, 503, "no memory for the answer");
			return;
		}
		if (!move_answer(st, &request->out))
			break;
		sp_http__request_observe(request, sp_clock_now_ns());
		drop_first(st);
		some = true;
	}
	if (unsent(st) == 0)
		st->streaming->taken_ns = INT64_MAX;
	if (some)
		st->s->to_feed = true;
}

static void on_part_answer(void *owner)
{
	sp_http2_part *part = owner;
	stream *st = part->st;

	part->answered = true;
	sp_http2__streaming_collect(st);
	if (st->state == SP_HTTP2_STREAMING)
		sp_http2__stream_resume(st);
	sp_http__connection_write_soon(st->s->c);
}

/* sp_http2__streaming_tick() compares it with the time. */
static void on_part_deadline(void *owner, int64_t deadline_ns)
{
	((sp_http2_part *)owner)->deadline_ns = deadline_ns;
}

static const sp_http_owner_ops part_ops = {on_part_answer, on_part_deadline};

bool sp_http_stream_has_room(const stream *st)
{
	return st->state == SP_HTTP2_STREAMING && st->streaming->count < SP_HTTP_STREAM_REQUESTS;
}

bool sp_http_stream_ask(stream *st, sp_bytes label, sp_buffer *body)
{
	const sp_http_options *options = st->s->loop->options;
	sp_http_request *request = sp_http__request_copy(st->s->loop, st->request);
	size_t max_size = body->max_size;
	sp_http2_part *part;
	int64_t now;

	if (request == NULL || request->head_text.failed) {
		sp_http__request_put(st->s->loop, request);
		return false;
	}
	exchange(body, &request->body);
	body->max_size = max_size;
	sp_http__request_set_label(request, label);
	now = sp_clock_now_ns();
	part = part_at(st, st->streaming->count++);
	st->s->part_count++;
	*part = (sp_http2_part){.st = st, .request = request};
	part->deadline_ns = now + options->request_timeout_ms * INT64_C(1000000);
	if (st->deadline_ns < part->deadline_ns)
		part->deadline_ns = st->deadline_ns;
	request->ops = &part_ops;
	request->owner = part;
	request->handed_ns = now;
	request->deadline_ns = part->deadline_ns;
	atomic_store(&request->state, SP_HTTP_HANDED);
	options->handler(options->context, request);
	return true;
}

/* --------------------------------------------------------------------- answers */

void sp_http_stream_set_deadline(stream *st, int64_t deadline_ns)
{
	if (deadline_ns < st->deadline_ns)
		sp_http2__stream_set_deadline(st, deadline_ns);
}

void sp_http_stream_begin(stream *st, const sp_http_answer *head)
{
	sp_http_answer first = *head;

	if (st->state != SP_HTTP2_STREAMING || st->streaming->begun)
		return;
	first.body = NULL;
	first.trailer_count = 0;
	sp_http_request_set_answer(st->request, &first);
	sp_http2__stream_submit(st);
	st->streaming->begun = true;
	sp_http__connection_write_soon(st->s->c);
}

bool sp_http_stream_send(stream *st, sp_bytes data)
{
	if (st->state != SP_HTTP2_STREAMING || unsent(st) + data.size > SP_HTTP_STREAM_BYTES ||
	    !append(st, data))
		return false;
	sp_http2__stream_resume(st);
	sp_http__connection_write_soon(st->s->c);
	return true;
}

void sp_http_stream_end(stream *st, const sp_http_answer *with)
{
	if (st->state != SP_HTTP2_STREAMING)
		return;
	leave_parts(st);
	sp_http_request_set_answer(st->request, with);
	sp_http2__stream_answer(st);
	sp_http__connection_write_soon(st->s->c);
}

static void give_up(stream *st)
{
	leave_parts(st);
	sp_http2__stream_set_state(st, SP_HTTP2_ANSWERED);
	sp_http2__stream_reset(st, NGHTTP2_CANCEL);
}

void sp_http2__streaming_fail(stream *st, int status, const char *text)
{
	sp_http_request *request = st->request;
	sp_buffer before = request->out;
	bool in_trailers;

	leave_parts(st);
	if (!st->streaming->begun) {
		sp_http2__stream_refuse(st, status, text);
		return;
	}
	sp_buffer_init(&request->out, SIZE_MAX / 2);
	sp_http__request_set_error(request, status, text);
	in_trailers = request->out.size == 0 && request->trailer_count != 0;
	sp_buffer_fini(&request->out);
	request->out = before;
	if (in_trailers)
		sp_http2__stream_answer(st);
	else
		give_up(st);
}

/* --------------------------------------------------------------------- the body */

static size_t pass(stream *st, sp_bytes data)
{
	size_t taken = st->streaming->handler->data(st->streaming->state, st, data);

	return st->state == SP_HTTP2_STREAMING ? taken : data.size; /* it has ended */
}

size_t sp_http2__streaming_data(stream *st, sp_bytes data)
{
	sp_buffer *kept = &st->request->body;
	size_t taken = 0;

	if (st->streaming->stopping)
		return data.size;
	st->streaming->quiet_ns = quiet_until(st);
	if (kept->size == 0)
		taken = pass(st, data);
	if (taken == data.size)
		return taken;
	sp_buffer_append(kept, data.data + taken, data.size - taken);
	if (kept->failed)
		sp_http2__streaming_fail(st, 503, "no memory for the request");
	return taken;
}

/* Passes what was kept; returns whether all is passed. */
static bool pass_kept(stream *st)
{
	sp_http2_streaming *streaming = st->streaming;
	sp_buffer *kept = &st->request->body;
	size_t left = kept->size - streaming->passed, taken;

	if (left == 0 || !sp_http_stream_has_room(st))
		return left == 0;
	taken = pass(st, (sp_bytes){kept->data + streaming->passed, left});
	if (st->state != SP_HTTP2_STREAMING)
		return true;
	sp_http2__consume(st->s, st->id, taken);
	streaming->passed += taken;
	if (taken == left) {
		sp_buffer_fini(kept);
		streaming->passed = 0;
	} else if (streaming->passed > kept->size / 2) {
		drop_front(kept, streaming->passed);
		streaming->passed = 0;
	}
	return taken == left;
}

void sp_http2__streaming_feed(stream *st)
{
	sp_http2_streaming *streaming = st->streaming;
	bool all = streaming->stopping || pass_kept(st);

	if (st->state != SP_HTTP2_STREAMING || !all || streaming->count != 0)
		return;
	if (streaming->stopping)
		sp_http2__streaming_fail(st, 503, "the server ends");
	else if (!st->open && !streaming->told_end)
		streaming->handler->end(streaming->state, st);
	streaming->told_end = !st->open;
}

void sp_http2__streaming_stop(stream *st)
{
	st->streaming->stopping = true;
	sp_http2__streaming_feed(st);
}

/* ------------------------------------------------------------------------ time */

static void answer_late(stream *st, int64_t now)
{
	for (size_t i = 0; i < st->streaming->count; i++) {
		sp_http2_part *part = part_at(st, i);
		sp_http_request *late;

		if (part->answered || now < part->deadline_ns)
			continue;
		part->deadline_ns = INT64_MAX;
		late = sp_http2__late(st->s, part->request);
		part->answered = late != NULL;
		if (late != NULL)
			part->request = late;
	}
	sp_http2__streaming_collect(st);
	if (st->state == SP_HTTP2_STREAMING)
		sp_http2__stream_resume(st);
}

void sp_http2__streaming_tick(stream *st, int64_t now)
{
	sp_http2_streaming *streaming = st->streaming;

	streaming->tick_ns = next_tick(st);
	if (now >= streaming->taken_ns) {
		give_up(st);
	} else if (streaming->count != 0) {
		answer_late(st, now);
	} else if (now >= streaming->quiet_ns) {
		sp_http2__streaming_fail(st, 504, "the client has sent nothing for too long");
	}
	if (st->state == SP_HTTP2_STREAMING)
		streaming->handler->tick(streaming->state, st);
}

/* ------------------------------------------------------------- opening, closing */

void sp_http2__streaming_begin(stream *st)
{
	const sp_http_options *options = st->s->loop->options;
	const sp_http_stream_handler *handler;
	sp_http_request *request = st->request;
	int64_t deadline_ns = st->deadline_ns;
	void *state;

	if (options->open_stream == NULL)
		return;
	st->deadline_ns = INT64_MAX;
	handler = options->open_stream(options->context, st, &request->head, &state);
	if (handler == NULL) {
		st->deadline_ns = deadline_ns;
		return;
	}
	st->streaming = sp_http2_memory_alloc(&st->s->memory, sizeof(*st->streaming));
	if (st->streaming == NULL) {
		handler->closed(state);
		sp_http2__stream_refuse(st, 503, "no memory for the request");
		return;
	}
	*st->streaming = (sp_http2_streaming){.handler = handler,
					      .state = state,
					      .tick_ns = next_tick(st),
					      .quiet_ns = quiet_until(st),
					      .taken_ns = INT64_MAX};
	sp_buffer_fini(&request->out);
	sp_buffer_set_budget(&request->out, options->memory);
	request->body.max_size = SP_HTTP2_STREAM_WINDOW;
	request->handed_ns = sp_clock_now_ns();
	sp_http2__stream_set_state(st, SP_HTTP2_STREAMING);
	sp_http2__set_deadline(st->s, st->streaming->tick_ns);
}

void sp_http2__streaming_close(stream *st)
{
	leave_parts(st);
	st->streaming->handler->closed(st->streaming->state);
	sp_http2_memory_free(&st->s->memory, st->streaming);
}
