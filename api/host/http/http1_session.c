#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <event2/event.h>

#include "api/host/http/http_chunks.h"
#include "api/host/http/http_internal.h"
#include "api/host/json/json_writer.h"
#include "base/alloc.h"

/*
 * HTTP/1.1 over a connection, and what decides that it is HTTP/2 instead.
 *
 * While a request is WAITING the socket is still read until the input buffer is full, so that a
 * disconnect is noticed and no system calls are needed to stop and resume reading.
 */

enum { FIRST_INPUT = SP_BUDGET_TINY, READ_BYTES = 64 << 10 };

/* Writes per connection before the loop serves others. */
enum { WRITES = 4 };

static const char no_memory[] = "no memory for the request: too many are being received";

typedef struct session {
	sp_http_connection *c;
	sp_http_loop *loop; /* of the connection */
	bool fresh;         /* the connection has had no request yet */
	bool keep;          /* the connection stays open after this answer */

	char *input; /* received bytes: heads and what follows them */
	size_t input_size, input_capacity;
	size_t scanned; /* bytes that sp_http_head_find() has scanned */

	sp_http_request *request;
	sp_http_chunks chunks;

	sp_buffer head; /* of the answer */
	size_t sent;    /* of head and body */
} session;

static void proceed(session *s);

static void free_session(session *s)
{
	sp_http__request_put(s->loop, s->request);
	sp_buffer_fini(&s->head);
	sp_budget_shrink(s->loop->options->memory, s->input_capacity, 0);
	sp_free(s->input);
	sp_free(s);
}

/* ------------------------------------------------------------------- writing */

