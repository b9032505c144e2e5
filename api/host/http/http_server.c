#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include "api/host/http/http2_memory.h"
#include "api/host/http/http_internal.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

/* ---------------------------------------------------------------- listening */

/* Returns -1 and sets errno on failure. */
static int listen_at(const struct addrinfo *address, bool reuse_port)
{
	int fd, on = 1, saved;

	fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if ((!reuse_port || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0) &&
	    bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, 1024) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static sp_status open_port(int *out, const sp_http_address *address, bool reuse_port, sp_error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *list, *at;
	char port[8];
	int failure;

	snprintf(port, sizeof(port), "%u", (unsigned)address->port);
	failure = getaddrinfo(address->host, port, &hints, &list);
	if (failure != 0)
		return sp_error_set(err, SP_INVALID, "%s: %s", address->host,
				    gai_strerror(failure));
	for (at = list; at != NULL && *out < 0; at = at->ai_next)
		*out = listen_at(at, reuse_port);
	freeaddrinfo(list);
	if (*out < 0)
		return sp_error_set(err, SP_IO, "cannot listen on %s port %s: %s", address->host,
				    port, strerror(errno));
	return SP_OK;
}

/* Whether a socket has the path on which nobody listens any more. */
static bool is_abandoned(const struct sockaddr_un *address)
{
	struct stat status;
	bool refused;
	int fd;

	if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
		  errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return refused;
}

static sp_status open_path(int *out, const char *path, sp_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct addrinfo info = {.ai_family = AF_UNIX,
				.ai_addr = (struct sockaddr *)&address,
				.ai_addrlen = sizeof(address)};
	size_t size = strlen(path);

	if (size == 0 || size >= sizeof(address.sun_path))
		return sp_error_set(err, SP_INVALID,
				    "unix:%s: the path of a socket has 1 to %zu bytes", path,
				    sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, size + 1);
	if (is_abandoned(&address))
		unlink(path);
	*out = listen_at(&info, false);
	if (*out < 0)
		return sp_error_set(err, SP_IO, "cannot listen on unix:%s: %s", path,
				    strerror(errno));
	return SP_OK;
}

static uint16_t bound_port(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	memset(&address, 0, sizeof(address));
	getsockname(fd, (struct sockaddr *)&address, &size);
	if (address.ss_family == AF_UNIX)
		return 0;
	if (address.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
	return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

static sp_status open_address(sp_http_server *server, size_t i, sp_error *err)
{
	const sp_http_address *address = &server->options.addresses[i];
	const char *path = sp_http_address_path(address);

	server->addresses[i] = *address;
	if (server->options.sockets != NULL && server->options.sockets[i] != 0) {
		server->listen_fds[i] = server->options.sockets[i];
	} else if (path != NULL) {
		SP_TRY(open_path(&server->listen_fds[i], path, err));
		server->paths[i] = sp_alloc_text(path);
		if (server->paths[i] == NULL) {
			unlink(path);
			return sp_no_memory(err, "the server");
		}
	} else {
		SP_TRY(open_port(&server->listen_fds[i], address, server->options.reuse_port, err));
	}
	server->addresses[i].port = bound_port(server->listen_fds[i]);
	return SP_OK;
}

static void close_listeners(sp_http_server *server)
{
	for (size_t i = 0; i < SP_MAX_ADDRESSES; i++) {
		if (server->listen_fds[i] >= 0)
			close(server->listen_fds[i]);
		server->listen_fds[i] = -1;
	}
}

/* ---------------------------------------------------------------- accepting */

static void set_accepting(sp_http_loop *loop, bool accepting)
{
	if (loop->accepting == accepting || (accepting && loop->stopping))
		return;
	loop->accepting = accepting;
	for (size_t i = 0; i < loop->listener_count; i++)
		if (accepting)
			event_add(loop->listeners[i].event, NULL);
		else
			event_del(loop->listeners[i].event);
}

static void accept_again(int fd, short what, void *context)
{
	(void)fd;
	(void)what;
	set_accepting(context, true);
}

/* Pauses until a connection is closed, or for a tenth of a second. */
static void pause_accepting(sp_http_loop *loop)
{
	struct timeval tenth = {0, 100000};

	loop->closed_one = false;
	set_accepting(loop, false);
	event_add(loop->accept_again, &tenth);
}

static void drop(sp_http_connection *spare, sp_http_loop *loop)
{
	atomic_fetch_add_explicit(&loop->server->dropped, 1, memory_order_relaxed);
	sp_http__connection_destroy(spare);
}

/*
 * The kernel assigns the lowest free number to a new descriptor, so a number among the last
 * `reserve` means that at most `reserve` descriptors are left.
 */
static bool is_in_reserve(const sp_http_loop *loop, int fd, size_t reserve)
{
	const sp_http_options *options = loop->options;

	return options->descriptors != 0 && (size_t)fd >= options->descriptors - reserve;
}

/* Moves the socket to the number of the connection just dropped, if that is lower. */
static int move_to_lowest(int fd)
{
	int lowest = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (lowest < 0)
		return fd;
	close(fd);
	return lowest;
}

/* Whether accept4() failed because the system or the process has no descriptor left. */
static bool is_exhausted(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* False when no more can be accepted now. */
static bool accept_one(const sp_http_listener *listener)
{
	sp_http_loop *loop = listener->loop;
	sp_http_connection *spare = sp_http__connection_spare(loop);
	size_t reserve = loop->options->reserve_descriptors;
	bool full = loop->connection_count >= loop->max_connections;
	int fd, on = 1;

	if (full && spare == NULL) {
		pause_accepting(loop);
		return false;
	}
	fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (!is_exhausted(errno))
			return false;
		if (spare != NULL)
			drop(spare, loop);
		else
			pause_accepting(loop);
		return spare != NULL;
	}
	if (spare != NULL && (full || is_in_reserve(loop, fd, reserve))) {
		drop(spare, loop);
		fd = move_to_lowest(fd);
	} else if (is_in_reserve(loop, fd, reserve / 2)) { /* no spare in this loop */
		atomic_fetch_add_explicit(&loop->server->turned_away, 1, memory_order_relaxed);
		close(fd);
		return true;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	sp_http__connection_open(loop, fd, listener->tls);
	return true;
}

/* Accepts a few at a time, so that open connections are served in between. */
static void accept_some(int fd, short what, void *context)
{
	(void)fd;
	(void)what;
	for (int i = 0; i < 16; i++)
		if (!accept_one(context))
			return;
}

/* --------------------------------------------------------------------- loop */

static void close_own_listeners(sp_http_loop *loop)
{
	for (size_t i = 0; i < loop->listener_count; i++) {
		if (loop->listeners[i].event != NULL)
			event_free(loop->listeners[i].event);
		if (loop->listeners[i].fd >= 0)
			close(loop->listeners[i].fd);
	}
	loop->listener_count = 0;
}

static void stop_loop(sp_http_loop *loop)
{
	sp_http_connection *c, *next;

	loop->stopping = true;
	event_del(loop->accept_again);
	set_accepting(loop, false);
	close_own_listeners(loop);
	for (size_t i = 0; i < SP_PHASE_LINGER; i++)
		for (c = TAILQ_FIRST(&loop->in[i]); c != NULL; c = next) {
			next = TAILQ_NEXT(c, link);
			c->protocol->stop(c);
		}
}

/* Takes what has been answered, by this thread if *own; false if nothing has. */
static bool take_answers(sp_http_loop *loop, sp_http_requests *out, bool *own)
{
	STAILQ_INIT(out);
	*own = loop->answers.own_count != 0;
	pthread_mutex_lock(&loop->answers.lock);
	STAILQ_CONCAT(out, &loop->answers.list);
	pthread_mutex_unlock(&loop->answers.lock);
	loop->answers.own_count = 0;
	return !STAILQ_EMPTY(out);
}

/* Passes answers to their owners; an owner may then get the next request, and answer it at once. */
static void pass_answers(sp_http_loop *loop)
{
	sp_http_requests answered;
	sp_http_request *request;
	sp_http_connection *c;
	bool own;

	while (take_answers(loop, &answered, &own)) {
		while ((request = STAILQ_FIRST(&answered)) != NULL) {
			STAILQ_REMOVE_HEAD(&answered, link);
			loop->now_ns = sp_clock_now_ns();
			if (own)
				loop->answers.own_ns = loop->now_ns;
			if (request->owner != NULL) {
				request->ops->answer(request->owner);
			} else {
				sp_http__request_put(loop, request);
				loop->left--;
			}
		}
		while ((c = TAILQ_FIRST(&loop->to_write)) != NULL) {
			TAILQ_REMOVE(&loop->to_write, c, write_link);
			c->wants_writing = false;
			c->protocol->writable(c);
		}
	}
}

/* Another thread has answered requests or wants the loop to stop. */
static void on_wake(int fd, short what, void *context)
{
	sp_http_loop *loop = context;
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof(count)) < 0)
		return;
	if (atomic_load(&loop->server->stopping) && !loop->stopping)
		stop_loop(loop);
}

static void run_loop(void *context)
{
	sp_http_server *server = context;
	sp_http_loop *loop = &server->loops[atomic_fetch_add(&server->next_loop, 1)];

	sp_http__answers_own(&loop->answers);
	while (event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) == 0) {
		pass_answers(loop);
		if (loop->stopping && loop->connection_count == 0 && loop->left == 0)
			break;
		if (loop->closed_one)
			set_accepting(loop, true);
	}
	pthread_mutex_lock(&server->lock);
	server->running--;
	pthread_cond_signal(&server->ended);
	pthread_mutex_unlock(&server->lock);
}

static struct event_base *make_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config != NULL && event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK) == 0)
		base = event_base_new_with_config(config);
	if (config != NULL)
		event_config_free(config);
	return base;
}

