#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include <event2/event.h>
#include <nghttp2/nghttp2.h>

#include "api/host/http/http2_memory.h"
#include "api/host/http/http_internal.h"
#include "base/alloc.h"
#include "base/clock.h"

/*
 * HTTP/2 over a connection (RFC 9113).  nghttp2 reads and writes frames and sees to the protocol;
 * here are the streams, each with a request, and what bounds a client's use of memory and time.
 *
 * A stream is READING until its request is whole, HANDED until the request is answered, and
 * ANSWERED until its last frame has been sent or it is reset.  STREAMING is a request whose body is
 * passed on and which is answered in parts (http_stream.h); its `out` is what the client has not
 * taken yet.  nghttp2 calls back while it reads;
 * what is to be written is collected later, by flush().
 */

enum { DEFAULT_STREAMS = 100, STREAM_WINDOW = 1 << 20, CONNECTION_WINDOW = 8 << 20 };

/* Memory of a connection, beside the bodies of its requests and answers. */
enum { SESSION_BYTES = 1 << 20, STREAM_BYTES = 16 << 10, SPARE_BYTES = 16 << 10 };

/* CONTINUATION frames in a row; queued acknowledgements; entries of one SETTINGS frame. */
enum { MAX_CONTINUATIONS = 8, MAX_ACKS = 200, MAX_SETTINGS = 32 };

/* Streams that the client may reset: so many at once, and so many a second. */
enum { RESETS = 1000, RESETS_PER_SECOND = 100 };

/* Frames that carry nothing: so many at once and a second, and for each frame that was sent. */
enum { IDLE_FRAMES = 2000, IDLE_FRAMES_PER_ANSWER = 4 };

/* A head of more than this times the limit ends the connection, not only the request. */
enum { HEAD_EXCESS = 4 };

/* How often tick() is called, and how long a stream lasts unless the options say it. */
enum { TICK_MS = 1000, STREAM_MS = 3600 * 1000 };

/*
 * How long a client may go on with a request that has its answer, before the stream is reset: curl
 * loses an answer whose reset it reads at the same time.
 */
enum { LINGER_MS = 200 };

/* Writes per connection before the loop serves others. */
enum { WRITES = 4 };

/* Of the pseudo headers and the header that :authority becomes, in a head that is read. */
enum { MAX_FIELDS = SP_HTTP_MAX_FIELDS + 12 };

typedef struct session session;

enum stream_state { READING, HANDED, STREAMING, ANSWERED };

typedef struct sp_http_stream stream;

struct sp_http_stream {
	TAILQ_ENTRY(sp_http_stream) link; /* in session->streams */
	session *s;
	int32_t id;
	enum stream_state state;
	bool open;                /* the client has not ended its side */
	bool complete;            /* the last frame of the answer has been sent */
	int refusal;              /* status with which the head will be refused; 0: none */
	size_t head_bytes;        /* of the head or trailers, as HTTP/2 counts them */
	size_t sent;              /* of the body of the answer */
	sp_http_request *request; /* NULL once it was left */
	int64_t deadline_ns;      /* INT64_MAX: none, a thread works on it */

	const sp_http_stream_handler *handler; /* NULL: never STREAMING */
	void *handler_state;
	bool begun;      /* the headers of the answer are submitted */
	int64_t tick_ns; /* when tick() is called next */
};

struct session {
	sp_http_connection *c;
	sp_http_loop *loop;
	nghttp2_session *h2;
	sp_http2_memory memory;
	TAILQ_HEAD(, sp_http_stream) streams;
	size_t stream_count;
	size_t count_of[ANSWERED + 1]; /* streams by state */
	bool notified;                 /* the client knows that the server ends soon */
	bool ended;                    /* the last frame, which ends the session, is on its way */
	bool failed;                   /* the connection must be closed */
	int32_t head_stream;           /* whose head is being read; 0: the preface */
	int64_t head_deadline_ns;      /* 0: neither the preface nor a head is being read */
	int64_t idle_deadline_ns;      /* when no stream is open */
	sp_buffer rest;                /* frames that the socket has not taken */
	size_t rest_sent;
	int64_t rest_deadline_ns;
	int64_t input_ns;                 /* when the client sent something last */
	bool asked;                       /* ... and has been asked since whether it is there */
	int64_t idle_frames, refilled_ns; /* how many more frames may carry nothing */
};

static const char late_text[] = "the deadline of the request has passed";
static const char no_memory[] = "no memory for the request: too many are being received";

