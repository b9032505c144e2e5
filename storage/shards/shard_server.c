#include "storage/shards/shard_server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

enum {
	FIRST_IN = 64 << 10,
	READS_AT_ONCE = 4,
	KEPT_OUT = 1 << 20,
	ENOUGH_OUT = 4 << 20, /* a connection with that much to send is not read from */
	CONNECTIONS = 1024,
	EVENTS = 64,
	BACKLOG = 128,
	MS = 1000000,
	STALLED_MS = 10000,
	LOOK_MS = 1000, /* between looks for what is over */
};

/* ---- what there is ---- */

typedef struct connection {
	struct connection *next;
	int fd;
	uint32_t events; /* that it waits for */
	char *in;
	size_t in_size, in_capacity;
	sp_buffer out;
	size_t sent;      /* of out */
	int64_t since_ns; /* when the unfinished question in `in` began; 0: there is none */
	int64_t moved_ns; /* when answers were last sent, while some are waiting */
} connection;

typedef struct desk {
	sp_shard_server *server;
	int epoll;
	connection *connections;
	connection *closed; /* freed after the events of this round */
	sp_shard_memory memory;
} desk;

struct sp_shard_server {
	sp_shard_address address;
	sp_shard_holdings *holdings;
	int listener, wake;
	desk *desks; /* one per thread */
	size_t desk_count;
	sp_thread_group *threads;
	atomic_bool closing;
	atomic_size_t next_desk;
	atomic_uint_least64_t connections, malformed, bytes_sent;
};

/* ---- connections ---- */

static void end(desk *d, connection *c)
{
	connection **at = &d->connections;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->next = d->closed;
	d->closed = c;
	close(c->fd);
	atomic_fetch_sub(&d->server->connections, 1);
}

static void free_closed(desk *d)
{
	while (d->closed != NULL) {
		connection *c = d->closed;

		d->closed = c->next;
		sp_buffer_fini(&c->out);
		sp_free(c->in);
		sp_free(c);
	}
}