static void loop_fini(sp_http_loop *loop)
{
	sp_http_request *request;

	while ((request = STAILQ_FIRST(&loop->spare_requests)) != NULL) {
		STAILQ_REMOVE_HEAD(&loop->spare_requests, link);
		sp_http__request_destroy(request);
	}
	sp_http2_memory_drop_spare(loop);
	sp_buffer_fini(&loop->output);
	sp_free(loop->input);
	close_own_listeners(loop);
	if (loop->wake != NULL)
		event_free(loop->wake);
	if (loop->accept_again != NULL)
		event_free(loop->accept_again);
	if (loop->base != NULL)
		event_base_free(loop->base);
	if (loop->answers.wake_fd >= 0)
		close(loop->answers.wake_fd);
	pthread_mutex_destroy(&loop->answers.lock);
}

static sp_status add_listeners(sp_http_loop *loop, const sp_http_server *server, sp_error *err)
{
	for (size_t i = 0; i < server->options.address_count; i++) {
		sp_http_listener *listener = &loop->listeners[loop->listener_count++];

		listener->loop = loop;
		listener->tls = server->addresses[i].tls;
		listener->fd = fcntl(server->listen_fds[i], F_DUPFD_CLOEXEC, 0);
		if (listener->fd < 0)
			return sp_error_set(err, SP_IO, "cannot listen: %s", strerror(errno));
		listener->event = event_new(loop->base, listener->fd, EV_READ | EV_PERSIST,
					    accept_some, listener);
		if (listener->event == NULL)
			return sp_no_memory(err, "an event loop");
	}
	return SP_OK;
}