static const sp_http_options *options_of(const session *s)
{
	return &s->loop->server->options;
}

static uint32_t max_streams(const session *s)
{
	size_t count = options_of(s)->max_streams;

	return count != 0 ? (uint32_t)count : DEFAULT_STREAMS;
}

/* ------------------------------------------------------------------ deadlines */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void set_deadline(session *s)
{
	int64_t deadline_ns = s->rest.size != 0 ? s->rest_deadline_ns : INT64_MAX;
	const stream *st;

	if (!s->ended) {
		if (s->head_deadline_ns != 0)
			deadline_ns = earlier(deadline_ns, s->head_deadline_ns);
		if (s->stream_count == 0)
			deadline_ns = earlier(deadline_ns, s->idle_deadline_ns);
		TAILQ_FOREACH(st, &s->streams, link)
		{
			deadline_ns = earlier(deadline_ns, st->deadline_ns);
			if (st->state == STREAMING)
				deadline_ns = earlier(deadline_ns, st->tick_ns);
		}
	}
	if (deadline_ns != INT64_MAX)
		sp_http__connection_set_deadline(s->c, deadline_ns);
}

/* Ends the session with an error code, or NGHTTP2_NO_ERROR; streams end with it. */
static void end(session *s, uint32_t code)
{
	s->ended = true;
	if (nghttp2_session_terminate_session(s->h2, code) != 0)
		s->failed = true;
}

/* The connection's own deadline may be too early: then end_late() finds the next one. */
static void set_deadline_before(session *s, int64_t deadline_ns)
{
	if (deadline_ns < s->c->deadline_ns || s->c->timer_ns == 0)
		sp_http__connection_set_deadline(s->c, deadline_ns);
}

static void set_stream_deadline(stream *st, int64_t deadline_ns)
{
	st->deadline_ns = deadline_ns;
	set_deadline_before(st->s, deadline_ns);
}

/* ------------------------------------------------------------------- streams */

static const sp_http_owner_ops owner_ops;

static void adopt(stream *st, sp_http_request *request)
{
	st->request = request;
	request->ops = &owner_ops;
	request->owner = st;
	request->socket = st->s->c->fd;
}

/* NULL when the connection or the server has no memory for it. */
static stream *open_stream(session *s, int32_t id, sp_http_request *request)
{
	stream *st;

	/* Some is left to nghttp2, for which no memory is the end of the connection. */
	if (!sp_http2_memory_count(&s->memory, STREAM_BYTES + SPARE_BYTES))
		return NULL;
	sp_http2_memory_uncount(&s->memory, SPARE_BYTES);
	st = sp_http2_memory_alloc(&s->memory, sizeof(*st));
	if (request == NULL && st != NULL)
		request = sp_http__request_take(s->loop);
	if (st == NULL || request == NULL) {
		sp_http2_memory_free(&s->memory, st);
		sp_http2_memory_uncount(&s->memory, STREAM_BYTES);
		return NULL;
	}
	*st = (stream){.s = s, .id = id, .open = true, .state = READING};
	adopt(st, request);
	TAILQ_INSERT_TAIL(&s->streams, st, link);
	s->stream_count++;
	s->count_of[READING]++;
	return st;
}

static void set_state(stream *st, enum stream_state state)
{
	st->s->count_of[st->state]--;
	st->s->count_of[state]++;
	st->state = state;
}

static void close_stream(stream *st)
{
	session *s = st->s;

	TAILQ_REMOVE(&s->streams, st, link);
	s->stream_count--;
	if (st->state == HANDED) {
		if (sp_http__request_leave(st->request))
			s->loop->left++;
	} else {
		sp_http__request_put(s->loop, st->request);
	}
	s->count_of[st->state]--;
	if (st->handler != NULL)
		st->handler->closed(st->handler_state);
	sp_http2_memory_free(&s->memory, st);
	sp_http2_memory_uncount(&s->memory, STREAM_BYTES);
}

static void reset(stream *st, uint32_t code)
{
	if (nghttp2_submit_rst_stream(st->s->h2, NGHTTP2_FLAG_NONE, st->id, code) != 0)
		st->s->failed = true;
}

/* ------------------------------------------------------------------- answers */

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
	size_t left = body_size(st) - st->sent;
	field_list trailers = {.count = 0};

	(void)data;
	(void)context;
	if (left == 0 && st->state == STREAMING)
		return NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (left > room || st->state == STREAMING)
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

