#include <stdio.h>

#include "api/host/http/http2_internal.h"
#include "base/clock.h"

/* One stream: from the headers of its request to the last frame of its answer. */

/* Memory that must be left for nghttp2, which ends the connection when it gets none. */
enum { SPARE_BYTES = 16 << 10 };

/* Of the pseudo headers and the header that :authority becomes, in a head that is read. */
enum { MAX_FIELDS = SP_HTTP_MAX_FIELDS + 12 };

typedef sp_http2_session session;
typedef sp_http_stream stream;

static const char late_text[] = "the deadline of the request has passed";
static const char no_memory[] = "no memory for the request: too many are being received";

static const sp_http_owner_ops owner_ops;

void sp_http2__stream_set_deadline(stream *st, int64_t deadline_ns)
{
	st->deadline_ns = deadline_ns;
	sp_http2__set_deadline(st->s, deadline_ns);
}

stream *sp_http2__stream_open(session *s, int32_t id, sp_http_request *request)
{
	stream *st;

	if (!sp_http2_memory_count(&s->memory, SP_HTTP2_STREAM_BYTES + SPARE_BYTES))
		return NULL;
	sp_http2_memory_uncount(&s->memory, SPARE_BYTES);
	st = sp_http2_memory_alloc(&s->memory, sizeof(*st));
	if (request == NULL && st != NULL)
		request = sp_http__request_take(s->loop);
	if (st == NULL || request == NULL) {
		sp_http2_memory_free(&s->memory, st);
		sp_http2_memory_uncount(&s->memory, SP_HTTP2_STREAM_BYTES);
		return NULL;
	}
	*st = (stream){
		.s = s, .id = id, .open = true, .state = SP_HTTP2_READING, .request = request};
	request->ops = &owner_ops;
	request->owner = st;
	request->socket = s->c->fd;
	request->secure = s->c->tls != NULL;
	TAILQ_INSERT_TAIL(&s->streams, st, link);
	s->stream_count++;
	s->count_of[SP_HTTP2_READING]++;
	return st;
}

void sp_http2__stream_set_state(stream *st, sp_http2_state state)
{
	st->s->count_of[st->state]--;
	st->s->count_of[state]++;
	st->state = state;
}

void sp_http2__stream_close(stream *st)
{
	session *s = st->s;

	TAILQ_REMOVE(&s->streams, st, link);
	s->stream_count--;
	if (st->streaming != NULL)
		sp_http2__streaming_close(st);
	if (st->state == SP_HTTP2_HANDED) {
		if (sp_http__request_leave(st->request))
			s->loop->left++;
	} else {
		sp_http__request_put(s->loop, st->request);
	}
	s->count_of[st->state]--;
	sp_http2_memory_free(&s->memory, st);
	sp_http2_memory_uncount(&s->memory, SP_HTTP2_STREAM_BYTES);
}

void sp_http2__stream_reset(stream *st, uint32_t code)
{
	if (nghttp2_submit_rst_stream(st->s->h2, NGHTTP2_FLAG_NONE, st->id, code) != 0)
		st->s->failed = true;
}

/* -------------------------------------------------------------------- answer */

typedef struct field_list {
	nghttp2_nv fields[MAX_FIELDS];
	size_t count;
} field_list;

static void add_field(field_list *list, sp_bytes name, sp_bytes value)
{
	list->fields[list->count++] = (nghttp2_nv){.name = (uint8_t *)name.data,
						   .value = (uint8_t *)value.data,
						   .namelen = name.size,
						   .valuelen = value.size};
}

static void add_text(field_list *list, const char *name, const char *value)
{
	add_field(list, sp_bytes_of(name), sp_bytes_of(value));
}

static void add_all(field_list *list, const sp_http_header *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_field(list, fields[i].name, fields[i].value);
}

static size_t body_size(const stream *st)
{
	return st->request->head.method == SP_HTTP_HEAD ? 0 : st->request->out.size;
}

