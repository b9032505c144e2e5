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
	MAX_PENDING_OUT = 4 << 20, /* a connection with more to send is not read from */
	MAX_CONNECTIONS = 1024,
	EVENTS = 64,
	BACKLOG = 128,
	MS = 1000000,
	STALLED_MS = 10000,
	CHECK_MS = 1000, /* between checks for stalled connections and expired versions */
};

typedef struct connection {
	struct connection *next;
	int fd;
	uint32_t events; /* registered with epoll */
	char *in;
	size_t in_size, in_capacity;
	sp_buffer out;
	size_t sent;         /* of out */
	int64_t since_ns;    /* when the unfinished request in `in` began; 0: there is none */
	int64_t progress_ns; /* when bytes were last sent, while some are waiting */
} connection;

typedef struct worker {
	sp_shard_server *server;
	int epoll;
	connection *connections;
	connection *closed; /* freed after the events of this round */
	sp_shard_memory memory;
} worker;

struct sp_shard_server {
	sp_shard_address address;
	sp_shard_versions *versions;
	int listener, wake;
	worker *workers; /* one per thread */
	size_t worker_count;
	sp_thread_group *threads;
	atomic_bool closing;
	atomic_size_t next_worker;
	atomic_uint_least64_t connections, malformed, bytes_sent;
};

/* ---- connections ---- */

static void end(worker *w, connection *c)
{
	connection **at = &w->connections;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->next = w->closed;
	w->closed = c;
	close(c->fd);
	atomic_fetch_sub(&w->server->connections, 1);
}

static void free_closed(worker *w)
{
	while (w->closed != NULL) {
		connection *c = w->closed;

		w->closed = c->next;
		sp_buffer_fini(&c->out);
		sp_free(c->in);
		sp_free(c);
	}
}