/* Appends a frame of the body to the output. */
static int on_send_answer(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *head,
			  size_t size, nghttp2_data_source *source, void *context)
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
	if (request->trailer_count == 0 && st->state == ANSWERED)
		add_text(list, "content-length", length);
	add_all(list, request->fields, request->header_count);
	if (request->retry)
		add_text(list, "retry-after", "1");
	if (options_of(st->s)->cors) {
		add_text(list, "access-control-allow-origin", "*");
		add_text(list, "access-control-allow-methods", "POST, GET");
		add_text(list, "access-control-allow-headers", "Content-Type");
	}
}

static void submit_answer(stream *st)
{
	const sp_http_request *request = st->request;
	nghttp2_data_provider body = {.source.ptr = st, .read_callback = on_read_answer};
	bool has_body = body_size(st) != 0 || st->state == STREAMING;
	field_list list = {.count = 0};
	char status[8], length[24];

	add_head(&list, st, status, length);
	if (!has_body)
		add_all(&list, request->fields + request->header_count, request->trailer_count);
	if (nghttp2_submit_response(st->s->h2, st->id, list.fields, list.count,
				    has_body ? &body : NULL) != 0)
		st->s->failed = true;
}

static void resume(stream *st)
{
	int status = nghttp2_session_resume_data(st->s->h2, st->id);

	/* It need not be deferred, or may be closed. */
	if (status != 0 && status != NGHTTP2_ERR_INVALID_ARGUMENT)
		st->s->failed = true;
}

/* Sends the answer that the request has, or the rest of it. */
static void answer(stream *st)
{
	sp_http_request *request = st->request;

	set_state(st, ANSWERED);
	if (request->out.failed) {
		sp_buffer_fini(&request->out);
		sp_http__request_set_error(request, 503, "no memory for the answer");
	}
	sp_http__request_observe(request);
	set_stream_deadline(st, sp_http__in_ms(options_of(st->s)->request_timeout_ms));
	if (st->begun)
		resume(st);
	else
		submit_answer(st);
}

static void refuse(stream *st, int status, const char *text)
{
	sp_buffer_fini(&st->request->body);
	sp_http__request_set_error(st->request, status, text);
	answer(st);
}

static void on_answer(void *owner)
{
	stream *st = owner;

	if (st->request->status == 0) {
		set_state(st, ANSWERED);
		reset(st, NGHTTP2_CANCEL);
	} else {
		answer(st);
	}
	sp_http__connection_write_soon(st->s->c);
}

static void on_deadline_set(void *owner, int64_t deadline_ns)
{
	set_stream_deadline(owner, deadline_ns);
}

static const sp_http_owner_ops owner_ops = {on_answer, on_deadline_set};

/* ------------------------------------------------------------ answers in parts */

void sp_http_stream_set_deadline(sp_http_stream *st, int64_t deadline_ns)
{
	if (deadline_ns < st->deadline_ns)
		set_stream_deadline(st, deadline_ns);
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

	if (st->state != STREAMING)
		return false;
	drop_sent(st);
	sp_buffer_append(out, data.data, data.size);
	if (out->failed) {
		out->failed = false;
		return false;
	}
	if (st->begun) {
		resume(st);
	} else {
		sp_http_answer first = *head;

		first.body = NULL;
		first.trailer_count = 0;
		sp_http_request_set_answer(st->request, &first);
		submit_answer(st);
		st->begun = true;
	}
	sp_http__connection_write_soon(st->s->c);
	return true;
}

void sp_http_stream_end(sp_http_stream *st, const sp_http_answer *with)
{
	if (st->state != STREAMING)
		return;
	sp_http_request_set_answer(st->request, with);
	answer(st);
	sp_http__connection_write_soon(st->s->c);
}

/* Ends it as sp_http_refusal makes it, if the client has taken all before, and can be told so. */
static void fail_stream(stream *st, int status, const char *text)
{
	sp_http_request *request = st->request;

	if (!st->begun) {
		refuse(st, status, text);
		return;
	}
	if (st->sent == request->out.size) {
		sp_buffer_clear(&request->out);
		st->sent = 0;
		sp_http__request_set_error(request, status, text);
		if (request->out.size == 0 && request->trailer_count != 0) {
			answer(st);
			return;
		}
	}
	set_state(st, ANSWERED);
	reset(st, NGHTTP2_CANCEL);
}