static void take_connection(desk *d)
{
	const int one = 1;
	struct epoll_event event = {.events = EPOLLIN};
	int fd = accept4(d->server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	connection *c = NULL;

	if (fd < 0)
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (atomic_fetch_add(&d->server->connections, 1) < CONNECTIONS)
		c = sp_alloc_zero(1, sizeof(*c));
	event.data.ptr = c;
	if (c == NULL || epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
		atomic_fetch_sub(&d->server->connections, 1);
		close(fd);
		sp_free(c);
		return;
	}
	c->fd = fd;
	c->events = EPOLLIN;
	sp_buffer_init(&c->out, (size_t)SP_SHARD_MAX_ANSWER + ENOUGH_OUT + KEPT_OUT);
	c->next = d->connections;
	d->connections = c;
}

/* False: the connection is gone. */
static bool flush(desk *d, connection *c)
{
	while (c->sent < c->out.size) {
		ssize_t n = send(c->fd, c->out.data + c->sent, c->out.size - c->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		c->sent += (size_t)n;
		atomic_fetch_add_explicit(&d->server->bytes_sent, (uint64_t)n,
					  memory_order_relaxed);
	}
	c->sent = 0;
	if (c->out.capacity > KEPT_OUT)
		sp_buffer_fini(&c->out);
	else
		sp_buffer_clear(&c->out);
	return true;
}

static bool has_enough_out(const connection *c)
{
	return c->out.size - c->sent >= ENOUGH_OUT;
}

/* ---- questions ---- */

/* Answers what `in` has whole questions of, as far as the answers fit; false: it is malformed. */
static bool answer(desk *d, connection *c)
{
	size_t at = 0;
	sp_shard_header header;
	bool good = true;

	while (good && c->in_size - at >= SP_SHARD_HEADER && !has_enough_out(c)) {
		sp_bytes body;

		good = sp_shard_header_read(&header, c->in + at, true);
		if (!good || c->in_size - at - SP_SHARD_HEADER < header.size)
			break;
		body = (sp_bytes){c->in + at + SP_SHARD_HEADER, header.size};
		good = sp_shard_holdings_answer(d->server->holdings, &header, body, &c->out,
						&d->memory);
		at += SP_SHARD_HEADER + header.size;
	}
	memmove(c->in, c->in + at, c->in_size - at);
	c->in_size -= at;
	if (at != 0)
		c->since_ns = c->in_size != 0 ? sp_clock_now_ns() : 0;
	if (!good)
		atomic_fetch_add(&d->server->malformed, 1);
	return good;
}

/* Answers and sends until there is nothing to answer, or the peer does not read. */
static bool serve(desk *d, connection *c)
{
	size_t before;

	do {
		before = c->in_size;
		if (!answer(d, c) || !flush(d, c))
			return false;
	} while (c->in_size < before && c->out.size == 0);
	return true;
}

/* Room for the rest of the question that has begun, or for some. */
static bool make_room(connection *c)
{
	size_t needed = FIRST_IN;
	sp_shard_header header;
	char *in;

	if (c->in_size >= SP_SHARD_HEADER && sp_shard_header_read(&header, c->in, true) &&
	    needed < SP_SHARD_HEADER + header.size)
		needed = SP_SHARD_HEADER + header.size;
	if (c->in_size < c->in_capacity && needed <= c->in_capacity)
		return true;
	if (needed <= c->in_capacity)
		needed = c->in_capacity * 2;
	in = sp_alloc_resize(c->in, needed, 1);
	if (in == NULL)
		return false;
	c->in = in;
	c->in_capacity = needed;
	return true;
}

/* False: the connection is over. */
static bool read_some(desk *d, connection *c)
{
	for (int i = 0; i < READS_AT_ONCE && !has_enough_out(c); i++) {
		ssize_t n;

		if (!make_room(c))
			return false;
		n = recv(c->fd, c->in + c->in_size, c->in_capacity - c->in_size, 0);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		if (c->since_ns == 0)
			c->since_ns = sp_clock_now_ns();
		c->in_size += (size_t)n;
		if (!serve(d, c))
			return false;
	}
	return true;
}

static void wait_for(desk *d, connection *c)
{
	struct epoll_event event = {.data.ptr = c};

	if (!has_enough_out(c))
		event.events |= EPOLLIN;
	if (c->sent < c->out.size)
		event.events |= EPOLLOUT;
	if ((event.events & ~c->events & EPOLLOUT) != 0)
		c->moved_ns = sp_clock_now_ns();
	if (event.events != c->events && epoll_ctl(d->epoll, EPOLL_CTL_MOD, c->fd, &event) == 0)
		c->events = event.events;
}

static void on_event(desk *d, connection *c, uint32_t events)
{
	bool good = true;

	/* Questions that have waited for room come before new ones. */
	if ((events & EPOLLOUT) != 0) {
		c->moved_ns = sp_clock_now_ns();
		good = flush(d, c) && serve(d, c);
	}
	if (good && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		good = read_some(d, c);
	if (good)
		wait_for(d, c);
	else
		end(d, c);
}

/* ---- threads ---- */

static void end_stalled(desk *d, int64_t now_ns)
{
	for (connection *c = d->connections, *next; c != NULL; c = next) {
		bool is_sending = c->sent < c->out.size;
		int64_t since_ns = is_sending ? c->moved_ns : c->since_ns;

		next = c->next;
		if (since_ns != 0 && now_ns - since_ns > (int64_t)STALLED_MS * MS)
			end(d, c);
	}
}

static void desk_main(void *context)
{
	sp_shard_server *server = context;
	desk *d = &server->desks[atomic_fetch_add(&server->next_desk, 1)];
	int64_t look_ns = 0;

	while (!atomic_load(&server->closing)) {
		struct epoll_event events[EVENTS];
		int count = epoll_wait(d->epoll, events, EVENTS, LOOK_MS);
		int64_t now_ns = sp_clock_now_ns();

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == server)
				take_connection(d);
			else if (events[i].data.ptr != NULL)
				on_event(d, events[i].data.ptr, events[i].events);
		}
		if (now_ns >= look_ns) {
			end_stalled(d, now_ns);
			(void)sp_shard_holdings_expire(server->holdings, now_ns);
			look_ns = now_ns + (int64_t)LOOK_MS * MS;
		}
		free_closed(d);
	}
}

/* ---- life ---- */

/* Removes the socket that a killed process has left behind. */
static void remove_leftover(const struct sockaddr_un *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)path, sizeof(*path)) != 0 &&
	    errno == ECONNREFUSED)
		(void)unlink(path->sun_path);
	if (fd >= 0)
		close(fd);
}

