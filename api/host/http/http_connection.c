#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "api/host/http/http_internal.h"
#include "base/alloc.h"
#include "base/clock.h"

enum { LINGER_MS = 1000 };

/* A connection whose body makes no progress for this long may be closed to make room. */
static const int64_t stalled_ns = 1000 * INT64_C(1000000);

/* -------------------------------------------------------------------- phases */

/* In this order: no request, an incomplete head, a stalled body. */
sp_http_connection *sp_http__connection_spare(sp_http_loop *loop)
{
	static const enum sp_http_phase phases[] = {SP_PHASE_LINGER, SP_PHASE_IDLE, SP_PHASE_HEAD};
	sp_http_connection *body = TAILQ_FIRST(&loop->in[SP_PHASE_BODY]);

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (!TAILQ_EMPTY(&loop->in[phases[i]]))
			return TAILQ_FIRST(&loop->in[phases[i]]);
	return body != NULL && sp_clock_now_ns() - body->last_body_ns > stalled_ns ? body : NULL;
}

/* Whether a request has begun to arrive or is being answered. */
static bool is_busy(enum sp_http_phase phase)
{
	return phase != SP_PHASE_IDLE && phase != SP_PHASE_LINGER;
}

static void enter(sp_http_connection *c, enum sp_http_phase phase)
{
	c->phase = phase;
	TAILQ_INSERT_TAIL(&c->loop->in[phase], c, link);
	if (phase == SP_PHASE_BODY)
		c->last_body_ns = c->loop->now_ns;
}

/* Keeps the server's count of busy connections. */
static void note_busy(sp_http_connection *c, bool was, bool is)
{
	if (is && !was)
		atomic_fetch_add_explicit(&c->loop->server->busy, 1, memory_order_relaxed);
	if (was && !is)
		atomic_fetch_sub_explicit(&c->loop->server->busy, 1, memory_order_relaxed);
}

void sp_http__connection_move(sp_http_connection *c, enum sp_http_phase phase)
{
	note_busy(c, is_busy(c->phase), is_busy(phase));
	TAILQ_REMOVE(&c->loop->in[c->phase], c, link);
	enter(c, phase);
}

/* Moves the connection to the end of the list. */
void sp_http__connection_note_progress(sp_http_connection *c)
{
	c->last_body_ns = c->loop->now_ns;
	TAILQ_REMOVE(&c->loop->in[SP_PHASE_BODY], c, link);
	TAILQ_INSERT_TAIL(&c->loop->in[SP_PHASE_BODY], c, link);
}

void sp_http__connection_write_soon(sp_http_connection *c)
{
	if (c->wants_writing || c->session == NULL)
		return;
	c->wants_writing = true;
	TAILQ_INSERT_TAIL(&c->loop->to_write, c, write_link);
}

/* ---------------------------------------------------------------------- time */

int64_t sp_http__in_ms(int64_t ms)
{
	return sp_clock_now_ns() + ms * 1000000;
}

/* Moving the deadline later is free: the timer is set again when it fires early. */
void sp_http__connection_set_deadline(sp_http_connection *c, int64_t deadline_ns)
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

static void on_timer(int fd, short what, void *context)
{
	sp_http_connection *c = context;

	(void)fd;
	(void)what;
	c->timer_ns = 0;
	c->loop->now_ns = sp_clock_now_ns();
	if (c->loop->now_ns < c->deadline_ns)
		sp_http__connection_set_deadline(c, c->deadline_ns);
	else if (c->phase == SP_PHASE_LINGER)
		sp_http__connection_destroy(c);
	else
		c->protocol->late(c);
}