/* Makes it STREAMING if the head is that of a stream. */
static void begin_stream(stream *st)
{
	const sp_http_options *options = options_of(st->s);
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
	set_state(st, STREAMING);
	st->tick_ns = sp_http__in_ms(TICK_MS);
	set_deadline_before(st->s, st->tick_ns);
}

/* ------------------------------------------------------------------ requests */

/* 503 if the request may fit later, 413 if it exceeds all memory for requests. */
static void refuse_for_memory(stream *st)
{
	if (sp_budget_allows(options_of(st->s)->memory, st->request->body.size + STREAM_BYTES))
		refuse(st, 503, no_memory);
	else
		refuse(st, 413, "Request body larger than the memory for requests");
}

static void hand_over(stream *st)
{
	const sp_http_options *options = options_of(st->s);
	sp_http_request *request = st->request;

	set_state(st, HANDED);
	request->handed_ns = sp_clock_now_ns();
	atomic_store(&request->state, SP_HTTP_HANDED);
	set_stream_deadline(st, request->deadline_ns);
	options->handler(options->context, request);
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
	const sp_http_options *options = options_of(st->s);
	sp_http_request *request = st->request;
	sp_bytes method = {"", 0}, path = {"", 0};
	sp_error err;
	int status;

	if (request->head_text.failed) {
		request->head.header_count = 0;
		refuse(st, 503, no_memory);
		return;
	}
	set_views(request, &method, &path);
	status = sp_http__head_complete(&request->head, method, path, &err);
	if (st->refusal != 0)
		refuse(st, st->refusal, "Request header fields too large");
	else if (status != 0)
		refuse(st, status, err.text);
	else
		begin_stream(st);
	if (st->state != READING)
		return;
	if (request->head.content_length > options->max_body_bytes)
		refuse(st, 413, "Request body too large");
	else if (!sp_budget_allows(options->memory, request->head.content_length))
		refuse(st, 413, "Request body larger than the memory for requests");
	/* A large buffer is freed after the request, so it need not be larger than the body. */
	else if (request->head.content_length > SP_BUDGET_SMALL)
		request->body.max_size = (size_t)request->head.content_length;
}

static void begin_body(stream *st)
{
	static uint8_t name[] = ":status", value[] = "100";
	static const nghttp2_nv go_on = {name, value, 7, 3, NGHTTP2_NV_FLAG_NONE};

	if (st->request->head.expect_continue &&
	    nghttp2_submit_headers(st->s->h2, NGHTTP2_FLAG_NONE, st->id, NULL, &go_on, 1, NULL) !=
		    0)
		st->s->failed = true;
}

/* ------------------------------------------------------------- what nghttp2 calls */

/* Whether the client may send one more frame that carries nothing. */
static bool may_idle(session *s)
{
	int64_t now;

	if (--s->idle_frames >= 0)
		return true;
	now = sp_clock_now_ns();
	s->idle_frames = (now - s->refilled_ns) / (INT64_C(1000000000) / IDLE_FRAMES) - 1;
	if (s->idle_frames > IDLE_FRAMES)
		s->idle_frames = IDLE_FRAMES;
	s->refilled_ns = now;
	return s->idle_frames >= 0;
}

