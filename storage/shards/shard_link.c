#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/shards/shard_client_internal.h"

/* One connection to a holder of a slice. */

enum {
	MS = 1000000,
	FIRST_PAUSE_MS = 10,
	MAX_OUT = 256 << 20,     /* bytes queued for one peer */
	MAX_IN_FLIGHT = 1 << 20, /* requests */
	KEPT_OUT = 4 << 20,
	FIRST_IN = 256 << 10,
	KEPT_IN = 4 << 20,
	READS_AT_ONCE = 8,
	ERROR_BYTES = 2048,
	HANDSHAKE_ID = 0, /* ids of calls begin with 1 */
};

/* ---- requests in flight ---- */

static sp_shard_call *pop_in_flight(sp_shard_link *link)
{
	return *(sp_shard_call **)sp_ring_pop(&link->in_flight, sizeof(sp_shard_call *));
}

/* The ring has room. */
static void push_in_flight(sp_shard_link *link, sp_shard_call *call)
{
	if (link->in_flight.count == 0)
		link->heard_ns = sp_clock_now_ns();
	*(sp_shard_call **)sp_ring_push(&link->in_flight, sizeof(call)) = call;
}

bool sp_shard__link_send(sp_shard_link *link, sp_shard_call *call)
{
	size_t waiting = link->out.size - link->sent;

	if (link->in_flight.count >= MAX_IN_FLIGHT || waiting + call->frame.size > MAX_OUT ||
	    !sp_ring_reserve(&link->in_flight, sizeof(call)))
		return false;
	if (link->sent != 0 && waiting == 0) {
		sp_buffer_clear(&link->out);
		link->sent = 0;
	}
	sp_buffer_append(&link->out, call->frame.data, call->frame.size);
	if (link->out.failed) {
		sp_shard__link_disconnect(link, "no memory");
		return false;
	}
	push_in_flight(link, call);
	return true;
}

static bool send_handshake(sp_shard_link *link)
{
	if (!sp_ring_reserve(&link->in_flight, sizeof(sp_shard_call *)))
		return false;
	sp_shard_version_write(&link->out, HANDSHAKE_ID, SP_SHARD_HANDSHAKE_STEP, 0);
	push_in_flight(link, NULL);
	return !link->out.failed;
}

/* ---- output ---- */

static bool is_open(const sp_shard_link *link)
{
	return link->state == SP_SHARD_HANDSHAKE || link->state == SP_SHARD_READY;
}

static void watch_writable(sp_shard_link *link, bool wants)
{
	struct epoll_event event = {.events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = link};

	if (wants == link->wants_write)
		return;
	if (epoll_ctl(link->client->epoll, EPOLL_CTL_MOD, link->fd, &event) == 0)
		link->wants_write = wants;
}

void sp_shard__link_flush(sp_shard_link *link)
{
	while (is_open(link) && link->sent < link->out.size) {
		ssize_t n = send(link->fd, link->out.data + link->sent, link->out.size - link->sent,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			watch_writable(link, true);
			return;
		}
		if (n < 0) {
			sp_shard__link_disconnect(link, strerror(errno));
			return;
		}
		link->sent += (size_t)n;
	}
	if (!is_open(link) || link->out.size == 0)
		return;
	link->sent = 0;
	if (link->out.capacity > KEPT_OUT)
		sp_buffer_fini(&link->out);
	else
		sp_buffer_clear(&link->out);
	watch_writable(link, false);
}

/* ---- input ---- */

/* Reads the header of the response to the oldest request in flight; false: it is not one. */
static bool read_header(sp_shard_header *out, const sp_shard_link *link, const char *bytes)
{
	const sp_shard_call *call;

	if (!sp_shard_header_read(out, bytes, false) || link->in_flight.count == 0)
		return false;
	call = *(sp_shard_call **)sp_ring_oldest(&link->in_flight, sizeof(call));
	if (call == NULL)
		return out->id == HANDSHAKE_ID && out->kind == SP_SHARD_ERROR &&
		       out->size <= ERROR_BYTES;
	if (out->id != call->id)
		return false;
	return out->kind == SP_SHARD_ERROR
		       ? out->size <= ERROR_BYTES
		       : out->kind == call->kind && out->size <= call->max_bytes;
}

static void become_ready(sp_shard_link *link)
{
	char name[SP_SHARD_ADDRESS_TEXT];

	link->state = SP_SHARD_READY;
	link->failed = 0;
	if (link->logged_down)
		sp_log(SP_LOG_INFO, "the holder of slice %u at %s is reached again", link->slice,
		       sp_shard_address_text(&link->address, name));
	link->logged_down = false;
	sp_shard__count(&link->client->connects, 1);
	sp_shard__count(&link->client->peers_up, 1);
	sp_shard__count(&link->client->up_of[link->slice], 1);
}

