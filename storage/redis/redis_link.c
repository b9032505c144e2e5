#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/redis/redis_internal.h"

/*
 * One connection.  Values are parsed in the received bytes, and handed to the oldest command in
 * flight.
 */

enum {
	MS = 1000000,
	FIRST_PAUSE_MS = 10,
	MAX_OUT = 256 << 20,     /* bytes queued */
	MAX_IN = 1 << 30,        /* bytes received but not handled: an incomplete value, and more */
	READ_BYTES = 64 << 10,   /* bytes read at once */
	MAX_IN_FLIGHT = 1 << 20, /* commands */
	MAX_FREE_BYTES = 4 << 20, /* of an empty buffer */
};

/* ---- commands in flight ---- */

static bool push_in_flight(sp_redis_link *link, sp_redis_batch *batch, size_t command, bool is_last)
{
	int64_t now_ns = sp_clock_now_ns();
	sp_redis_sent_command *sent = sp_ring_push(&link->in_flight, sizeof(*sent));

	if (sent == NULL)
		return false;
	if (link->in_flight.count == 1)
		link->heard_ns = now_ns;
	*sent = (sp_redis_sent_command){batch, (uint32_t)command, is_last, now_ns};
	return true;
}

static sp_redis_sent_command pop_in_flight(sp_redis_link *link)
{
	return *(sp_redis_sent_command *)sp_ring_pop(&link->in_flight,
						     sizeof(sp_redis_sent_command));
}

/* ---- commands ---- */

/* Queues a command of the link itself; an error reply to it ends the connection. */
static bool queue_own(sp_redis_link *link, bool is_last, size_t count, const char *const *words)
{
	sp_buffer_printf(&link->out, "*%zu\r\n", count);
	for (size_t i = 0; i < count; i++)
		sp_buffer_printf(&link->out, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
	return !link->out.failed && push_in_flight(link, NULL, 0, is_last);
}

bool sp_redis__link_send(sp_redis_link *link, sp_redis_batch *batch, size_t command, bool asking)
{
	static const char *const words[] = {"ASKING"};
	const sp_redis_command *c = &batch->commands[command];
	size_t before;

	if (link->out.size + c->size > MAX_OUT || link->in_flight.count >= MAX_IN_FLIGHT)
		return false;
	if (asking && !queue_own(link, false, 1, words))
		return false;
	before = link->out.size;
	sp_buffer_append(&link->out, batch->bytes.data + c->offset, c->size);
	if (!link->out.failed && push_in_flight(link, batch, command, false)) {
		sp_redis__count(&link->client->commands, 1);
		return true;
	}
	link->out.failed = false;
	link->out.size = before;
	return false;
}

static void watch(sp_redis_link *link, int operation, bool wants_write)
{
	struct epoll_event event = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0),
				    .data.ptr = link};

	link->wants_write = wants_write;
	epoll_ctl(link->client->epoll, operation, link->fd, &event);
}

void sp_redis__link_flush(sp_redis_link *link)
{
	while (link->fd >= 0 && link->sent < link->out.size) {
		ssize_t n = send(link->fd, link->out.data + link->sent, link->out.size - link->sent,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN && errno != ENOTCONN) {
			sp_redis__link_disconnect(link, strerror(errno));
			return;
		}
		if (n < 0)
			break;
		link->sent += (size_t)n;
		sp_redis__count(&link->client->bytes_sent, (uint64_t)n);
	}
	if (link->fd < 0)
		return;
	if (link->sent == link->out.size) {
		link->sent = 0;
		sp_buffer_clear(&link->out);
		if (link->out.capacity > MAX_FREE_BYTES)
			sp_buffer_fini(&link->out);
	}
	if (link->wants_write != (link->out.size != 0))
		watch(link, EPOLL_CTL_MOD, link->out.size != 0);
}

/* ---- reading ---- */

static void become_ready(sp_redis_link *link)
{
	char name[SP_REDIS_NAME_SIZE];

	link->state = SP_REDIS_READY;
	link->failed = 0;
	sp_redis__count(&link->client->connects, 1);
	if (link->logged_down)
		sp_log(SP_LOG_INFO, "Redis at %s can be reached again",
		       sp_redis_server_name(&link->server, name));
	link->logged_down = false;
	if (!link->is_extra)
		sp_redis__client_on_link_change(link->client, false, true);
}

/* A reply is complete; false: the connection is lost. */
static bool end_reply(sp_redis_link *link)
{
	sp_redis_client *client = link->client;
	sp_redis_sent_command sent;

	if (link->in_flight.count == 0) {
		sp_redis__link_disconnect(link, "it has sent what nobody asked for");
		return false;
	}
	sent = pop_in_flight(link);
	if (sent.batch == NULL) {
		if (link->error[0] != '\0') {
			char reason[sizeof(link->error)];

			memcpy(reason, link->error, sizeof(reason));
			sp_redis__link_disconnect(link, reason);
			return false;
		}
		if (sent.is_last)
			become_ready(link);
		return true;
	}
	sp_redis__count(&client->round_trip_count, 1);
	sp_redis__count(&client->round_trip_ns, (uint64_t)(link->heard_ns - sent.sent_ns));
	sp_redis__client_on_reply(link, &sent);
	link->error[0] = '\0';
	return link->fd >= 0;
}