static int on_begin_frame(nghttp2_session *h2, const nghttp2_frame_hd *head, void *context)
{
	session *s = context;
	bool carries = head->type == NGHTTP2_HEADERS ||
		       (head->type == NGHTTP2_DATA &&
			(head->length != 0 || (head->flags & NGHTTP2_FLAG_END_STREAM) != 0));

	(void)h2;
	if (head->type != NGHTTP2_CONTINUATION)
		s->head_deadline_ns = 0;
	if (!carries && !may_idle(s))
		end(s, NGHTTP2_ENHANCE_YOUR_CALM);
	return 0;
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *context)
{
	const sp_http_options *options;
	session *s = context;
	stream *st;

	s->head_stream = frame->hd.stream_id;
	s->head_deadline_ns = sp_http__in_ms(options_of(s)->head_timeout_ms);
	set_deadline_before(s, s->head_deadline_ns);
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
		st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
		if (st != NULL)
			st->head_bytes = 0;
		return 0;
	}
	options = options_of(s);
	st = open_stream(s, frame->hd.stream_id, NULL);
	if (st == NULL) {
		nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
					  NGHTTP2_REFUSED_STREAM);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	st->request->deadline_ns = sp_http__in_ms(options->request_timeout_ms);
	set_stream_deadline(st, st->request->deadline_ns);
	return nghttp2_session_set_stream_user_data(h2, st->id, st) == 0
		       ? 0
		       : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void store_field(sp_http_request *request, sp_bytes name, sp_bytes value)
{
	sp_http_head *head = &request->head;

	if (sp_bytes_equal_text(name, ":authority"))
		name = sp_bytes_of("host");
	sp_buffer_append(&request->head_text, name.data, name.size);
	sp_buffer_append(&request->head_text, value.data, value.size);
	head->headers[head->header_count++] = (sp_http_header){{NULL, name.size},
							       {NULL, value.size}};
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
		     void *context)
{
	enum { FIELD_BYTES = 32 }; /* RFC 9113, section 6.5.2 */
	stream *st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	size_t most = options_of(context)->max_head_bytes;

	(void)flags;
	if (st == NULL)
		return 0;
	st->head_bytes += name_size + value_size + FIELD_BYTES;
	if (st->head_bytes > HEAD_EXCESS * most) {
		end(context, NGHTTP2_ENHANCE_YOUR_CALM);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) /* trailers are dropped */
		return 0;
	if (st->head_bytes > most || st->request->head.header_count == SP_HTTP_MAX_HEADERS)
		st->refusal = 431;
	if (st->refusal == 0)
		store_field(st->request, (sp_bytes){(const char *)name, name_size},
			    (sp_bytes){(const char *)value, value_size});
	return 0;
}

/* nghttp2 would drop the header and go on. */
static int on_invalid_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
			     size_t name_size, const uint8_t *value, size_t value_size,
			     uint8_t flags, void *context)
{
	(void)name;
	(void)name_size;
	(void)value;
	(void)value_size;
	(void)flags;
	(void)context;
	nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
				  NGHTTP2_PROTOCOL_ERROR);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t size,
		   void *context)
{
	stream *st = nghttp2_session_get_stream_user_data(h2, id);
	session *s = context;
	sp_buffer *body;

	(void)flags;
	if (st != NULL && st->state == STREAMING)
		st->handler->data(st->handler_state, st, (sp_bytes){(const char *)data, size});
	if (st == NULL || st->state != READING)
		return 0;
	body = &st->request->body;
	if (size > body->max_size - body->size) {
		refuse(st, 413, "Request body too large");
		return 0;
	}
	sp_buffer_append(body, data, size);
	if (body->failed)
		refuse_for_memory(st);
	else if (s->c->phase == SP_PHASE_BODY)
		sp_http__connection_note_progress(s->c);
	return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *context)
{
	stream *st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	session *s = context;
	bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	if (frame->hd.type == NGHTTP2_HEADERS)
		s->head_deadline_ns = 0;
	if (st == NULL || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (is_end)
		st->open = false;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		check_head(st);
		if (st->state == READING && !is_end)
			begin_body(st);
	}
	if (st->state == STREAMING && is_end)
		st->handler->end(st->handler_state, st);
	else if (st->state == READING && is_end)
		hand_over(st);
	return 0;
}

static int on_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *context)
{
	session *s = context;
	stream *st;

	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	s->idle_frames += IDLE_FRAMES_PER_ANSWER;
	if (s->idle_frames > IDLE_FRAMES)
		s->idle_frames = IDLE_FRAMES;
	st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	if (st != NULL && st->open && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
		st->complete = true;
		set_stream_deadline(st, sp_http__in_ms(LINGER_MS));
	}
	return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t code, void *context)
{
	stream *st = nghttp2_session_get_stream_user_data(h2, id);
	session *s = context;

	(void)code;
	if (s->head_stream == id)
		s->head_deadline_ns = 0;
	if (st != NULL)
		close_stream(st);
	return 0;
}

/* ------------------------------------------------------------------- writing */

/*
 * The phase is that of the streams that are there.  A client that has only streams whose answers
 * come in parts is idle: it waits for what may never come.
 */
static void settle(session *s)
{
	sp_http_connection *c = s->c;
	enum sp_http_phase phase = s->count_of[HANDED] + s->count_of[ANSWERED] != 0
					   ? SP_PHASE_WAITING
				   : s->count_of[READING] != 0 ? SP_PHASE_BODY
				   : s->rest.size != 0         ? SP_PHASE_WRITING
							       : SP_PHASE_IDLE;

	if (c->phase == phase)
		return;
	sp_http__connection_move(c, phase);
	if (phase == SP_PHASE_IDLE) {
		s->idle_deadline_ns = sp_http__in_ms(options_of(s)->idle_timeout_ms);
		sp_http2_memory_settle(&s->memory);
		set_deadline(s);
	}
}

