#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "api/host/http/http_chunks.h"
#include "api/host/http/http_internal.h"
#include "base/alloc.h"
#include "base/clock.h"

/*
 * The phases of a connection form a cycle:
 *
 *	IDLE -> HEAD -> BODY -> WAITING -> WRITING -> IDLE
 *
 * The last phase is LINGER: the final answer has been sent, and for a moment the server reads and
 * drops what the client still sends, because closing a socket with unread data would make the
 * kernel discard the answer.
 *
 * While a request is WAITING the socket is still read until the input buffer is full, so that a
 * disconnect is noticed and no system calls are needed to stop and resume reading.
 */
enum phase { IDLE, HEAD, BODY, WAITING, WRITING, LINGER };

_Static_assert(LINGER + 1 == SP_HTTP_PHASES, "a loop has a list for each phase");

enum { FIRST_INPUT = SP_BUDGET_TINY, READ_BYTES = 64 << 10, LINGER_MS = 1000 };

/* Writes per connection before the loop serves others. */
enum { WRITES = 4 };

/* A connection whose body makes no progress for this long may be closed to make room. */
static const int64_t stalled_ns = 1000 * INT64_C(1000000);

static const char no_memory[] = "no memory for the request: too many are being received";

struct sp_http_connection {
	sp_http_loop *loop;
	int fd;
	enum phase phase;
	struct event *readable, *writable, *timer;
	bool reading; /* `readable` is added */
	bool end_of_input;
	bool keep; /* the connection stays open after this answer */
	int64_t deadline_ns;
	int64_t timer_ns;     /* when the timer fires; if before the deadline, it is set again */
	int64_t last_body_ns; /* when the last bytes of a body arrived */

	char *input; /* received bytes: heads and what follows them */
	size_t input_size, input_capacity;
	size_t scanned; /* bytes that sp_http_head_find() has scanned */

	sp_http_request *request;
	sp_http_chunks chunks;

	sp_buffer head; /* of the answer */
	size_t sent;    /* of head and body */

	TAILQ_ENTRY(sp_http_connection) link; /* in the loop's list of this phase */
};

static void proceed(sp_http_connection *c);

/* -------------------------------------------------------------- housekeeping */

static const sp_http_options *options_of(const sp_http_connection *c)
{
	return &c->loop->server->options;
}

sp_http_connection *sp_http__connection_idle(sp_http_loop *loop)
{
	return TAILQ_FIRST(&loop->in[IDLE]);
}

/* In this order: no request, an incomplete head, a stalled body. */
sp_http_connection *sp_http__connection_spare(sp_http_loop *loop)
{
	static const enum phase phases[] = {LINGER, IDLE, HEAD};
	sp_http_connection *body = TAILQ_FIRST(&loop->in[BODY]);

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (!TAILQ_EMPTY(&loop->in[phases[i]]))
			return TAILQ_FIRST(&loop->in[phases[i]]);
	return body != NULL && sp_clock_now_ns() - body->last_body_ns > stalled_ns ? body : NULL;
}

/* Whether a request has begun to arrive or is being answered. */
static bool is_busy(enum phase phase)
{
	return phase != IDLE && phase != LINGER;
}

static void enter(sp_http_connection *c, enum phase phase)
{
	c->phase = phase;
	TAILQ_INSERT_TAIL(&c->loop->in[phase], c, link);
	if (is_busy(phase))
		atomic_fetch_add_explicit(&c->loop->server->busy, 1, memory_order_relaxed);
}

static void leave(sp_http_connection *c)
{
	TAILQ_REMOVE(&c->loop->in[c->phase], c, link);
	if (is_busy(c->phase))
		atomic_fetch_sub_explicit(&c->loop->server->busy, 1, memory_order_relaxed);
}

static void move(sp_http_connection *c, enum phase phase)
{
	leave(c);
	enter(c, phase);
}

/* Bytes of a body have arrived: moves the connection to the end of the list. */
static void note_progress(sp_http_connection *c)
{
	c->last_body_ns = sp_clock_now_ns();
	TAILQ_REMOVE(&c->loop->in[BODY], c, link);
	TAILQ_INSERT_TAIL(&c->loop->in[BODY], c, link);
}

/* Moving the deadline later is free: the timer is set again when it fires early. */
static void set_deadline(sp_http_connection *c, int64_t deadline_ns)
{
	int64_t left_us;
	struct timeval left;

	c->deadline_ns = deadline_ns;
	if (c->timer_ns != 0 && c->timer_ns <= deadline_ns)
		return;
	left_us = (deadline_ns - sp_clock_now_ns()) / 1000 + 1;
	if (left_us < 0)
		left_us = 0;
	left.tv_sec = left_us / 1000000;
	left.tv_usec = left_us % 1000000;
	c->timer_ns = deadline_ns;
	event_add(c->timer, &left);
}