static void handle_value(sp_redis_link *link, const sp_redis_value *value)
{
	const sp_redis_sent_command *sent;

	/* The text is kept: the error may be a redirection, which the command must not see. */
	if (value->depth == 0 && value->kind == SP_REDIS_ERROR) {
		size_t most = sizeof(link->error) - 1;

		snprintf(link->error, sizeof(link->error), "%.*s",
			 (int)(value->size < most ? value->size : most), value->text);
		if (link->error[0] == '\0')
			strcpy(link->error, "ERR");
		return;
	}
	if (link->in_flight.count == 0)
		return;
	sent = sp_ring_oldest(&link->in_flight, sizeof(*sent));
	if (sent->batch != NULL)
		sp_redis__batch_on_value(sent->batch, sent->command, value);
}

/* Handles all complete values; false: the connection is lost. */
static bool read_replies(sp_redis_link *link)
{
	for (;;) {
		sp_redis_value value;
		size_t size = sp_redis_reply_next(&link->parser, link->in.data + link->taken,
						  link->in.size - link->taken, &value);

		if (size == 0)
			return true;
		if (size == SP_REDIS_MALFORMED) {
			sp_redis__link_disconnect(link, "it does not speak Redis's protocol");
			return false;
		}
		link->taken += size;
		handle_value(link, &value);
		if (link->parser.depth == 0 && !end_reply(link))
			return false;
	}
}

/* Removes the handled bytes. */
static void shift_input(sp_redis_link *link)
{
	link->in.size -= link->taken;
	if (link->taken != 0 && link->in.size != 0)
		memmove(link->in.data, link->in.data + link->taken, link->in.size);
	link->taken = 0;
	if (link->in.size == 0 && link->in.capacity > MAX_FREE_BYTES)
		sp_buffer_fini(&link->in);
}

/* Reads once; if there is more, epoll reports it again. */
static void read_input(sp_redis_link *link)
{
	char *input = sp_buffer_reserve(&link->in, READ_BYTES);
	ssize_t n;

	if (input == NULL) {
		sp_redis__link_disconnect(link, "no memory for its answers");
		return;
	}
	n = recv(link->fd, input, READ_BYTES, 0);
	link->in.size -= (size_t)(READ_BYTES - (n > 0 ? n : 0));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		sp_redis__link_disconnect(link,
					  n < 0 ? strerror(errno) : "it has closed the connection");
		return;
	}
	link->heard_ns = sp_clock_now_ns();
	sp_redis__count(&link->client->bytes_received, (uint64_t)n);
	if (read_replies(link))
		shift_input(link);
}

void sp_redis__link_on_event(sp_redis_link *link, uint32_t events)
{
	if ((events & EPOLLOUT) != 0)
		sp_redis__link_flush(link);
	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && link->fd >= 0)
		read_input(link);
}

/* ---- connecting ---- */