/* Keeps what the socket has not taken; false if the connection must be closed. */
static bool keep_rest(session *s, const char *data, size_t size)
{
	sp_buffer_append(&s->rest, data, size);
	if (s->rest.failed)
		return false;
	s->rest_deadline_ns = sp_http__in_ms(options_of(s)->request_timeout_ms);
	set_deadline_before(s, s->rest_deadline_ns);
	return true;
}

/* How much the socket has taken; -1 if it is broken. */
static ssize_t send_bytes(session *s, const char *data, size_t size)
{
	struct iovec part = {(char *)data, size};
	ssize_t n;

	do
		n = sp_http__connection_send(s->c, &part, 1);
	while (n < 0 && errno == EINTR);
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : n;
}

/* Sends what an earlier call has left; true when nothing is left. */
static bool send_rest(session *s)
{
	size_t left = s->rest.size - s->rest_sent;
	ssize_t n = left != 0 ? send_bytes(s, s->rest.data + s->rest_sent, left) : 0;

	if (n < 0)
		s->failed = true;
	s->rest_sent += n > 0 ? (size_t)n : 0;
	if (s->rest_sent < s->rest.size)
		return false;
	sp_buffer_fini(&s->rest);
	s->rest_sent = 0;
	return true;
}

/* Collects frames in the loop's output; false on failure. */
static bool collect(session *s)
{
	sp_buffer *output = &s->loop->output;
	const uint8_t *data;
	ssize_t n;

	sp_buffer_clear(output);
	while (output->size < SP_HTTP_OUTPUT_BYTES) {
		n = nghttp2_session_mem_send(s->h2, &data);
		if (n < 0)
			return false;
		if (n == 0)
			break;
		sp_buffer_append(output, data, (size_t)n);
	}
	return !output->failed;
}

/* True when all has been sent that there is. */
static bool send_all(session *s)
{
	sp_buffer *output = &s->loop->output;
	ssize_t n;

	for (int writes = 0; writes < WRITES; writes++) {
		if (!send_rest(s))
			return false;
		if (!collect(s)) {
			s->failed = true;
			return false;
		}
		if (output->size == 0)
			return true;
		n = send_bytes(s, output->data, output->size);
		if (n < 0 || ((size_t)n < output->size &&
			      !keep_rest(s, output->data + n, output->size - (size_t)n))) {
			s->failed = true;
			return false;
		}
	}
	return false;
}

/* Whether the server ends soon and the client has had its answers; a new one may have one request.
 */
static bool is_drained(const session *s)
{
	return s->notified && !s->ended && s->stream_count == 0 &&
	       nghttp2_session_get_last_proc_stream_id(s->h2) != 0;
}

/* Sends what there is to send; then the session may be gone. */
static void flush(session *s)
{
	sp_http_connection *c = s->c;
	bool all;

	if (atomic_load(&s->loop->server->draining) && !s->notified) {
		s->notified = true;
		nghttp2_submit_shutdown_notice(s->h2);
	}
	all = !s->failed && send_all(s);
	if (all && is_drained(s)) {
		end(s, NGHTTP2_NO_ERROR);
		all = send_all(s);
	}
	if (s->failed) {
		sp_http__connection_destroy(c);
		return;
	}
	if (!all)
		event_add(c->writable, NULL);
	else if (nghttp2_session_want_read(s->h2) == 0 && nghttp2_session_want_write(s->h2) == 0) {
		sp_http__connection_finish(c);
		return;
	}
	settle(s);
}

static void write_some(sp_http_connection *c)
{
	flush(c->session);
}

/* ------------------------------------------------------------------- reading */

void sp_http__http2_receive(sp_http_connection *c, sp_bytes input)
{
	session *s = c->session;
	ssize_t n;

	s->input_ns = sp_clock_now_ns();
	s->asked = false;
	n = nghttp2_session_mem_recv(s->h2, (const uint8_t *)input.data, input.size);
	if (n < 0)
		s->failed = true;
	flush(s);
}