static const char *reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{200, "OK"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{408, "Request Timeout"},
		{409, "Conflict"},
		{411, "Length Required"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{415, "Unsupported Media Type"},
		{417, "Expectation Failed"},
		{422, "Unprocessable Content"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

static void print_field(sp_buffer *out, const sp_http_header *field)
{
	sp_buffer_append(out, field->name.data, field->name.size);
	sp_buffer_append_text(out, ": ");
	sp_buffer_append(out, field->value.data, field->value.size);
	sp_buffer_append_text(out, "\r\n");
}

static void print_head(session *s)
{
	const sp_http_request *request = s->request;
	const char *type = request->content_type != NULL ? request->content_type
							 : "application/json";

	sp_buffer_clear(&s->head);
	sp_buffer_append_text(&s->head, "HTTP/1.1 ");
	sp_json_write_u64(&s->head, (uint64_t)request->status);
	sp_buffer_append_char(&s->head, ' ');
	sp_buffer_append_text(&s->head, reason_of(request->status));
	sp_buffer_append_text(&s->head, "\r\nDate: ");
	sp_buffer_append_text(&s->head, sp_http__date(s->loop));
	sp_buffer_append_text(&s->head, "\r\nContent-Type: ");
	sp_buffer_append_text(&s->head, type);
	sp_buffer_append_text(&s->head, "\r\nContent-Length: ");
	sp_json_write_u64(&s->head, request->out.size);
	sp_buffer_append_text(&s->head, "\r\n");
	for (size_t i = 0; i < request->header_count; i++)
		print_field(&s->head, &request->fields[i]);
	if (request->retry)
		sp_buffer_append_text(&s->head, "Retry-After: 1\r\n");
	if (s->loop->options->cors)
		sp_buffer_append_text(&s->head, "Access-Control-Allow-Origin: *\r\n"
						"Access-Control-Allow-Methods: POST, GET\r\n"
						"Access-Control-Allow-Headers: Content-Type\r\n");
	if (!s->keep)
		sp_buffer_append_text(&s->head, "Connection: close\r\n");
	else if (request->head.minor == 0)
		sp_buffer_append_text(&s->head, "Connection: keep-alive\r\n");
	sp_buffer_append_text(&s->head, "\r\n");
}

/* Size of the body to send; 0 for HEAD. */
static size_t body_size(const session *s)
{
	return s->request->head.method == SP_HTTP_HEAD ? 0 : s->request->out.size;
}

static ssize_t send_rest(session *s)
{
	struct iovec parts[2];
	size_t count = 0;
	size_t head_sent = s->sent < s->head.size ? s->sent : s->head.size;
	size_t out_sent = s->sent - head_sent;

	if (head_sent < s->head.size)
		parts[count++] = (struct iovec){s->head.data + head_sent, s->head.size - head_sent};
	if (out_sent < body_size(s))
		parts[count++] = (struct iovec){s->request->out.data + out_sent,
						body_size(s) - out_sent};
	return sp_http__connection_send(s->c, parts, count);
}

static void finish_answer(session *s)
{
	sp_http__request_reset(s->request);
	if (s->keep) {
		sp_http__connection_set_reading(s->c, !s->c->end_of_input);
		sp_http__connection_move(s->c, SP_PHASE_IDLE);
		sp_http__connection_set_deadline(
			s->c, sp_http__connection_in_ms(s->c, s->loop->options->idle_timeout_ms));
		proceed(s);
		return;
	}
	sp_http__connection_finish(s->c);
}

static void write_rest(sp_http_connection *c)
{
	session *s = c->session;

	for (int writes = 0; s->sent < s->head.size + body_size(s); writes++) {
		ssize_t n = 0;

		if (writes < WRITES)
			n = send_rest(s);
		if (n > 0) {
			s->sent += (size_t)n;
		} else if (n == 0 || errno == EAGAIN || errno == EWOULDBLOCK) {
			event_add(c->writable, NULL);
			return;
		} else if (errno != EINTR) {
			sp_http__connection_destroy(c);
			return;
		}
	}
	finish_answer(s);
}

static void begin_answer(session *s)
{
	sp_http__connection_move(s->c, SP_PHASE_WRITING);
	if (s->request->out.failed) {
		sp_buffer_fini(&s->request->out);
		sp_http__request_set_error(s->request, 503, "no memory for the answer");
	}
	sp_http__request_observe(s->request, s->loop->now_ns);
	if (atomic_load(&s->loop->server->draining))
		s->keep = false;
	print_head(s);
	if (s->head.failed) {
		sp_http__connection_destroy(s->c);
		return;
	}
	s->sent = 0;
	sp_http__connection_set_deadline(
		s->c, sp_http__connection_in_ms(s->c, s->loop->options->request_timeout_ms));
	write_rest(s->c);
}

static void on_answer(void *owner)
{
	session *s = owner;

	if (s->request->status == 0) {
		sp_http__connection_move(s->c, SP_PHASE_WRITING);
		sp_http__connection_destroy(s->c);
	} else {
		begin_answer(s);
	}
}

static void on_deadline_set(void *owner, int64_t deadline_ns)
{
	const session *s = owner;

	sp_http__connection_set_deadline(s->c, deadline_ns);
}

static const sp_http_owner_ops owner_ops = {on_answer, on_deadline_set};

/* Answers a request that is not read to its end; the connection closes afterwards. */
static void refuse(session *s, int status, const char *text)
{
	s->keep = false;
	sp_buffer_fini(&s->request->body);
	sp_http__request_set_error(s->request, status, text);
	begin_answer(s);
}

/* 503 if the request may fit later, 413 if it exceeds all memory for requests. */
static void refuse_for_memory(session *s)
{
	if (sp_budget_allows(s->loop->options->memory, s->request->body.size + READ_BYTES))
		refuse(s, 503, no_memory);
	else
		refuse(s, 413, "Request body larger than the memory for requests");
}

/* ------------------------------------------------------------------- reading */

static void drop_input(session *s, size_t n)
{
	s->input_size -= n;
	memmove(s->input, s->input + n, s->input_size);
	s->scanned = 0;
}

/* The input is incomplete; after the end of input the rest will never come. */
static void await_more(session *s)
{
	if (s->c->end_of_input)
		sp_http__connection_destroy(s->c);
}

/* RFC 9112, section 2.2: empty lines before a request are ignored. */
static void skip_empty_lines(session *s)
{
	while (s->input_size >= 2 && memcmp(s->input, "\r\n", 2) == 0)
		drop_input(s, 2);
}

static void hand_over(session *s)
{
	sp_http_request *request = s->request;

	if (request->head.h2c_settings.data != NULL && s->c->tls == NULL &&
	    !atomic_load(&s->loop->server->draining) && sp_http__http2_upgrade(s->c, request)) {
		s->request = NULL; /* the connection goes on in HTTP/2, with another session */
		sp_http__http2_receive(s->c, (sp_bytes){s->input, s->input_size});
		free_session(s);
		return;
	}
	s->keep = !request->head.close;
	request->handed_ns = s->loop->now_ns;
	request->followed = s->input_size != 0;
	atomic_store(&request->peer_closed, s->c->end_of_input);
	atomic_store(&request->state, SP_HTTP_HANDED);
	sp_http__connection_move(s->c, SP_PHASE_WAITING);
	sp_http__connection_set_deadline(s->c, request->deadline_ns);
	s->loop->options->handler(s->loop->options->context, request);
}

static uint64_t body_left(const session *s)
{
	return s->request->head.content_length - s->request->body.size;
}

static void read_chunks(session *s)
{
	size_t used;
	sp_http_chunks_result result = sp_http_chunks_feed(
		&s->chunks, (sp_bytes){s->input, s->input_size}, &used, &s->request->body);

	drop_input(s, used);
	switch (result) {
	case SP_HTTP_CHUNKS_MORE:
		await_more(s);
		break;
	case SP_HTTP_CHUNKS_DONE:
		hand_over(s);
		break;
	case SP_HTTP_CHUNKS_BAD:
		refuse(s, 400, "Bad request: malformed chunk");
		break;
	case SP_HTTP_CHUNKS_TOO_LARGE:
		refuse(s, 413, "Request body too large");
		break;
	case SP_HTTP_CHUNKS_NO_MEMORY:
		refuse_for_memory(s);
		break;
	}
}

/* Moves bytes of the body from the input to the request. */
static void read_body(session *s)
{
	size_t n = s->input_size;

	if (s->request->head.chunked) {
		read_chunks(s);
		return;
	}
	if (n > body_left(s))
		n = (size_t)body_left(s);
	sp_buffer_append(&s->request->body, s->input, n);
	if (s->request->body.failed) {
		refuse_for_memory(s);
		return;
	}
	drop_input(s, n);
	if (body_left(s) == 0)
		hand_over(s);
	else
		await_more(s);
}

static void begin_body(session *s)
{
	static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	static const struct iovec go_on = {text, sizeof(text) - 1};
	const sp_http_head *head = &s->request->head;
	uint64_t length = head->content_length; /* 0 if chunked */

	if (length > s->loop->options->max_body_bytes) {
		refuse(s, 413, "Request body too large");
		return;
	}
	if (!sp_budget_allows(s->loop->options->memory, length)) {
		refuse(s, 413, "Request body larger than the memory for requests");
		return;
	}
	/* The client waits for this before it sends the body. */
	if (head->expect_continue && s->input_size == 0 && (head->chunked || length != 0) &&
	    sp_http__connection_send(s->c, &go_on, 1) != (ssize_t)go_on.iov_len) {
		sp_http__connection_destroy(s->c);
		return;
	}
	/* A large buffer is freed after the request, so it need not be larger than the body. */
	if (length > SP_BUDGET_SMALL)
		s->request->body.max_size = (size_t)length;
	memset(&s->chunks, 0, sizeof(s->chunks));
	sp_http__connection_move(s->c, SP_PHASE_BODY);
	sp_http__connection_set_deadline(s->c, s->request->deadline_ns);
	read_body(s);
}

static void parse_head(session *s, size_t size)
{
	sp_http_request *request = s->request;
	sp_error err;
	int status;

	sp_buffer_append(&request->head_text, s->input, size);
	if (request->head_text.failed) {
		refuse(s, 503, no_memory);
		return;
	}
	drop_input(s, size);
	status = sp_http_head_parse(&request->head, (sp_bytes){request->head_text.data, size},
				    &err);
	if (status != 0)
		refuse(s, status, err.text);
	else
		begin_body(s);
}

/* Both deadlines of a request count from its first byte. */
static void begin_head(session *s)
{
	const sp_http_options *options = s->loop->options;
	int64_t head_ns = sp_http__connection_in_ms(s->c, options->head_timeout_ms);

	s->request->deadline_ns = sp_http__connection_in_ms(s->c, options->request_timeout_ms);
	sp_http__connection_move(s->c, SP_PHASE_HEAD);
	sp_http__connection_set_deadline(
		s->c, head_ns < s->request->deadline_ns ? head_ns : s->request->deadline_ns);
}

static void read_head(session *s)
{
	static const char preface[] = SP_HTTP2_PREFACE;
	size_t size = s->input_size < sizeof(preface) - 1 ? s->input_size : sizeof(preface) - 1;

	if (s->fresh && memcmp(s->input, preface, size) == 0) {
		if (size < sizeof(preface) - 1) {
			await_more(s);
		} else {
			sp_http__http2_open(s->c, (sp_bytes){s->input, s->input_size});
			free_session(s);
		}
		return;
	}
	s->fresh = false;
	skip_empty_lines(s);
	switch (sp_http_head_find((sp_bytes){s->input, s->input_size}, &size, &s->scanned)) {
	case SP_HTTP_SCAN_DONE:
		parse_head(s, size);
		break;
	case SP_HTTP_SCAN_BAD:
		refuse(s, 400, "Bad request: a line does not end in CR LF");
		break;
	case SP_HTTP_SCAN_MORE:
		if (s->input_size < s->loop->options->max_head_bytes)
			await_more(s);
		else if (memchr(s->input, '\n', s->input_size) == NULL)
			refuse(s, 414, "Request target too long");
		else
			refuse(s, 431, "Request header fields too large");
		break;
	}
}

/* Processes the input received so far. */
static void proceed(session *s)
{
	if (s->c->phase == SP_PHASE_IDLE)
		skip_empty_lines(s);
	if (s->c->phase == SP_PHASE_IDLE && s->input_size != 0)
		begin_head(s);
	if (s->c->phase == SP_PHASE_HEAD)
		read_head(s);
	else if (s->c->phase == SP_PHASE_BODY)
		read_body(s);
	else if (s->c->phase == SP_PHASE_IDLE && (s->c->end_of_input || s->loop->stopping))
		sp_http__connection_destroy(s->c);
}

/* Enlarges the input buffer; false if it has its full size or there is no memory. */
static bool grow_input(session *s)
{
	size_t most = s->loop->options->max_head_bytes, capacity = s->input_capacity * 2;
	sp_budget *memory = s->loop->options->memory;
	char *input;

	if (s->input_size < s->input_capacity)
		return true;
	if (capacity < FIRST_INPUT)
		capacity = FIRST_INPUT;
	if (capacity > most)
		capacity = most;
	if (capacity <= s->input_capacity ||
	    sp_budget_grow(memory, s->input_capacity, capacity, capacity) == 0)
		return false;
	input = sp_alloc_resize(s->input, capacity, 1);
	if (input == NULL) {
		sp_budget_shrink(memory, capacity, s->input_capacity);
		return false;
	}
	s->input = input;
	s->input_capacity = capacity;
	return true;
}

/* Reads a body of known length without a copy; -1 on an error or when its buffer has failed. */
static ssize_t read_to_body(session *s)
{
	sp_buffer *body = &s->request->body;
	size_t want = body_left(s) < READ_BYTES ? (size_t)body_left(s) : READ_BYTES;
	char *at = sp_buffer_reserve(body, want);
	ssize_t n;

	if (at == NULL)
		return -1;
	n = sp_http__connection_receive(s->c, at, want);
	body->size -= want - (n > 0 ? (size_t)n : 0);
	body->data[body->size] = '\0';
	return n;
}

static void read_some(sp_http_connection *c)
{
	session *s = c->session;
	bool answering = c->phase == SP_PHASE_WAITING || c->phase == SP_PHASE_WRITING;
	bool to_body = c->phase == SP_PHASE_BODY && !s->request->head.chunked;
	ssize_t n;

	if (!to_body && !grow_input(s)) {
		if (answering) /* a client that pipelines is read again after its answer */
			sp_http__connection_set_reading(c, false);
		else
			refuse(s, 503, no_memory);
		return;
	}
	if (to_body) {
		n = read_to_body(s);
	} else {
		n = sp_http__connection_receive(c, s->input + s->input_size,
						s->input_capacity - s->input_size);
		s->input_size += n > 0 ? (size_t)n : 0;
	}
	if (n > 0) {
		if (c->phase == SP_PHASE_BODY)
			sp_http__connection_note_progress(c);
		proceed(s);
	} else if (n == 0) {
		c->end_of_input = true;
		sp_http__connection_set_reading(c, false);
		if (c->phase == SP_PHASE_WAITING)
			atomic_store(&s->request->peer_closed, true);
		else if (!answering)
			sp_http__connection_destroy(c);
	} else if (c->phase == SP_PHASE_BODY && s->request->body.failed) {
		refuse_for_memory(s);
	} else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
		sp_http__connection_destroy(c);
	}
}

/* -------------------------------------------------------------------- timers */

/* No thread has begun the request in time: it is answered through a copy. */
static void answer_late(session *s)
{
	/* Copied before: an orphan may be freed at any time. */
	sp_http_request *late = sp_http__request_copy(s->c->loop, s->request);

	if (!sp_http__request_orphan(s->request)) {
		sp_http__request_put(s->c->loop, late);
		return; /* a thread works on it and will answer */
	}
	s->request = late;
	if (late == NULL) {
		sp_http__connection_destroy(s->c);
		return;
	}
	sp_http__request_set_error(late, 504, "the deadline of the request has passed");
	begin_answer(s);
}

static void end_late(sp_http_connection *c)
{
	if (c->phase == SP_PHASE_HEAD || c->phase == SP_PHASE_BODY)
		refuse(c->session, 408, "the request did not arrive in time");
	else if (c->phase == SP_PHASE_WAITING)
		answer_late(c->session);
	else
		sp_http__connection_destroy(c);
}

/* ------------------------------------------------------------ opening, ending */

static void stop(sp_http_connection *c)
{
	if (c->phase == SP_PHASE_IDLE)
		sp_http__connection_destroy(c);
}

static void release(sp_http_connection *c)
{
	session *s = c->session;

	if (c->phase == SP_PHASE_WAITING) {
		if (s->request != NULL && sp_http__request_leave(s->request))
			s->loop->left++;
		s->request = NULL;
	}
	free_session(s);
}

static const sp_http_protocol http1 = {read_some, write_rest, end_late, stop, release};

bool sp_http__http1_open(sp_http_connection *c)
{
	session *s = sp_alloc_zero(1, sizeof(*s));

	if (s == NULL)
		return false;
	s->c = c;
	s->loop = c->loop;
	s->fresh = true;
	sp_buffer_init(&s->head, SIZE_MAX / 2);
	s->request = sp_http__request_take(s->loop);
	if (s->request == NULL) {
		free_session(s);
		return false;
	}
	s->request->ops = &owner_ops;
	s->request->owner = s;
	s->request->socket = c->fd;
	s->request->secure = c->tls != NULL;
	c->protocol = &http1;
	c->session = s;
	return true;
}