/* loop_fini() must be called even after a failure. */
static sp_status loop_init(sp_http_loop *loop, sp_http_server *server, sp_error *err)
{
	const sp_http_options *options = &server->options;

	loop->server = server;
	loop->options = options;
	loop->max_connections = (options->max_connections + options->io_threads - 1) /
				options->io_threads;
	for (size_t i = 0; i < SP_PHASES; i++)
		TAILQ_INIT(&loop->in[i]);
	TAILQ_INIT(&loop->to_write);
	STAILQ_INIT(&loop->spare_requests);
	STAILQ_INIT(&loop->answers.list);
	pthread_mutex_init(&loop->answers.lock, NULL);
	loop->answers.busy = &server->busy;
	loop->answers.own_socket = -1;
	sp_buffer_init(&loop->output, 2 * SP_HTTP_OUTPUT_BYTES);
	loop->answers.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	loop->base = make_base();
	if (loop->answers.wake_fd < 0 || loop->base == NULL)
		return sp_error_set(err, SP_IO, "cannot make an event loop: %s", strerror(errno));
	loop->input = sp_alloc(SP_HTTP_INPUT_BYTES);
	if (loop->input == NULL)
		return sp_no_memory(err, "an event loop");
	loop->wake = event_new(loop->base, loop->answers.wake_fd, EV_READ | EV_PERSIST, on_wake,
			       loop);
	loop->accept_again = event_new(loop->base, -1, 0, accept_again, loop);
	if (loop->wake == NULL || loop->accept_again == NULL || event_add(loop->wake, NULL) != 0)
		return sp_no_memory(err, "an event loop");
	SP_TRY(add_listeners(loop, server, err));
	set_accepting(loop, true);
	return SP_OK;
}