static void read_some(sp_http_connection *c)
{
	session *s = c->session;
	ssize_t n = sp_http__connection_receive(c, s->loop->input, SP_HTTP_INPUT_BYTES);

	if (n > 0) {
		sp_http__http2_receive(c, (sp_bytes){s->loop->input, (size_t)n});
	} else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
		c->end_of_input = true;
		sp_http__connection_destroy(c);
	}
}

/* ---------------------------------------------------------------------- time */

/* No thread has begun the request in time: it is answered through a copy. */
static void answer_late(stream *st)
{
	/* Copied before: an orphan may be freed at any time. */
	sp_http_request *late = sp_http__request_copy(st->request);

	if (late == NULL || !sp_http__request_orphan(st->request)) {
		sp_http__request_destroy(late);
		st->deadline_ns = INT64_MAX; /* a thread works on it and will answer */
		return;
	}
	st->request = late;
	sp_http__request_set_error(late, 504, late_text);
	answer(st);
}

static void end_late_stream(stream *st)
{
	if (st->state == READING) {
		refuse(st, 408, "the request did not arrive in time");
	} else if (st->state == HANDED) {
		answer_late(st);
	} else if (st->state == STREAMING) {
		fail_stream(st, 504, late_text);
	} else { /* the client takes no bytes, or need not send the rest of its request */
		reset(st, st->complete ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
		st->deadline_ns = INT64_MAX;
	}
}

/* Asks a client that is silent whether it is there, and gives it up if it does not answer. */
static void check_client(session *s, int64_t now)
{
	const sp_http_options *options = options_of(s);
	int64_t silent_ms = (now - s->input_ns) / 1000000;

	if (silent_ms > options->idle_timeout_ms + options->head_timeout_ms)
		s->failed = true;
	else if (silent_ms > options->idle_timeout_ms && !s->asked)
		s->asked = nghttp2_submit_ping(s->h2, NGHTTP2_FLAG_NONE, NULL) == 0;
}

static void tick(stream *st, int64_t now)
{
	st->tick_ns = now + TICK_MS * INT64_C(1000000);
	check_client(st->s, now);
	st->handler->tick(st->handler_state, st);
}

static void end_late(sp_http_connection *c)
{
	session *s = c->session;
	int64_t now = sp_clock_now_ns();
	stream *st, *next;

	if (s->ended || (s->rest.size != 0 && now >= s->rest_deadline_ns)) {
		sp_http__connection_destroy(c);
		return;
	}
	if (s->head_deadline_ns != 0 && now >= s->head_deadline_ns)
		end(s, s->head_stream == 0 ? NGHTTP2_SETTINGS_TIMEOUT : NGHTTP2_ENHANCE_YOUR_CALM);
	else if (s->stream_count == 0 && now >= s->idle_deadline_ns)
		end(s, NGHTTP2_NO_ERROR);
	for (st = TAILQ_FIRST(&s->streams); st != NULL; st = next) {
		next = TAILQ_NEXT(st, link);
		if (now >= st->deadline_ns)
			end_late_stream(st);
		else if (st->state == STREAMING && now >= st->tick_ns)
			tick(st, now);
	}
	set_deadline(s);
	flush(s);
}

/* ------------------------------------------------------------ opening, ending */

/* Requests that have begun go on to their end. */
static void stop(sp_http_connection *c)
{
	session *s = c->session;
	stream *st, *next;

	s->notified = true;
	for (st = TAILQ_FIRST(&s->streams); st != NULL; st = next) {
		next = TAILQ_NEXT(st, link);
		if (st->state == STREAMING)
			fail_stream(st, 503, "the server ends");
	}
	nghttp2_submit_goaway(s->h2, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(s->h2), NGHTTP2_NO_ERROR,
			      NULL, 0);
	flush(s);
}

static void free_session(session *s)
{
	stream *st;

	while ((st = TAILQ_FIRST(&s->streams)) != NULL)
		close_stream(st);
	nghttp2_session_del(s->h2);
	sp_buffer_fini(&s->rest);
	sp_http2_memory_fini(&s->memory);
	sp_free(s);
}

static void release(sp_http_connection *c)
{
	free_session(c->session);
}

static const sp_http_protocol http2 = {read_some, write_some, end_late, stop, release};

static nghttp2_session_callbacks *make_callbacks(void)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_answer);
	return callbacks;
}

