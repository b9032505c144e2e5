#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include <event2/event.h>

#include "api/host/http/http2_internal.h"
#include "base/alloc.h"
#include "base/clock.h"

/*
 * A connection of HTTP/2: what nghttp2 calls, what is read and written, time, and what bounds a
 * client's use of memory and time.
 */

enum { DEFAULT_STREAMS = 100, CONNECTION_WINDOW = 8 << 20 };

/* Memory of a connection, beside its streams. */
enum { SESSION_BYTES = 1 << 20 };

/* CONTINUATION frames in a row; queued acknowledgements; entries of one SETTINGS frame. */
enum { MAX_CONTINUATIONS = 8, MAX_ACKS = 200, MAX_SETTINGS = 32 };

/* Streams that the client may reset: so many at once, and so many a second. */
enum { RESETS = 1000, RESETS_PER_SECOND = 100 };

/* Frames without content: so many at once and a second, and more for each frame of an answer. */
enum { IDLE_FRAMES = 2000, IDLE_FRAMES_PER_ANSWER = 4 };

/* A head of more than this times the limit ends the connection, not only the request. */
enum { HEAD_EXCESS = 4 };

/*
 * How long a client may go on with a request that has its answer, before the stream is reset: curl
 * loses an answer whose reset it reads at the same time.
 */
enum { LINGER_MS = 200 };

/* Writes per connection before the loop serves others. */
enum { WRITES = 4 };

typedef sp_http2_session session;
typedef sp_http_stream stream;

static uint32_t max_streams(const session *s)
{
	size_t count = s->loop->options->max_streams;

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
			if (st->state == SP_HTTP2_STREAMING)
				deadline_ns = earlier(deadline_ns, st->streaming->tick_ns);
		}
	}
	if (deadline_ns != INT64_MAX)
		sp_http__connection_set_deadline(s->c, deadline_ns);
}

void sp_http2__consume(session *s, int32_t id, size_t size)
{
	int status = id == 0 ? nghttp2_session_consume_connection(s->h2, size)
			     : nghttp2_session_consume_stream(s->h2, id, size);

	if (status != 0)
		s->failed = true;
}

/* Ends the session with an error code, or NGHTTP2_NO_ERROR; streams end with it. */
static void end(session *s, uint32_t code)
{
	s->ended = true;
	if (nghttp2_session_terminate_session(s->h2, code) != 0)
		s->failed = true;
}