static ssize_t on_read_answer(nghttp2_session *h2, int32_t id, uint8_t *data, size_t room,
			      uint32_t *flags, nghttp2_data_source *source, void *context)
{
	stream *st = source->ptr;
	field_list trailers = {.count = 0};
	size_t left;

	(void)data;
	(void)context;
	if (st->state == SP_HTTP2_STREAMING && st->sent == st->request->out.size)
		sp_http2__streaming_collect(st);
	left = body_size(st) - st->sent;
	if (left == 0 && st->state == SP_HTTP2_STREAMING)
		return NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (left > room || st->state == SP_HTTP2_STREAMING)
		return (ssize_t)(left < room ? left : room);
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (st->request->trailer_count == 0)
		return (ssize_t)left;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	add_all(&trailers, st->request->fields + st->request->header_count,
		st->request->trailer_count);
	if (nghttp2_submit_trailer(h2, id, trailers.fields, trailers.count) != 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	return (ssize_t)left;
}

int sp_http2__send_body(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *head, size_t size,
			nghttp2_data_source *source, void *context)
{
	enum { FRAME_HEAD = 9 };
	sp_buffer *output = &((session *)context)->loop->output;
	stream *st = source->ptr;

	(void)h2;
	(void)frame; /* there is no padding */
	if (output->size >= SP_HTTP_OUTPUT_BYTES)
		return NGHTTP2_ERR_WOULDBLOCK;
	if (size > st->request->out.size - st->sent) /* the answer has become another */
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	sp_buffer_append(output, head, FRAME_HEAD);
	sp_buffer_append(output, st->request->out.data + st->sent, size);
	st->sent += size;
	return output->failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static void add_head(field_list *list, stream *st, char status[8], char length[24])
{
	const sp_http_request *request = st->request;

	snprintf(status, 8, "%d", request->status);
	snprintf(length, 24, "%zu", request->out.size);
	add_text(list, ":status", status);
	add_text(list, "date", sp_http__date(st->s->loop));
	add_text(list, "content-type",
		 request->content_type != NULL ? request->content_type : "application/json");
	if (request->trailer_count == 0 && st->state == SP_HTTP2_ANSWERED)
		add_text(list, "content-length", length);
	add_all(list, request->fields, request->header_count);
	if (request->retry)
		add_text(list, "retry-after", "1");
	if (st->s->loop->options->cors) {
		add_text(list, "access-control-allow-origin", "*");
		add_text(list, "access-control-allow-methods", "POST, GET");
		add_text(list, "access-control-allow-headers", "Content-Type");
	}
}

void sp_http2__stream_submit(stream *st)
{
	const sp_http_request *request = st->request;
	nghttp2_data_provider body = {.source.ptr = st, .read_callback = on_read_answer};
	bool has_body = body_size(st) != 0 || st->state == SP_HTTP2_STREAMING;
	field_list list = {.count = 0};
	char status[8], length[24];

	add_head(&list, st, status, length);
	if (!has_body)
		add_all(&list, request->fields + request->header_count, request->trailer_count);
	if (nghttp2_submit_response(st->s->h2, st->id, list.fields, list.count,
				    has_body ? &body : NULL) != 0)
		st->s->failed = true;
}

void sp_http2__stream_resume(stream *st)
{
	int status = nghttp2_session_resume_data(st->s->h2, st->id);

	/* It need not be deferred, or may be closed. */
	if (status != 0 && status != NGHTTP2_ERR_INVALID_ARGUMENT)
		st->s->failed = true;
}

void sp_http2__stream_answer(stream *st)
{
	sp_http_request *request = st->request;

	sp_http2__stream_set_state(st, SP_HTTP2_ANSWERED);
	if (request->out.failed) {
		sp_buffer_fini(&request->out);
		sp_http__request_set_error(request, 503, "no memory for the answer");
	}
	sp_http__request_observe(request, sp_clock_now_ns());
	sp_http2__stream_set_deadline(st, sp_http__in_ms(st->s->loop->options->request_timeout_ms));
	if (st->streaming != NULL && st->streaming->begun)
		sp_http2__stream_resume(st);
	else
		sp_http2__stream_submit(st);
}

void sp_http2__stream_refuse(stream *st, int status, const char *text)
{
	sp_buffer_fini(&st->request->body);
	sp_http__request_set_error(st->request, status, text);
	sp_http2__stream_answer(st);
}

static void on_answer(void *owner)
{
	stream *st = owner;

	if (st->request->status == 0) {
		sp_http2__stream_set_state(st, SP_HTTP2_ANSWERED);
		sp_http2__stream_reset(st, NGHTTP2_CANCEL);
	} else {
		sp_http2__stream_answer(st);
	}
	sp_http__connection_write_soon(st->s->c);
}

static void on_deadline_set(void *owner, int64_t deadline_ns)
{
	sp_http2__stream_set_deadline(owner, deadline_ns);
}

static const sp_http_owner_ops owner_ops = {on_answer, on_deadline_set};

/* ------------------------------------------------------------------- request */

void sp_http2__stream_add_header(stream *st, sp_bytes name, sp_bytes value)
{
	sp_http_request *request = st->request;
	sp_http_head *head = &request->head;

	if (sp_bytes_equal_text(name, ":authority"))
		name = sp_bytes_of("host");
	sp_buffer_append(&request->head_text, name.data, name.size);
	sp_buffer_append(&request->head_text, value.data, value.size);
	head->headers[head->header_count++] = (sp_http_header){{NULL, name.size},
							       {NULL, value.size}};
}

/*
 * Makes views of the names and values, of which only the sizes are known, and takes the pseudo
 * headers out of the list.
 */
static void set_views(sp_http_request *request, sp_bytes *method, sp_bytes *path)
{
	sp_http_head *head = &request->head;
	const char *at = request->head_text.data;
	size_t count = 0;

	for (size_t i = 0; i < head->header_count; i++) {
		sp_http_header field = {
			{at, head->headers[i].name.size},
			{at + head->headers[i].name.size, head->headers[i].value.size}};

		at = field.value.data + field.value.size;
		if (sp_bytes_equal_text(field.name, ":method"))
			*method = field.value;
		else if (sp_bytes_equal_text(field.name, ":path"))
			*path = field.value;
		else if (!sp_bytes_starts_with(field.name, ":"))
			head->headers[count++] = field;
	}
	head->header_count = count;
}

/* All headers are there: refuses the request if it can't be accepted. */
static void check_head(stream *st)
{
	const sp_http_options *options = st->s->loop->options;
	sp_http_request *request = st->request;
	sp_bytes method = {"", 0}, path = {"", 0};
	sp_error err;
	int status;

	if (request->head_text.failed) {
		request->head.header_count = 0;
		sp_http2__stream_refuse(st, 503, no_memory);
		return;
	}
	set_views(request, &method, &path);
	status = sp_http__head_complete(&request->head, method, path, &err);
	if (st->refusal != 0)
		sp_http2__stream_refuse(st, st->refusal, "Request header fields too large");
	else if (status != 0)
		sp_http2__stream_refuse(st, status, err.text);
	else
		sp_http2__streaming_begin(st);
	if (st->state != SP_HTTP2_READING)
		return;
	if (request->head.content_length > options->max_body_bytes)
		sp_http2__stream_refuse(st, 413, "Request body too large");
	else if (!sp_budget_allows(options->memory, request->head.content_length))
		sp_http2__stream_refuse(st, 413,
					"Request body larger than the memory for requests");
	/* A large buffer is freed after the request, so it need not be larger than the body. */
	else if (request->head.content_length > SP_BUDGET_SMALL)
		request->body.max_size = (size_t)request->head.content_length;
}

/* 503 if the request may fit later, 413 if it exceeds all memory for requests. */
static void refuse_for_memory(stream *st)
{
	if (sp_budget_allows(st->s->loop->options->memory,
			     st->request->body.size + SP_HTTP2_STREAM_BYTES))
		sp_http2__stream_refuse(st, 503, no_memory);
	else
		sp_http2__stream_refuse(st, 413,
					"Request body larger than the memory for requests");
}

static void hand_over(stream *st)
{
	const sp_http_options *options = st->s->loop->options;
	sp_http_request *request = st->request;

	sp_http2__stream_set_state(st, SP_HTTP2_HANDED);
	request->handed_ns = sp_clock_now_ns();
	atomic_store(&request->state, SP_HTTP_HANDED);
	sp_http2__stream_set_deadline(st, request->deadline_ns);
	options->handler(options->context, request);
}

void sp_http2__stream_end_head(stream *st, bool is_end)
{
	static uint8_t name[] = ":status", value[] = "100";
	static const nghttp2_nv go_on = {name, value, 7, 3, NGHTTP2_NV_FLAG_NONE};

	check_head(st);
	/* The client waits for this before it sends the body. */
	if (st->state == SP_HTTP2_READING && !is_end && st->request->head.expect_continue &&
	    nghttp2_submit_headers(st->s->h2, NGHTTP2_FLAG_NONE, st->id, NULL, &go_on, 1, NULL) !=
		    0)
		st->s->failed = true;
}

size_t sp_http2__stream_add_data(stream *st, sp_bytes data)
{
	sp_buffer *body = &st->request->body;

	if (st->state == SP_HTTP2_STREAMING)
		return sp_http2__streaming_data(st, data);
	if (st->state != SP_HTTP2_READING)
		return data.size;
	if (data.size > body->max_size - body->size) {
		sp_http2__stream_refuse(st, 413, "Request body too large");
		return data.size;
	}
	sp_buffer_append(body, data.data, data.size);
	if (body->failed)
		refuse_for_memory(st);
	else if (st->s->c->phase == SP_PHASE_BODY)
		sp_http__connection_note_progress(st->s->c);
	return data.size;
}

void sp_http2__stream_end(stream *st)
{
	st->open = false;
	if (st->state == SP_HTTP2_STREAMING)
		sp_http2__streaming_feed(st);
	else if (st->state == SP_HTTP2_READING)
		hand_over(st);
}

/* ---------------------------------------------------------------------- time */

sp_http_request *sp_http2__late(session *s, sp_http_request *request)
{
	/* Copied before: an orphan may be freed at any time. */
	sp_http_request *late = sp_http__request_copy(s->loop, request);

	if (late == NULL || !sp_http__request_orphan(request)) {
		sp_http__request_put(s->loop, late);
		return NULL;
	}
	sp_http__request_set_error(late, 504, late_text);
	return late;
}

static void answer_late(stream *st)
{
	sp_http_request *late = sp_http2__late(st->s, st->request);

	st->deadline_ns = INT64_MAX; /* a thread works on it and will answer */
	if (late == NULL)
		return;
	st->request = late;
	sp_http2__stream_answer(st);
}

void sp_http2__stream_late(stream *st)
{
	if (st->state == SP_HTTP2_READING) {
		sp_http2__stream_refuse(st, 408, "the request did not arrive in time");
	} else if (st->state == SP_HTTP2_HANDED) {
		answer_late(st);
	} else if (st->state == SP_HTTP2_STREAMING) {
		sp_http2__streaming_fail(st, 504, late_text);
	} else { /* the client takes no bytes, or need not send the rest of its request */
		sp_http2__stream_reset(st, st->complete ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
		st->deadline_ns = INT64_MAX;
	}
}