/* RFC 9110, section 5.6.7; formatted once a second. */
const char *sp_http__date(sp_http_loop *loop)
{
	time_t now = time(NULL);
	struct tm parts;

	if (now != loop->date_second && gmtime_r(&now, &parts) != NULL) {
		strftime(loop->date, sizeof(loop->date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
		loop->date_second = now;
	}
	return loop->date;
}

/* -------------------------------------------------------------------- socket */

void sp_http__connection_set_reading(sp_http_connection *c, bool reading)
{
	if (c->reading == reading)
		return;
	c->reading = reading;
	if (reading)
		event_add(c->readable, NULL);
	if (reading && c->tls != NULL && sp_http__tls_has_more(c->tls))
		event_active(c->readable, EV_READ, 0);
	if (!reading)
		event_del(c->readable);
}

ssize_t sp_http__connection_receive(sp_http_connection *c, void *data, size_t size)
{
	ssize_t n;

	if (c->tls == NULL)
		return recv(c->fd, data, size, 0);
	n = sp_http__tls_receive(c->tls, data, size);
	/* The socket is not readable again for what TLS has read from it already. */
	if (n > 0 && c->reading && sp_http__tls_has_more(c->tls))
		event_active(c->readable, EV_READ, 0);
	return n;
}

ssize_t sp_http__connection_send(sp_http_connection *c, const struct iovec *parts, size_t count)
{
	struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};

	if (c->tls != NULL)
		return sp_http__tls_send(c->tls, parts, count);
	return sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void drop_input(sp_http_connection *c)
{
	char dropped[4096];
	ssize_t n = recv(c->fd, dropped, sizeof(dropped), 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
		sp_http__connection_destroy(c);
}

static void on_readable(int fd, short what, void *context)
{
	sp_http_connection *c = context;

	(void)fd;
	(void)what;
	c->loop->now_ns = sp_clock_now_ns();
	if (c->phase == SP_PHASE_LINGER)
		drop_input(c);
	else
		c->protocol->readable(c);
}

static void on_writable(int fd, short what, void *context)
{
	sp_http_connection *c = context;

	(void)fd;
	(void)what;
	c->loop->now_ns = sp_clock_now_ns();
	if (c->phase != SP_PHASE_LINGER)
		c->protocol->writable(c);
}

/* ------------------------------------------------------------ opening, ending */

/* Ends the session: nothing is written any more. */
static void release(sp_http_connection *c)
{
	if (c->wants_writing)
		TAILQ_REMOVE(&c->loop->to_write, c, write_link);
	c->wants_writing = false;
	if (c->session != NULL)
		c->protocol->release(c);
	c->session = NULL;
}

void sp_http__connection_destroy(sp_http_connection *c)
{
	sp_http_loop *loop = c->loop;

	release(c);
	note_busy(c, is_busy(c->phase), false);
	TAILQ_REMOVE(&loop->in[c->phase], c, link);
	if (c->readable != NULL)
		event_free(c->readable);
	if (c->writable != NULL)
		event_free(c->writable);
	if (c->timer != NULL)
		event_free(c->timer);
	if (c->tls != NULL)
		sp_http__tls_close(c->tls);
	close(c->fd);
	sp_free(c);
	loop->connection_count--;
	loop->closed_one = true;
	atomic_fetch_sub_explicit(&loop->server->open, 1, memory_order_relaxed);
}

void sp_http__connection_finish(sp_http_connection *c)
{
	if (c->end_of_input) {
		sp_http__connection_destroy(c);
		return;
	}
	if (c->tls != NULL)
		sp_http__tls_end(c->tls);
	shutdown(c->fd, SHUT_WR);
	release(c);
	sp_http__connection_move(c, SP_PHASE_LINGER);
	sp_http__connection_set_deadline(c, sp_http__in_ms(LINGER_MS));
	sp_http__connection_set_reading(c, true);
}

/* ------------------------------------------------------------------ handshake */

static void begin_idle(sp_http_connection *c)
{
	sp_http__connection_set_deadline(c, sp_http__in_ms(c->loop->options->idle_timeout_ms));
}

static void end_handshake(sp_http_connection *c)
{
	sp_http__connection_move(c, SP_PHASE_IDLE);
	begin_idle(c);
	if (sp_http__tls_is_http2(c->tls))
		sp_http__http2_open(c, (sp_bytes){"", 0});
	else if (!sp_http__http1_open(c))
		sp_http__connection_destroy(c);
	else if (sp_http__tls_has_more(c->tls))
		event_active(c->readable, EV_READ, 0);
}

static void shake_hands(sp_http_connection *c)
{
	int result = sp_http__tls_shake_hands(c->tls);

	if (result == 1)
		end_handshake(c);
	else if (result == SP_HTTP_TLS_WRITE)
		event_add(c->writable, NULL);
	else if (result < 0)
		sp_http__connection_destroy(c);
}

/* There is no session while the handshake lasts. */
static const sp_http_protocol handshake = {shake_hands, shake_hands, sp_http__connection_destroy,
					   sp_http__connection_destroy, NULL};

static bool begin_tls(sp_http_connection *c, sp_http_tls *tls)
{
	c->tls = sp_http__tls_open(tls, c->fd);
	c->protocol = &handshake;
	sp_http__connection_move(c, SP_PHASE_HEAD);
	sp_http__connection_set_deadline(c, sp_http__in_ms(c->loop->options->head_timeout_ms));
	return c->tls != NULL;
}

static bool begin_plain(sp_http_connection *c)
{
	begin_idle(c);
	return sp_http__http1_open(c);
}

void sp_http__connection_open(sp_http_loop *loop, int fd, sp_http_tls *tls)
{
	sp_http_connection *c = sp_alloc_zero(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return;
	}
	c->loop = loop;
	c->fd = fd;
	enter(c, SP_PHASE_IDLE);
	loop->connection_count++;
	atomic_fetch_add_explicit(&loop->server->open, 1, memory_order_relaxed);
	c->readable = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_readable, c);
	c->writable = event_new(loop->base, fd, EV_WRITE, on_writable, c);
	c->timer = event_new(loop->base, -1, 0, on_timer, c);
	if (c->readable == NULL || c->writable == NULL || c->timer == NULL ||
	    !(tls != NULL ? begin_tls(c, tls) : begin_plain(c))) {
		sp_http__connection_destroy(c);
		return;
	}
	sp_http__connection_set_reading(c, true);
}