/* False: it is malformed. */
static bool handle_response(sp_shard_link *link, uint8_t kind, sp_bytes body)
{
	sp_shard_call *call = pop_in_flight(link);
	sp_shard_error_code fault;
	sp_bytes text;

	if (call != NULL)
		return sp_shard__call_on_response(call, link, kind, body);
	if (!sp_shard_error_read(&fault, &text, body))
		return false;
	become_ready(link);
	return true;
}

/* Handles the complete responses in `in`; false: one is malformed. */
static bool read_responses(sp_shard_link *link)
{
	size_t at = 0;
	bool good = true;

	while (good && link->in_size - at >= SP_SHARD_HEADER) {
		sp_shard_header header;
		sp_bytes body;

		if (!read_header(&header, link, link->in + at))
			return false;
		if (link->in_size - at - SP_SHARD_HEADER < header.size)
			break;
		body = (sp_bytes){link->in + at + SP_SHARD_HEADER, header.size};
		at += SP_SHARD_HEADER + header.size;
		good = handle_response(link, header.kind, body);
	}
	memmove(link->in, link->in + at, link->in_size - at);
	link->in_size -= at;
	return good;
}

static bool reserve_input(sp_shard_link *link)
{
	size_t needed = FIRST_IN;
	sp_shard_header header;
	char *in;

	if (link->in_size >= SP_SHARD_HEADER && read_header(&header, link, link->in) &&
	    needed < SP_SHARD_HEADER + header.size)
		needed = SP_SHARD_HEADER + header.size;
	if (link->in_size == 0 && link->in_capacity > KEPT_IN) {
		sp_free(link->in);
		link->in = NULL;
		link->in_capacity = 0;
	}
	if (needed <= link->in_capacity)
		return true;
	in = sp_alloc_resize(link->in, needed, 1);
	if (in == NULL)
		return false;
	link->in = in;
	link->in_capacity = needed;
	return true;
}

static void read_input(sp_shard_link *link)
{
	for (int i = 0; i < READS_AT_ONCE; i++) {
		ssize_t n;

		if (!reserve_input(link)) {
			sp_shard__link_disconnect(link, "no memory for an answer");
			return;
		}
		n = recv(link->fd, link->in + link->in_size, link->in_capacity - link->in_size, 0);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return;
		if (n <= 0) {
			sp_shard__link_disconnect(link, n == 0 ? "it has closed the connection"
							       : strerror(errno));
			return;
		}
		link->heard_ns = sp_clock_now_ns();
		link->in_size += (size_t)n;
		sp_shard__count(&link->client->bytes_received, (uint64_t)n);
		if (!read_responses(link)) {
			sp_shard__link_disconnect(link, "what it sends is no answer");
			return;
		}
		if (!is_open(link))
			return;
	}
}

/* ---- connecting ---- */

static void log_down(sp_shard_link *link, const char *reason)
{
	char name[SP_SHARD_ADDRESS_TEXT];

	if (link->logged_down || atomic_load(&link->client->closing))
		return;
	sp_log(SP_LOG_WARNING, "the holder of slice %u at %s cannot be reached: %s", link->slice,
	       sp_shard_address_text(&link->address, name), reason);
	link->logged_down = true;
}

static void connect_to(sp_shard_link *link, const struct sockaddr *to, socklen_t size)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = link};
	const int one = 1;
	int fault;

	link->state = SP_SHARD_CONNECTING;
	link->next_ns = sp_clock_now_ns() + link->client->options.connect_ms * MS;
	link->fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (link->fd < 0) {
		sp_shard__link_disconnect(link, strerror(errno));
		return;
	}
	(void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	fault = connect(link->fd, to, size);
	if ((fault != 0 && errno != EINPROGRESS) ||
	    epoll_ctl(link->client->epoll, EPOLL_CTL_ADD, link->fd, &event) != 0) {
		sp_shard__link_disconnect(link, strerror(errno));
		return;
	}
	link->wants_write = true;
}

static void connect_to_path(sp_shard_link *link)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX};

	memcpy(path.sun_path, link->address.host,
	       strnlen(link->address.host, sizeof(path.sun_path) - 1));
	connect_to(link, (const struct sockaddr *)&path, sizeof(path));
}

void sp_shard__link_resolve(sp_shard_link *link)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	char port[12];
	size_t count = 0;

	snprintf(port, sizeof(port), "%d", link->address.port);
	if (getaddrinfo(link->address.host, port, &hints, &list) != 0)
		list = NULL;
	pthread_mutex_lock(&link->client->lock);
	for (const struct addrinfo *one = list; one != NULL && count < SP_SHARD_ADDRESSES;
	     one = one->ai_next) {
		memcpy(&link->found[count], one->ai_addr, one->ai_addrlen);
		link->found_size[count++] = one->ai_addrlen;
	}
	link->found_count = count;
	link->is_found = true;
	pthread_mutex_unlock(&link->client->lock);
	if (list != NULL)
		freeaddrinfo(list);
}