static int64_t in_ms(int64_t ms)
{
	return sp_clock_now_ns() + ms * 1000000;
}

static void set_reading(sp_http_connection *c, bool reading)
{
	if (c->reading == reading)
		return;
	c->reading = reading;
	if (reading)
		event_add(c->readable, NULL);
	else
		event_del(c->readable);
}

void sp_http__connection_destroy(sp_http_connection *c)
{
	sp_http_loop *loop = c->loop;

	if (c->phase != WAITING)
		sp_http__request_destroy(c->request);
	else if (c->request != NULL && sp_http__request_leave(c->request))
		loop->left++;
	leave(c);
	if (c->readable != NULL)
		event_free(c->readable);
	if (c->writable != NULL)
		event_free(c->writable);
	if (c->timer != NULL)
		event_free(c->timer);
	close(c->fd);
	sp_buffer_fini(&c->head);
	sp_budget_shrink(options_of(c)->memory, c->input_capacity, 0);
	sp_free(c->input);
	sp_free(c);
	loop->connection_count--;
	loop->closed_one = true;
	atomic_fetch_sub_explicit(&loop->server->open, 1, memory_order_relaxed);
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

/* RFC 9110, section 5.6.7; formatted once a second. */
static const char *date_of(sp_http_loop *loop)
{
	time_t now = time(NULL);
	struct tm parts;

	if (now != loop->date_second && gmtime_r(&now, &parts) != NULL) {
		strftime(loop->date, sizeof(loop->date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
		loop->date_second = now;
	}
	return loop->date;
}

static void print_field(sp_buffer *out, const sp_http_header *field)
{
	sp_buffer_append(out, field->name.data, field->name.size);
	sp_buffer_append_text(out, ": ");
	sp_buffer_append(out, field->value.data, field->value.size);
	sp_buffer_append_text(out, "\r\n");
}

static void print_head(sp_http_connection *c)
{
	const sp_http_request *request = c->request;
	const char *type = request->content_type != NULL ? request->content_type
							 : "application/json";

	sp_buffer_clear(&c->head);
	sp_buffer_printf(&c->head, "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\n",
			 request->status, reason_of(request->status), date_of(c->loop), type);
	sp_buffer_printf(&c->head, "Content-Length: %zu\r\n", request->out.size);
	for (size_t i = 0; i < request->header_count; i++)
		print_field(&c->head, &request->fields[i]);
	if (request->retry)
		sp_buffer_append_text(&c->head, "Retry-After: 1\r\n");
	if (options_of(c)->cors)
		sp_buffer_append_text(&c->head, "Access-Control-Allow-Origin: *\r\n"
						"Access-Control-Allow-Methods: POST, GET\r\n"
						"Access-Control-Allow-Headers: Content-Type\r\n");
	if (!c->keep)
		sp_buffer_append_text(&c->head, "Connection: close\r\n");
	else if (request->head.minor == 0)
		sp_buffer_append_text(&c->head, "Connection: keep-alive\r\n");
	sp_buffer_append_text(&c->head, "\r\n");
}

/* Size of the body to send; 0 for HEAD. */
static size_t body_size(const sp_http_connection *c)
{
	return c->request->head.method == SP_HTTP_HEAD ? 0 : c->request->out.size;
}

static ssize_t send_rest(sp_http_connection *c)
{
	struct iovec parts[2];
	struct msghdr message = {.msg_iov = parts};
	size_t head_sent = c->sent < c->head.size ? c->sent : c->head.size;
	size_t out_sent = c->sent - head_sent;

	if (head_sent < c->head.size)
		parts[message.msg_iovlen++] = (struct iovec){c->head.data + head_sent,
							     c->head.size - head_sent};
	if (out_sent < body_size(c))
		parts[message.msg_iovlen++] = (struct iovec){c->request->out.data + out_sent,
							     body_size(c) - out_sent};
	return sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void finish_answer(sp_http_connection *c)
{
	sp_http__request_reset(c->request, options_of(c)->max_body_bytes);
	if (c->keep) {
		set_reading(c, !c->end_of_input);
		move(c, IDLE);
		set_deadline(c, in_ms(options_of(c)->idle_timeout_ms));
		proceed(c);
		return;
	}
	if (c->end_of_input) {
		sp_http__connection_destroy(c);
		return;
	}
	shutdown(c->fd, SHUT_WR);
	c->input_size = 0;
	move(c, LINGER);
	set_deadline(c, in_ms(LINGER_MS));
	set_reading(c, true);
}

static void on_writable(int fd, short what, void *context)
{
	sp_http_connection *c = context;

	(void)fd;
	(void)what;
	for (int writes = 0; c->sent < c->head.size + body_size(c); writes++) {
		ssize_t n = 0;

		if (writes < WRITES)
			n = send_rest(c);
		if (n > 0) {
			c->sent += (size_t)n;
		} else if (n == 0 || errno == EAGAIN || errno == EWOULDBLOCK) {
			event_add(c->writable, NULL);
			return;
		} else if (errno != EINTR) {
			sp_http__connection_destroy(c);
			return;
		}
	}
	finish_answer(c);
}

static void begin_answer(sp_http_connection *c)
{
	move(c, WRITING);
	if (c->request->out.failed) {
		sp_buffer_fini(&c->request->out);
		sp_http__request_set_error(c->request, 503, "no memory for the answer");
	}
	sp_http__request_observe(c->request);
	if (atomic_load(&c->loop->server->draining))
		c->keep = false;
	print_head(c);
	if (c->head.failed) {
		sp_http__connection_destroy(c);
		return;
	}
	c->sent = 0;
	set_deadline(c, in_ms(options_of(c)->request_timeout_ms));
	on_writable(c->fd, EV_WRITE, c);
}

static void on_answer(void *owner)
{
	sp_http_connection *c = owner;

	if (c->request->status == 0) {
		move(c, WRITING);
		sp_http__connection_destroy(c);
	} else {
		begin_answer(c);
	}
}

static void on_deadline_set(void *owner, int64_t deadline_ns)
{
	set_deadline(owner, deadline_ns);
}

static const sp_http_owner_ops owner_ops = {on_answer, on_deadline_set};

/* Answers a request that is not read to its end; the connection closes afterwards. */
static void refuse(sp_http_connection *c, int status, const char *text)
{
	c->keep = false;
	sp_buffer_fini(&c->request->body);
	sp_http__request_set_error(c->request, status, text);
	begin_answer(c);
}

/* 503 if the request may fit later, 413 if it exceeds all memory for requests. */
static void refuse_for_memory(sp_http_connection *c)
{
	if (sp_budget_allows(options_of(c)->memory, c->request->body.size + READ_BYTES))
		refuse(c, 503, no_memory);
	else
		refuse(c, 413, "Request body larger than the memory for requests");
}

/* ------------------------------------------------------------------- reading */

static void drop_input(sp_http_connection *c, size_t n)
{
	c->input_size -= n;
	memmove(c->input, c->input + n, c->input_size);
	c->scanned = 0;
}

/* The input is incomplete; after the end of input the rest will never come. */
static void await_more(sp_http_connection *c)
{
	if (c->end_of_input)
		sp_http__connection_destroy(c);
}

/* RFC 9112, section 2.2: empty lines before a request are ignored. */
static void skip_empty_lines(sp_http_connection *c)
{
	while (c->input_size >= 2 && memcmp(c->input, "\r\n", 2) == 0)
		drop_input(c, 2);
}

static void hand_over(sp_http_connection *c)
{
	sp_http_request *request = c->request;

	c->keep = !request->head.close;
	request->handed_ns = sp_clock_now_ns();
	atomic_store(&request->peer_closed, c->end_of_input);
	atomic_store(&request->state, SP_HTTP_HANDED);
	move(c, WAITING);
	set_deadline(c, request->deadline_ns);
	options_of(c)->handler(options_of(c)->context, request);
}

static uint64_t body_left(const sp_http_connection *c)
{
	return c->request->head.content_length - c->request->body.size;
}

static void read_chunks(sp_http_connection *c)
{
	size_t used;
	sp_http_chunks_result result = sp_http_chunks_feed(
		&c->chunks, (sp_bytes){c->input, c->input_size}, &used, &c->request->body);

	drop_input(c, used);
	switch (result) {
	case SP_HTTP_CHUNKS_MORE:
		await_more(c);
		break;
	case SP_HTTP_CHUNKS_DONE:
		hand_over(c);
		break;
	case SP_HTTP_CHUNKS_BAD:
		refuse(c, 400, "Bad request: malformed chunk");
		break;
	case SP_HTTP_CHUNKS_TOO_LARGE:
		refuse(c, 413, "Request body too large");
		break;
	case SP_HTTP_CHUNKS_NO_MEMORY:
		refuse_for_memory(c);
		break;
	}
}

/* Moves bytes of the body from the input to the request. */
static void read_body(sp_http_connection *c)
{
	size_t n = c->input_size;

	if (c->request->head.chunked) {
		read_chunks(c);
		return;
	}
	if (n > body_left(c))
		n = (size_t)body_left(c);
	sp_buffer_append(&c->request->body, c->input, n);
	if (c->request->body.failed) {
		refuse_for_memory(c);
		return;
	}
	drop_input(c, n);
	if (body_left(c) == 0)
		hand_over(c);
	else
		await_more(c);
}

static void begin_body(sp_http_connection *c)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const sp_http_head *head = &c->request->head;
	uint64_t length = head->content_length; /* 0 if chunked */

	if (length > options_of(c)->max_body_bytes) {
		refuse(c, 413, "Request body too large");
		return;
	}
	if (!sp_budget_allows(options_of(c)->memory, length)) {
		refuse(c, 413, "Request body larger than the memory for requests");
		return;
	}
	/* The client waits for this before it sends the body. */
	if (head->expect_continue && c->input_size == 0 && (head->chunked || length != 0) &&
	    send(c->fd, go_on, sizeof(go_on) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) !=
		    sizeof(go_on) - 1) {
		sp_http__connection_destroy(c);
		return;
	}
	/* A large buffer is freed after the request, so it need not be larger than the body. */
	if (length > SP_BUDGET_SMALL)
		c->request->body.max_size = (size_t)length;
	memset(&c->chunks, 0, sizeof(c->chunks));
	move(c, BODY);
	c->last_body_ns = sp_clock_now_ns();
	set_deadline(c, c->request->deadline_ns);
	read_body(c);
}

static void parse_head(sp_http_connection *c, size_t size)
{
	sp_http_request *request = c->request;
	sp_error err;
	int status;

	sp_buffer_append(&request->head_text, c->input, size);
	if (request->head_text.failed) {
		refuse(c, 503, no_memory);
		return;
	}
	drop_input(c, size);
	status = sp_http_head_parse(&request->head, (sp_bytes){request->head_text.data, size},
				    &err);
	if (status != 0)
		refuse(c, status, err.text);
	else
		begin_body(c);
}

/* Both deadlines of a request count from its first byte. */
static void begin_head(sp_http_connection *c)
{
	const sp_http_options *options = options_of(c);
	int64_t head_ns = in_ms(options->head_timeout_ms);

	c->request->deadline_ns = in_ms(options->request_timeout_ms);
	move(c, HEAD);
	set_deadline(c, head_ns < c->request->deadline_ns ? head_ns : c->request->deadline_ns);
}

static void read_head(sp_http_connection *c)
{
	size_t size;

	skip_empty_lines(c);
	switch (sp_http_head_find((sp_bytes){c->input, c->input_size}, &size, &c->scanned)) {
	case SP_HTTP_SCAN_DONE:
		parse_head(c, size);
		break;
	case SP_HTTP_SCAN_BAD:
		refuse(c, 400, "Bad request: a line does not end in CR LF");
		break;
	case SP_HTTP_SCAN_MORE:
		if (c->input_size < options_of(c)->max_head_bytes)
			await_more(c);
		else if (memchr(c->input, '\n', c->input_size) == NULL)
			refuse(c, 414, "Request target too long");
		else
			refuse(c, 431, "Request header fields too large");
		break;
	}
}

/* Processes the input received so far. */
static void proceed(sp_http_connection *c)
{
	if (c->phase == IDLE)
		skip_empty_lines(c);
	if (c->phase == IDLE && c->input_size != 0)
		begin_head(c);
	if (c->phase == HEAD)
		read_head(c);
	else if (c->phase == BODY)
		read_body(c);
	else if (c->phase == LINGER)
		c->input_size = 0;
	else if (c->phase == IDLE && (c->end_of_input || c->loop->stopping))
		sp_http__connection_destroy(c);
}

/* Enlarges the input buffer; false if it has its full size or there is no memory. */
static bool grow_input(sp_http_connection *c)
{
	size_t most = options_of(c)->max_head_bytes, capacity = c->input_capacity * 2;
	sp_budget *memory = options_of(c)->memory;
	char *input;

	if (c->input_size < c->input_capacity)
		return true;
	if (capacity < FIRST_INPUT)
		capacity = FIRST_INPUT;
	if (capacity > most)
		capacity = most;
	if (capacity <= c->input_capacity ||
	    sp_budget_grow(memory, c->input_capacity, capacity, capacity) == 0)
		return false;
	input = sp_alloc_resize(c->input, capacity, 1);
	if (input == NULL) {
		sp_budget_shrink(memory, capacity, c->input_capacity);
		return false;
	}
	c->input = input;
	c->input_capacity = capacity;
	return true;
}

/* Reads a body of known length without a copy; -1 on an error or when its buffer has failed. */
static ssize_t read_to_body(sp_http_connection *c)
{
	sp_buffer *body = &c->request->body;
	size_t want = body_left(c) < READ_BYTES ? (size_t)body_left(c) : READ_BYTES;
	char *at = sp_buffer_reserve(body, want);
	ssize_t n;

	if (at == NULL)
		return -1;
	n = recv(c->fd, at, want, 0);
	body->size -= want - (n > 0 ? (size_t)n : 0);
	body->data[body->size] = '\0';
	return n;
}

static void on_readable(int fd, short what, void *context)
{
	sp_http_connection *c = context;
	bool answering = c->phase == WAITING || c->phase == WRITING;
	bool to_body = c->phase == BODY && !c->request->head.chunked;
	ssize_t n;

	(void)fd;
	(void)what;
	if (!to_body && !grow_input(c)) {
		if (answering) /* a client that pipelines is read again after its answer */
			set_reading(c, false);
		else if (c->phase == LINGER)
			sp_http__connection_destroy(c);
		else
			refuse(c, 503, no_memory);
		return;
	}
	if (to_body) {
		n = read_to_body(c);
	} else {
		n = recv(c->fd, c->input + c->input_size, c->input_capacity - c->input_size, 0);
		c->input_size += n > 0 ? (size_t)n : 0;
	}
	if (n > 0) {
		if (c->phase == BODY)
			note_progress(c);
		proceed(c);
	} else if (n == 0) {
		c->end_of_input = true;
		set_reading(c, false);
		if (c->phase == WAITING)
			atomic_store(&c->request->peer_closed, true);
		else if (!answering)
			sp_http__connection_destroy(c);
	} else if (c->phase == BODY && c->request->body.failed) {
		refuse_for_memory(c);
	} else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
		sp_http__connection_destroy(c);
	}
}

/* -------------------------------------------------------------------- timers */

/* No thread has begun the request in time: it is answered through a copy. */
static void answer_late(sp_http_connection *c)
{
	/* Copied before: an orphan may be freed at any time. */
	sp_http_request *late = sp_http__request_copy(c->request);

	if (!sp_http__request_orphan(c->request)) {
		sp_http__request_destroy(late);
		return; /* a thread works on it and will answer */
	}
	c->request = late;
	if (late == NULL) {
		sp_http__connection_destroy(c);
		return;
	}
	sp_http__request_set_error(late, 504, "the deadline of the request has passed");
	begin_answer(c);
}

static void on_timer(int fd, short what, void *context)
{
	sp_http_connection *c = context;

	(void)fd;
	(void)what;
	c->timer_ns = 0;
	if (sp_clock_now_ns() < c->deadline_ns) {
		set_deadline(c, c->deadline_ns);
		return;
	}
	switch (c->phase) {
	case HEAD:
	case BODY:
		refuse(c, 408, "the request did not arrive in time");
		break;
	case WAITING:
		answer_late(c);
		break;
	case IDLE:
	case WRITING:
	case LINGER:
		sp_http__connection_destroy(c);
		break;
	}
}

/* ------------------------------------------------------------------- opening */

void sp_http__connection_open(sp_http_loop *loop, int fd)
{
	sp_http_connection *c = sp_alloc_zero(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return;
	}
	c->loop = loop;
	c->fd = fd;
	enter(c, IDLE);
	loop->connection_count++;
	atomic_fetch_add_explicit(&loop->server->open, 1, memory_order_relaxed);
	sp_buffer_init(&c->head, SIZE_MAX / 2);
	c->request = sp_http__request_create(&loop->server->options, &loop->answers);
	c->readable = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_readable, c);
	c->writable = event_new(loop->base, fd, EV_WRITE, on_writable, c);
	c->timer = event_new(loop->base, -1, 0, on_timer, c);
	if (c->request == NULL || c->readable == NULL || c->writable == NULL || c->timer == NULL) {
		sp_http__connection_destroy(c);
		return;
	}
	c->request->ops = &owner_ops;
	c->request->owner = c;
	c->request->socket = fd;
	set_reading(c, true);
	set_deadline(c, in_ms(options_of(c)->idle_timeout_ms));
}