static int listen_at_path(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, path, strnlen(path, sizeof(address.sun_path) - 1));
	remove_leftover(&address);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int listen_at_port(sp_shard_address *address)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *list = NULL;
	struct sockaddr_storage bound = {0};
	socklen_t size = sizeof(bound);
	const int one = 1;
	char port[12];
	int fd = -1;

	snprintf(port, sizeof(port), "%d", address->port);
	if (getaddrinfo(address->host, port, &hints, &list) != 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd >= 0 &&
	    (bind(fd, list->ai_addr, list->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0 ||
	     getsockname(fd, (struct sockaddr *)&bound, &size) != 0)) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	if (bound.ss_family == AF_INET)
		address->port = ntohs(((struct sockaddr_in *)(void *)&bound)->sin_port);
	else if (bound.ss_family == AF_INET6)
		address->port = ntohs(((struct sockaddr_in6 *)(void *)&bound)->sin6_port);
	return fd;
}

static sp_status open_desk(desk *d, sp_shard_server *server, sp_error *err)
{
	struct epoll_event wake = {.events = EPOLLIN};
	struct epoll_event listener = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = server};

	d->server = server;
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->desk_count++;
	if (d->epoll < 0 || epoll_ctl(d->epoll, EPOLL_CTL_ADD, server->wake, &wake) != 0 ||
	    epoll_ctl(d->epoll, EPOLL_CTL_ADD, server->listener, &listener) != 0)
		return sp_error_set(err, SP_IO, "a thread for other processors: %s",
				    strerror(errno));
	return SP_OK;
}

static sp_status start(sp_shard_server *server, const sp_shard_server_options *options,
		       sp_error *err)
{
	size_t threads = options->threads != 0 ? options->threads : 1;
	char text[SP_SHARD_ADDRESS_TEXT];

	server->address = *options->address;
	SP_TRY(sp_shard_holdings_create(&server->holdings, options->keep_ns, err));
	server->listener = server->address.port < 0 ? listen_at_path(server->address.host)
						    : listen_at_port(&server->address);
	if (server->listener < 0)
		return sp_error_set(err, SP_IO, "cannot listen at %s: %s",
				    sp_shard_address_text(&server->address, text), strerror(errno));
	server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server->desks = sp_alloc_zero(threads, sizeof(*server->desks));
	SP_NEED_MEMORY(server->desks, err, "threads for other processors");
	for (size_t i = 0; i < threads; i++)
		SP_TRY(open_desk(&server->desks[i], server, err));
	return sp_thread_group_create(&server->threads, threads, "sp-shards", desk_main, server,
				      err);
}

sp_status sp_shard_server_create(sp_shard_server **out, const sp_shard_server_options *options,
				 sp_error *err)
{
	sp_shard_server *server = sp_alloc_zero(1, sizeof(*server));
	sp_status status;

	SP_NEED_MEMORY(server, err, "a server for other processors");
	server->listener = server->wake = -1;
	status = start(server, options, err);
	if (status != SP_OK) {
		sp_shard_server_destroy(server);
		return status;
	}
	*out = server;
	return SP_OK;
}

static void close_desk(desk *d)
{
	while (d->connections != NULL)
		end(d, d->connections);
	free_closed(d);
	sp_shard_memory_fini(&d->memory);
	if (d->epoll >= 0)
		close(d->epoll);
}

void sp_shard_server_destroy(sp_shard_server *server)
{
	const uint64_t one = 1;

	if (server == NULL)
		return;
	atomic_store(&server->closing, true);
	if (server->wake >= 0 && write(server->wake, &one, sizeof(one)) < 0)
		sp_log(SP_LOG_WARNING, "the threads for other processors end late: %s",
		       strerror(errno));
	sp_thread_group_destroy(server->threads);
	for (size_t i = 0; i < server->desk_count; i++)
		close_desk(&server->desks[i]);
	if (server->listener >= 0) {
		close(server->listener);
		if (server->address.port < 0)
			(void)unlink(server->address.host);
	}
	if (server->wake >= 0)
		close(server->wake);
	sp_shard_holdings_destroy(server->holdings);
	sp_free(server->desks);
	sp_free(server);
}

const sp_shard_address *sp_shard_server_address(const sp_shard_server *server)
{
	return &server->address;
}

sp_shard_holdings *sp_shard_server_holdings(sp_shard_server *server)
{
	return server->holdings;
}

void sp_shard_server_count(sp_shard_server *server, sp_shard_server_counters *out)
{
	*out = (sp_shard_server_counters){.connections = server->connections,
					  .malformed = server->malformed,
					  .bytes_sent = server->bytes_sent};
	sp_shard_holdings_count(server->holdings, &out->rows);
}