/* The address for this attempt: the addresses of a name are tried in turn. */
static int find_address(const sp_redis_link *link, struct sockaddr_storage *out, socklen_t *size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list = NULL, *chosen;
	char port[16];
	size_t count = 0, turn;
	int fault;

	if (link->server.port == 0) {
		struct sockaddr_un *path = (struct sockaddr_un *)out;

		*path = (struct sockaddr_un){.sun_family = AF_UNIX};
		memcpy(path->sun_path, link->server.host,
		       strnlen(link->server.host, sizeof(path->sun_path) - 1));
		*size = sizeof(*path);
		return 0;
	}
	snprintf(port, sizeof(port), "%d", link->server.port);
	fault = getaddrinfo(link->server.host, port, &hints, &list);
	if (fault != 0)
		return fault;
	for (chosen = list; chosen != NULL; chosen = chosen->ai_next)
		count++;
	turn = count != 0 ? link->failed % count : 0;
	for (chosen = list; turn > 0; turn--)
		chosen = chosen->ai_next;
	memcpy(out, chosen->ai_addr, chosen->ai_addrlen);
	*size = chosen->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

/* Queues the commands with which a connection begins. */
static bool send_handshake(sp_redis_link *link)
{
	const sp_redis_client *client = link->client;
	const sp_redis_address *address = &client->address;
	const char *const auth[] = {"AUTH", address->password};
	const char *const auth_user[] = {"AUTH", address->user, address->password};
	const char *const read_only[] = {"READONLY"};
	const char *const ping[] = {"PING"};
	bool good = true;

	if (address->user[0] != '\0')
		good = queue_own(link, false, 3, auth_user);
	else if (address->password[0] != '\0')
		good = queue_own(link, false, 2, auth);
	if (good && address->db != 0) {
		char db[24];
		const char *const select[] = {"SELECT", db};

		snprintf(db, sizeof(db), "%" PRId64, address->db);
		good = queue_own(link, false, 2, select);
	}
	if (good && client->options.is_cluster && client->options.read_replicas)
		good = queue_own(link, false, 1, read_only);
	return good && queue_own(link, true, 1, ping);
}

void sp_redis__link_connect(sp_redis_link *link)
{
	struct sockaddr_storage address;
	socklen_t size;
	int one = 1, fault;

	/* Resolving may take long; a link that is down does not change meanwhile. */
	pthread_mutex_unlock(&link->client->work);
	fault = find_address(link, &address, &size);
	pthread_mutex_lock(&link->client->work);
	if (fault != 0) {
		sp_redis__link_disconnect(link, gai_strerror(fault));
		return;
	}
	link->fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (link->fd < 0) {
		sp_redis__link_disconnect(link, strerror(errno));
		return;
	}
	if (link->server.port != 0) {
		setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		setsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	}
	if (connect(link->fd, (struct sockaddr *)&address, size) != 0 && errno != EINPROGRESS) {
		sp_redis__link_disconnect(link, strerror(errno));
		return;
	}
	link->state = SP_REDIS_CONNECTING;
	link->next_ns = sp_clock_now_ns() + link->client->options.connect_ms * MS;
	if (!send_handshake(link)) {
		sp_redis__link_disconnect(link, "no memory");
		return;
	}
	watch(link, EPOLL_CTL_ADD, true);
}

/* ---- losing ---- */

static void log_down(sp_redis_link *link, const char *reason)
{
	char name[SP_REDIS_NAME_SIZE];

	if (link->logged_down || link->is_extra || link->client->closing)
		return;
	sp_log(SP_LOG_WARNING, "Redis at %s cannot be reached: %s",
	       sp_redis_server_name(&link->server, name), reason);
	link->logged_down = true;
}

void sp_redis__link_disconnect(sp_redis_link *link, const char *reason)
{
	char name[SP_REDIS_NAME_SIZE], text[SP_REDIS_HOST_SIZE + 320];
	sp_redis_link_state before = link->state;
	size_t count = link->in_flight.count;

	snprintf(text, sizeof(text), "Redis at %s: %.280s",
		 sp_redis_server_name(&link->server, name), reason);
	snprintf(link->why, sizeof(link->why), "%.150s", reason);
	/* A connection that was up is reconnected at once; only if that fails a line is logged. */
	if (before != SP_REDIS_READY)
		log_down(link, reason);
	link->state = SP_REDIS_DOWN;
	link->next_ns = sp_clock_now_ns();
	if (link->failed != 0) /* a connection that was up is reconnected at once */
		link->next_ns += sp_backoff_ns(link->failed, FIRST_PAUSE_MS,
					       link->client->options.longest_pause_ms,
					       &link->client->random);
	link->client->has_new_timer = true;
	link->failed++;
	link->error[0] = '\0';
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	sp_buffer_clear(&link->out);
	sp_buffer_clear(&link->in);
	link->sent = link->taken = 0;
	link->parser.depth = 0;
	sp_redis__count(&link->client->losses, 1);
	if (!link->is_extra)
		sp_redis__client_on_link_change(link->client, before == SP_REDIS_READY, false);
	/* Commands that the callbacks add meanwhile are not among these. */
	for (; count > 0; count--) {
		sp_redis_sent_command one = pop_in_flight(link);

		if (one.batch != NULL)
			sp_redis__client_on_lost(link->client, &one, text);
	}
}

int64_t sp_redis__link_on_time(sp_redis_link *link, int64_t now_ns)
{
	int64_t silent_ns = link->heard_ns + link->client->options.silence_ms * MS;

	if (link->state == SP_REDIS_DOWN) {
		if (!link->is_listed)
			return INT64_MAX;
		if (now_ns >= link->next_ns)
			sp_redis__link_connect(link);
		return link->next_ns;
	}
	if (link->state == SP_REDIS_CONNECTING) {
		if (now_ns < link->next_ns)
			return link->next_ns;
		sp_redis__link_disconnect(link, "no connection in time");
		return link->next_ns;
	}
	if (link->in_flight.count == 0)
		return INT64_MAX;
	if (now_ns < silent_ns)
		return silent_ns;
	sp_redis__link_disconnect(link, "it does not answer");
	return link->next_ns;
}

/* ---- life ---- */

sp_status sp_redis__link_create(sp_redis_link **out, sp_redis_client *client,
				const sp_redis_server *server, sp_error *err)
{
	sp_redis_link *link = sp_alloc_zero(1, sizeof(*link));

	SP_NEED_MEMORY(link, err, "a connection to Redis");
	link->client = client;
	link->server = *server;
	link->fd = -1;
	link->is_listed = true;
	sp_buffer_init(&link->out, (size_t)MAX_OUT * 2);
	sp_buffer_init(&link->in, MAX_IN);
	*out = link;
	return SP_OK;
}

void sp_redis__link_destroy(sp_redis_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	sp_buffer_fini(&link->out);
	sp_buffer_fini(&link->in);
	sp_ring_fini(&link->in_flight);
	sp_free(link);
}