static void accept_connection(worker *w)
{
	const int one = 1;
	struct epoll_event event = {.events = EPOLLIN};
	int fd = accept4(w->server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	connection *c = NULL;

	if (fd < 0)
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (atomic_fetch_add(&w->server->connections, 1) < MAX_CONNECTIONS)
		c = sp_alloc_zero(1, sizeof(*c));
	event.data.ptr = c;
	if (c == NULL || epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
		atomic_fetch_sub(&w->server->connections, 1);
		close(fd);
		sp_free(c);
		return;
	}
	c->fd = fd;
	c->events = EPOLLIN;
	sp_buffer_init(&c->out, (size_t)SP_SHARD_MAX_RESPONSE + MAX_PENDING_OUT + KEPT_OUT);
	c->next = w->connections;
	w->connections = c;
}

/* False: the connection is gone. */
static bool flush(worker *w, connection *c)
{
	while (c->sent < c->out.size) {
		ssize_t n = send(c->fd, c->out.data + c->sent, c->out.size - c->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		c->sent += (size_t)n;
		atomic_fetch_add_explicit(&w->server->bytes_sent, (uint64_t)n,
					  memory_order_relaxed);
	}
	c->sent = 0;
	if (c->out.capacity > KEPT_OUT)
		sp_buffer_fini(&c->out);
	else
		sp_buffer_clear(&c->out);
	return true;
}

static bool is_output_full(const connection *c)
{
	return c->out.size - c->sent >= MAX_PENDING_OUT;
}

/* ---- requests ---- */

/* Responds to the complete requests in `in`, until the output is full; false: one is malformed. */
static bool respond(worker *w, connection *c)
{
	size_t at = 0;
	sp_shard_header header;
	bool good = true;

	while (good && c->in_size - at >= SP_SHARD_HEADER && !is_output_full(c)) {
		sp_bytes body;

		good = sp_shard_header_read(&header, c->in + at, true);
		if (!good || c->in_size - at - SP_SHARD_HEADER < header.size)
			break;
		body = (sp_bytes){c->in + at + SP_SHARD_HEADER, header.size};
		good = sp_shard_versions_respond(w->server->versions, &header, body, &c->out,
						 &w->memory);
		at += SP_SHARD_HEADER + header.size;
	}
	memmove(c->in, c->in + at, c->in_size - at);
	c->in_size -= at;
	if (at != 0)
		c->since_ns = c->in_size != 0 ? sp_clock_now_ns() : 0;
	if (!good)
		atomic_fetch_add(&w->server->malformed, 1);
	return good;
}

/* Responds until no complete request is left, or the peer does not read; false: disconnect. */
static bool serve(worker *w, connection *c)
{
	size_t before;

	do {
		before = c->in_size;
		if (!respond(w, c) || !flush(w, c))
			return false;
	} while (c->in_size < before && c->out.size == 0);
	return true;
}

/* Makes room in `in` for the rest of an incomplete request, or for new ones. */
static bool reserve_input(connection *c)
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
static bool read_input(worker *w, connection *c)
{
	for (int i = 0; i < READS_AT_ONCE && !is_output_full(c); i++) {
		ssize_t n;

		if (!reserve_input(c))
			return false;
		n = recv(c->fd, c->in + c->in_size, c->in_capacity - c->in_size, 0);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		if (c->since_ns == 0)
			c->since_ns = sp_clock_now_ns();
		c->in_size += (size_t)n;
		if (!serve(w, c))
			return false;
	}
	return true;
}

static void update_events(worker *w, connection *c)
{
	struct epoll_event event = {.data.ptr = c};

	if (!is_output_full(c))
		event.events |= EPOLLIN;
	if (c->sent < c->out.size)
		event.events |= EPOLLOUT;
	if ((event.events & ~c->events & EPOLLOUT) != 0)
		c->progress_ns = sp_clock_now_ns();
	if (event.events != c->events && epoll_ctl(w->epoll, EPOLL_CTL_MOD, c->fd, &event) == 0)
		c->events = event.events;
}

static void on_event(worker *w, connection *c, uint32_t events)
{
	bool good = true;

	/* Requests that were received while the output was full come first. */
	if ((events & EPOLLOUT) != 0) {
		c->progress_ns = sp_clock_now_ns();
		good = flush(w, c) && serve(w, c);
	}
	if (good && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		good = read_input(w, c);
	if (good)
		update_events(w, c);
	else
		end(w, c);
}

/* ---- threads ---- */

static void end_stalled(worker *w, int64_t now_ns)
{
	for (connection *c = w->connections, *next; c != NULL; c = next) {
		bool is_sending = c->sent < c->out.size;
		int64_t since_ns = is_sending ? c->progress_ns : c->since_ns;

		next = c->next;
		if (since_ns != 0 && now_ns - since_ns > (int64_t)STALLED_MS * MS)
			end(w, c);
	}
}

static void worker_main(void *context)
{
	sp_shard_server *server = context;
	worker *w = &server->workers[atomic_fetch_add(&server->next_worker, 1)];
	int64_t check_ns = 0;

	while (!atomic_load(&server->closing)) {
		struct epoll_event events[EVENTS];
		int count = epoll_wait(w->epoll, events, EVENTS, CHECK_MS);
		int64_t now_ns = sp_clock_now_ns();

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == server)
				accept_connection(w);
			else if (events[i].data.ptr != NULL)
				on_event(w, events[i].data.ptr, events[i].events);
		}
		if (now_ns >= check_ns) {
			end_stalled(w, now_ns);
			(void)sp_shard_versions_expire(server->versions, now_ns);
			check_ns = now_ns + (int64_t)CHECK_MS * MS;
		}
		free_closed(w);
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

static sp_status open_worker(worker *w, sp_shard_server *server, sp_error *err)
{
	struct epoll_event wake = {.events = EPOLLIN};
	struct epoll_event listener = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = server};

	w->server = server;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->worker_count++;
	if (w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, server->wake, &wake) != 0 ||
	    epoll_ctl(w->epoll, EPOLL_CTL_ADD, server->listener, &listener) != 0)
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
	SP_TRY(sp_shard_versions_create(&server->versions, options->keep_ns, err));
	server->listener = server->address.port < 0 ? listen_at_path(server->address.host)
						    : listen_at_port(&server->address);
	if (server->listener < 0)
		return sp_error_set(err, SP_IO, "cannot listen at %s: %s",
				    sp_shard_address_text(&server->address, text), strerror(errno));
	server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server->workers = sp_alloc_zero(threads, sizeof(*server->workers));
	SP_NEED_MEMORY(server->workers, err, "threads for other processors");
	for (size_t i = 0; i < threads; i++)
		SP_TRY(open_worker(&server->workers[i], server, err));
	return sp_thread_group_create(&server->threads, threads, "sp-shards", worker_main, server,
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

static void close_worker(worker *w)
{
	while (w->connections != NULL)
		end(w, w->connections);
	free_closed(w);
	sp_shard_memory_fini(&w->memory);
	if (w->epoll >= 0)
		close(w->epoll);
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
	for (size_t i = 0; i < server->worker_count; i++)
		close_worker(&server->workers[i]);
	if (server->listener >= 0) {
		close(server->listener);
		if (server->address.port < 0)
			(void)unlink(server->address.host);
	}
	if (server->wake >= 0)
		close(server->wake);
	sp_shard_versions_destroy(server->versions);
	sp_free(server->workers);
	sp_free(server);
}

const sp_shard_address *sp_shard_server_address(const sp_shard_server *server)
{
	return &server->address;
}

sp_shard_versions *sp_shard_server_versions(sp_shard_server *server)
{
	return server->versions;
}

void sp_shard_server_count(sp_shard_server *server, sp_shard_server_counters *out)
{
	*out = (sp_shard_server_counters){.connections = server->connections,
					  .malformed = server->malformed,
					  .bytes_sent = server->bytes_sent};
	sp_shard_versions_count(server->versions, &out->rows);
}