/* ------------------------------------------------------------------- server */

static sp_status start(sp_http_server *server, sp_error *err)
{
	for (size_t i = 0; i < server->options.address_count; i++)
		SP_TRY(open_address(server, i, err));
	for (size_t i = 0; i < server->options.io_threads; i++) {
		server->loop_count++;
		SP_TRY(loop_init(&server->loops[i], server, err));
	}
	server->running = server->loop_count;
	return sp_thread_group_create(&server->threads, server->loop_count, "http", run_loop,
				      server, err);
}

sp_status sp_http_server_create(sp_http_server **out, const sp_http_options *options, sp_error *err)
{
	sp_http_server *server = sp_alloc_zero(1, sizeof(*server) + options->io_threads *
									    sizeof(sp_http_loop));
	sp_status status;

	*out = NULL;
	if (server == NULL)
		return sp_no_memory(err, "the server");
	server->options = *options;
	for (size_t i = 0; i < SP_MAX_ADDRESSES; i++)
		server->listen_fds[i] = -1;
	pthread_mutex_init(&server->lock, NULL);
	sp_condition_init(&server->ended);
	*out = server;
	status = start(server, err);
	close_listeners(server);
	if (status != SP_OK) {
		sp_http_server_destroy(server);
		*out = NULL;
	}
	return status;
}

uint16_t sp_http_server_port(const sp_http_server *server, size_t i)
{
	return server->addresses[i].port;
}

void sp_http_server_drain(sp_http_server *server)
{
	atomic_store(&server->draining, true);
}

bool sp_http_server_stop(sp_http_server *server, int64_t timeout_ms)
{
	int64_t end_ns = sp_clock_now_ns() + timeout_ms * 1000000;
	struct timespec end = {end_ns / 1000000000, end_ns % 1000000000};
	bool ended;

	sp_http_server_drain(server);
	atomic_store(&server->stopping, true);
	for (size_t i = 0; i < server->loop_count; i++)
		sp_http__answers_wake(&server->loops[i].answers);
	pthread_mutex_lock(&server->lock);
	while (server->running != 0 &&
	       pthread_cond_timedwait(&server->ended, &server->lock, &end) != ETIMEDOUT)
		;
	ended = server->running == 0;
	pthread_mutex_unlock(&server->lock);
	return ended;
}

void sp_http_server_get_load(const sp_http_server *server, sp_http_server_load *out)
{
	*out = (sp_http_server_load){0};
	if (server == NULL)
		return;
	*out = (sp_http_server_load){
		.open = atomic_load(&server->open),
		.busy = atomic_load(&server->busy),
		.dropped = atomic_load(&server->dropped),
		.turned_away = atomic_load(&server->turned_away),
	};
}

void sp_http_server_destroy(sp_http_server *server)
{
	if (server == NULL)
		return;
	sp_thread_group_destroy(server->threads);
	for (size_t i = 0; i < server->loop_count; i++)
		loop_fini(&server->loops[i]);
	for (size_t i = 0; i < SP_MAX_ADDRESSES; i++) {
		if (server->paths[i] != NULL)
			unlink(server->paths[i]);
		sp_free(server->paths[i]);
	}
	pthread_cond_destroy(&server->ended);
	pthread_mutex_destroy(&server->lock);
	sp_free(server);
}