/* The name is resolved for every attempt, because its addresses may change. */
static void start_connecting(sp_shard_link *link)
{
	if (link->address.port < 0) {
		connect_to_path(link);
		return;
	}
	link->state = SP_SHARD_RESOLVING;
	link->next_ns = INT64_MAX;
	link->is_found = false;
	if (!sp_queue_try_push(link->client->names, link))
		sp_shard__link_disconnect(link, "its name cannot be looked up now");
}

static void connect_to_resolved(sp_shard_link *link)
{
	struct sockaddr_storage to;
	socklen_t size = 0;
	bool is_found;

	pthread_mutex_lock(&link->client->lock);
	is_found = link->is_found;
	if (is_found && link->found_count != 0) {
		size_t turn = link->failed % link->found_count;

		to = link->found[turn];
		size = link->found_size[turn];
	}
	pthread_mutex_unlock(&link->client->lock);
	if (!is_found)
		return;
	if (size != 0)
		connect_to(link, (const struct sockaddr *)&to, size);
	else
		sp_shard__link_disconnect(link, "its name is unknown");
}

void sp_shard__link_on_event(sp_shard_link *link, uint32_t events)
{
	int fault = 0;
	socklen_t size = sizeof(fault);

	if (link->state == SP_SHARD_CONNECTING) {
		if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &fault, &size) != 0)
			fault = errno;
		if (fault != 0) {
			sp_shard__link_disconnect(link, strerror(fault));
			return;
		}
		link->state = SP_SHARD_HANDSHAKE;
		if (!send_handshake(link)) {
			sp_shard__link_disconnect(link, "no memory");
			return;
		}
	}
	if (is_open(link) && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		read_input(link);
	if (is_open(link) && (events & EPOLLOUT) != 0) {
		sp_shard__link_flush(link);
		if (is_open(link) && link->out.size == 0)
			watch_writable(link, false);
	}
}

void sp_shard__link_disconnect(sp_shard_link *link, const char *reason)
{
	char name[SP_SHARD_ADDRESS_TEXT], text[SP_SHARD_ADDRESS_TEXT + 128];
	bool was_up = link->state == SP_SHARD_READY;
	size_t count = link->in_flight.count;

	snprintf(text, sizeof(text), "slice %u at %s: %.100s", link->slice,
		 sp_shard_address_text(&link->address, name), reason);
	/* A connection that was up is reconnected at once; only if that fails a line is logged. */
	if (!was_up)
		log_down(link, reason);
	link->state = SP_SHARD_DOWN;
	link->next_ns = sp_clock_now_ns() + sp_backoff_ns(link->failed, FIRST_PAUSE_MS,
							  link->client->options.longest_pause_ms,
							  &link->client->random);
	link->failed++;
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	link->wants_write = false;
	link->in_size = 0;
	sp_buffer_clear(&link->out);
	link->sent = 0;
	sp_shard__count(&link->client->losses, 1);
	if (was_up) {
		atomic_fetch_sub(&link->client->peers_up, 1);
		atomic_fetch_sub(&link->client->up_of[link->slice], 1);
	}
	/* Calls that the callbacks add meanwhile are not among these. */
	for (; count > 0; count--) {
		sp_shard_call *call = pop_in_flight(link);

		if (call != NULL)
			sp_shard__call_on_failure(call, link, text);
	}
}

int64_t sp_shard__link_on_time(sp_shard_link *link, int64_t now_ns)
{
	int64_t silent_ns = link->heard_ns + link->client->options.silence_ms * MS;

	if (link->state == SP_SHARD_RESOLVING)
		connect_to_resolved(link);
	if (link->state == SP_SHARD_DOWN) {
		if (now_ns >= link->next_ns)
			start_connecting(link);
		return link->next_ns;
	}
	if (link->state == SP_SHARD_CONNECTING) {
		if (now_ns < link->next_ns)
			return link->next_ns;
		sp_shard__link_disconnect(link, "no connection in time");
		return link->next_ns;
	}
	if (!is_open(link) || link->in_flight.count == 0)
		return INT64_MAX;
	if (link->state == SP_SHARD_HANDSHAKE)
		silent_ns = link->next_ns;
	if (now_ns < silent_ns)
		return silent_ns;
	/*
	 * A holder that hangs accepts a new connection, so disconnecting alone would log nothing.
	 */
	log_down(link, "it does not answer");
	sp_shard__link_disconnect(link, "it does not answer");
	return link->next_ns;
}

/* ---- life ---- */

void sp_shard__link_init(sp_shard_link *link, sp_shard_client *client, const sp_shard_address *at)
{
	link->client = client;
	link->address = *at;
	link->fd = -1;
	sp_buffer_init(&link->out, (size_t)MAX_OUT * 2);
}

void sp_shard__link_fini(sp_shard_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	sp_buffer_fini(&link->out);
	sp_ring_fini(&link->in_flight);
	sp_free(link->in);
}