/* The connection's own deadline may be too early: then end_late() finds the next one. */
void sp_http2__set_deadline(session *s, int64_t deadline_ns)
{
	if (deadline_ns < s->c->deadline_ns || s->c->timer_ns == 0)
		sp_http__connection_set_deadline(s->c, deadline_ns);
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
	s->head_deadline_ns = sp_http__in_ms(s->loop->options->head_timeout_ms);
	sp_http2__set_deadline(s, s->head_deadline_ns);
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
		st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
		if (st != NULL)
			st->head_bytes = 0;
		return 0;
	}
	options = s->loop->options;
	st = sp_http2__stream_open(s, frame->hd.stream_id, NULL);
	if (st == NULL) {
		nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
					  NGHTTP2_REFUSED_STREAM);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	st->request->deadline_ns = sp_http__in_ms(options->request_timeout_ms);
	sp_http2__stream_set_deadline(st, st->request->deadline_ns);
	return nghttp2_session_set_stream_user_data(h2, st->id, st) == 0
		       ? 0
		       : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
		     void *context)
{
	enum { FIELD_BYTES = 32 }; /* RFC 9113, section 6.5.2 */
	stream *st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	size_t most = ((const session *)context)->loop->options->max_head_bytes;

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
		sp_http2__stream_add_header(st, (sp_bytes){(const char *)name, name_size},
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
	size_t taken = size;

	(void)flags;
	if (st != NULL)
		taken = sp_http2__stream_add_data(st, (sp_bytes){(const char *)data, size});
	/* What a stream keeps counts against its own window only: others go on. */
	sp_http2__consume(context, 0, size);
	sp_http2__consume(context, id, taken);
	return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *context)
{
	stream *st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	session *s = context;
	bool is_head = frame->hd.type == NGHTTP2_HEADERS;
	bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	if (is_head)
		s->head_deadline_ns = 0;
	if (st == NULL || (!is_head && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (is_head && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		sp_http2__stream_end_head(st, is_end);
	if (is_end)
		sp_http2__stream_end(st);
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
		sp_http2__stream_set_deadline(st, sp_http__in_ms(LINGER_MS));
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
		sp_http2__stream_close(st);
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
	bool waiting = s->count_of[SP_HTTP2_HANDED] != 0 || s->count_of[SP_HTTP2_ANSWERED] != 0 ||
		       s->part_count != 0;
	enum sp_http_phase phase = waiting                              ? SP_PHASE_WAITING
				   : s->count_of[SP_HTTP2_READING] != 0 ? SP_PHASE_BODY
				   : s->rest.size != 0                  ? SP_PHASE_WRITING
									: SP_PHASE_IDLE;

	if (c->phase == phase)
		return;
	sp_http__connection_move(c, phase);
	if (phase == SP_PHASE_IDLE) {
		s->idle_deadline_ns = sp_http__in_ms(s->loop->options->idle_timeout_ms);
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
	s->rest_deadline_ns = sp_http__in_ms(s->loop->options->request_timeout_ms);
	sp_http2__set_deadline(s, s->rest_deadline_ns);
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

/* Whether the server is draining, and the client has had a request and all its answers. */
static bool is_drained(const session *s)
{
	return s->notified && !s->ended && s->stream_count == 0 &&
	       nghttp2_session_get_last_proc_stream_id(s->h2) != 0;
}

/* Passes on what streams have kept, until none has room for more or the socket takes no more. */
static bool send_and_feed(session *s)
{
	stream *st, *next;
	bool all;

	while ((all = send_all(s)) && s->to_feed) {
		s->to_feed = false;
		for (st = TAILQ_FIRST(&s->streams); st != NULL; st = next) {
			next = TAILQ_NEXT(st, link);
			if (st->state == SP_HTTP2_STREAMING)
				sp_http2__streaming_feed(st);
		}
	}
	return all;
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
	all = !s->failed && send_and_feed(s);
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

/* Asks a client that is silent whether it is there, and gives it up if it does not answer. */
static void check_client(session *s, int64_t now)
{
	const sp_http_options *options = s->loop->options;
	int64_t silent_ms = (now - s->input_ns) / 1000000;

	if (silent_ms > options->idle_timeout_ms + options->head_timeout_ms)
		s->failed = true;
	else if (silent_ms > options->idle_timeout_ms && !s->asked)
		s->asked = nghttp2_submit_ping(s->h2, NGHTTP2_FLAG_NONE, NULL) == 0;
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
			sp_http2__stream_late(st);
		else if (st->state == SP_HTTP2_STREAMING && now >= st->streaming->tick_ns) {
			check_client(s, now);
			sp_http2__streaming_tick(st, now);
		}
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
		if (st->state == SP_HTTP2_STREAMING)
			sp_http2__streaming_stop(st);
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
		sp_http2__stream_close(st);
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
	nghttp2_session_callbacks_set_send_data_callback(callbacks, sp_http2__send_body);
	return callbacks;
}

static nghttp2_option *make_options(void)
{
	nghttp2_option *option;

	if (nghttp2_option_new(&option) != 0)
		return NULL;
	nghttp2_option_set_no_closed_streams(option, 1);
	nghttp2_option_set_no_auto_window_update(option, 1);
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
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, SP_HTTP2_STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)s->loop->options->max_head_bytes},
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
	sp_buffer_set_budget(&s->rest, s->loop->options->memory);
	s->head_deadline_ns = sp_http__in_ms(s->loop->options->head_timeout_ms);
	s->idle_deadline_ns = sp_http__in_ms(s->loop->options->idle_timeout_ms);
	s->idle_frames = IDLE_FRAMES;
	s->refilled_ns = sp_clock_now_ns();
	sp_http2_memory_init(&s->memory, c->loop, s->loop->options->memory,
			     SESSION_BYTES + (size_t)max_streams(s) * SP_HTTP2_STREAM_BYTES);
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
	st = s->rest.failed ? NULL : sp_http2__stream_open(s, 1, request);
	if (st == NULL)
		return false;
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
	s->rest_deadline_ns = sp_http__in_ms(s->loop->options->request_timeout_ms);
	begin(c, s);
	sp_http2__stream_end(TAILQ_FIRST(&s->streams));
	return true;
}