static nghttp2_option *make_options(void)
{
	nghttp2_option *option;

	if (nghttp2_option_new(&option) != 0)
		return NULL;
	nghttp2_option_set_no_closed_streams(option, 1);
	nghttp2_option_set_max_outbound_ack(option, MAX_ACKS);
	nghttp2_option_set_max_settings(option, MAX_SETTINGS);
	nghttp2_option_set_max_continuations(option, MAX_CONTINUATIONS);
	nghttp2_option_set_stream_reset_rate_limit(option, RESETS, RESETS_PER_SECOND);
	return option;
}

static bool make_h2(session *s)
{
	nghttp2_session_callbacks *callbacks = make_callbacks();
	nghttp2_option *option = make_options();
	nghttp2_mem memory = sp_http2_memory_functions(&s->memory);
	bool made = callbacks != NULL && option != NULL &&
		    nghttp2_session_server_new3(&s->h2, callbacks, s, option, &memory) == 0;

	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return made;
}

static bool submit_settings(session *s)
{
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams(s)},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)options_of(s)->max_head_bytes},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
	};

	return nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, settings,
				       sizeof(settings) / sizeof(settings[0])) == 0 &&
	       nghttp2_session_set_local_window_size(s->h2, NGHTTP2_FLAG_NONE, 0,
						     CONNECTION_WINDOW) == 0;
}

/* NULL when out of memory. */
static session *create_session(sp_http_connection *c)
{
	session *s = sp_alloc_zero(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->c = c;
	s->loop = c->loop;
	TAILQ_INIT(&s->streams);
	sp_buffer_init(&s->rest, SIZE_MAX / 2);
	sp_buffer_set_budget(&s->rest, options_of(s)->memory);
	s->head_deadline_ns = sp_http__in_ms(options_of(s)->head_timeout_ms);
	s->idle_deadline_ns = sp_http__in_ms(options_of(s)->idle_timeout_ms);
	s->idle_frames = IDLE_FRAMES;
	s->refilled_ns = sp_clock_now_ns();
	sp_http2_memory_init(&s->memory, c->loop, options_of(s)->memory,
			     SESSION_BYTES + (size_t)max_streams(s) * STREAM_BYTES);
	if (!make_h2(s) || !submit_settings(s)) {
		free_session(s);
		return NULL;
	}
	return s;
}

static void begin(sp_http_connection *c, session *s)
{
	c->protocol = &http2;
	c->session = s;
	set_deadline(s);
}

void sp_http__http2_open(sp_http_connection *c, sp_bytes input)
{
	session *s = create_session(c);

	if (s == NULL) {
		c->session = NULL;
		sp_http__connection_destroy(c);
		return;
	}
	begin(c, s);
	if (input.size != 0)
		sp_http__http2_receive(c, input);
	else
		flush(s);
}

/* base64url without padding (RFC 4648, section 5); -1 if it is none or too long. */
static ssize_t decode_settings(uint8_t *out, size_t room, sp_bytes text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	size_t size = 0;

	for (size_t i = 0; i < text.size; i++) {
		const char *digit = memchr(digits, text.data[i], sizeof(digits) - 1);

		if (digit == NULL)
			return -1;
		bits = bits << 6 | (uint32_t)(digit - digits);
		if (i % 4 == 0)
			continue;
		if (size == room)
			return -1;
		out[size++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	return (ssize_t)size;
}

static bool submit_upgrade(session *s, sp_http_request *request)
{
	enum { SETTING = 6 };
	uint8_t settings[MAX_SETTINGS * SETTING];
	ssize_t size = decode_settings(settings, sizeof(settings), request->head.h2c_settings);
	stream *st;

	if (size < 0 || nghttp2_session_upgrade2(s->h2, settings, (size_t)size,
						 request->head.method == SP_HTTP_HEAD, NULL) != 0)
		return false;
	sp_buffer_append_text(&s->rest, "HTTP/1.1 101 Switching Protocols\r\n"
					"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
	st = s->rest.failed ? NULL : open_stream(s, 1, request);
	if (st == NULL)
		return false;
	st->open = false;
	(void)nghttp2_session_set_stream_user_data(s->h2, 1, st); /* that stream is there */
	return true;
}

bool sp_http__http2_upgrade(sp_http_connection *c, sp_http_request *request)
{
	session *s = create_session(c);

	if (s == NULL)
		return false;
	if (!submit_upgrade(s, request)) {
		free_session(s);
		return false;
	}
	request->head.major = 2;
	s->rest_deadline_ns = sp_http__in_ms(options_of(s)->request_timeout_ms);
	begin(c, s);
	hand_over(TAILQ_FIRST(&s->streams));
	return true;
}
