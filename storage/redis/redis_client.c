#include "storage/redis/redis_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/redis/redis_internal.h"

/*
 * The thread sleeps until a server replies or something is due: a connection attempt, a retry of a
 * command, a request for the cluster's map.  While it sleeps, callers send what they submit; if
 * `work` is held, its holder sends it.  If that makes something due, they wake the thread.
 *
 * One caller at a time may read instead of the thread, which then sleeps without polling the
 * connections.  If commands are in flight when this caller stops, it wakes the thread.  So a caller
 * that submits and then reads, or finds another one reading, needs no thread.  Whoever else
 * completes a batch meanwhile wakes the caller that reads: it may be waiting for that batch.
 */

enum {
	MS = 1000000,
	NS_PER_S = 1000000000,
	EVENTS = 64,
	MAX_LINKS = 1024, /* servers of a cluster */

	/*
	 * To a single server.  In one iteration of its loop Redis reads 16 KiB of a connection and
	 * writes 64 KiB to it; with too few connections it waits for its clients in between.
	 */
	CONNECTIONS = 8,
	MAX_REDIRECTIONS = 16, /* of a command */
	RETRY_MS = 2,          /* until a command is retried */
	DOWN_RETRY_MS = 20,    /* the same while its server cannot be reached */
	MAX_WAIT_MS = 1000,
};

/* ---- retries ---- */

static const char *const TOO_LATE = "the deadline has passed before Redis could be asked";

static void retry_later(sp_redis_client *client, sp_redis_batch *batch, size_t command, int64_t ms,
			const char *reason)
{
	int64_t now_ns = sp_clock_now_ns(), deadline_ns = batch->options.deadline_ns;
	size_t more = client->retry_capacity != 0 ? client->retry_capacity * 2 : 64;

	if (client->closing || (deadline_ns != 0 && now_ns >= deadline_ns)) {
		sp_redis__batch_fail(batch, command, reason);
		return;
	}
	if (client->retry_count == client->retry_capacity) {
		sp_redis_retry *retries = sp_alloc_resize(client->retries, more,
							  sizeof(*client->retries));

		if (retries == NULL) {
			sp_redis__batch_fail(batch, command, "no memory");
			return;
		}
		client->retries = retries;
		client->retry_capacity = more;
	}
	client->retries[client->retry_count++] = (sp_redis_retry){batch, command, now_ns + ms * MS};
	client->has_new_timer = true;
}

/* The link for a command, which may be down; NULL: unknown. */
static sp_redis_link *find_link(sp_redis_client *client, const sp_redis_batch *batch,
				size_t command)
{
	if (!client->options.is_cluster) {
		sp_redis_link *link = client->links[batch->turn % client->link_count];

		return batch->options.is_read_only && link->state == SP_REDIS_READY
			       ? link
			       : client->links[0];
	}
	return sp_redis__map_find(client, batch->commands[command].slot,
				  batch->options.is_read_only &&
					  !batch->commands[command].needs_master);
}

/* Whether a server may still send the map of the cluster, which is not known yet. */
static bool may_get_map(const sp_redis_client *client)
{
	for (size_t i = 0; i < client->link_count && !client->has_map; i++)
		if (client->links[i]->state != SP_REDIS_DOWN || client->links[i]->failed == 0)
			return true;
	return false;
}

/* Queues the command at its link, which is not flushed; or for a retry. */
static void route(sp_redis_client *client, sp_redis_batch *batch, size_t command)
{
	char name[SP_REDIS_NAME_SIZE], reason[SP_REDIS_HOST_SIZE + 256];
	sp_redis_link *link = find_link(client, batch, command);

	if (link == NULL) {
		snprintf(reason, sizeof(reason), "no server of the cluster is known for slot %u",
			 (unsigned)batch->commands[command].slot);
		client->map_ns = 0;
		if (batch->options.fail_fast && !may_get_map(client))
			sp_redis__batch_fail(batch, command, reason);
		else
			retry_later(client, batch, command, RETRY_MS, reason);
		return;
	}
	if (link->state != SP_REDIS_DOWN && sp_redis__link_send(link, batch, command, false))
		return;
	if (link->state == SP_REDIS_DOWN)
		snprintf(reason, sizeof(reason), "Redis at %s cannot be reached: %s",
			 sp_redis_server_name(&link->server, name), link->why);
	else
		snprintf(reason, sizeof(reason), "Redis at %s has too many commands to answer",
			 sp_redis_server_name(&link->server, name));
	client->map_ns = 0;
	/* A link that has just been lost is reconnected at once. */
	if (batch->options.fail_fast && (link->state != SP_REDIS_DOWN || link->failed > 1))
		sp_redis__batch_fail(batch, command, reason);
	else
		retry_later(client, batch, command,
			    batch->options.fail_fast ? RETRY_MS : DOWN_RETRY_MS, reason);
}

static void flush_all(sp_redis_client *client)
{
	for (size_t i = 0; i < client->link_count; i++)
		if (client->links[i]->state != SP_REDIS_DOWN &&
		    client->links[i]->out.size != client->links[i]->sent &&
		    !client->links[i]->wants_write)
			sp_redis__link_flush(client->links[i]);
}

/*
 * Whether the deadline has passed.  If the link is down, route() fails the command with that
 * reason.
 */
static bool is_too_late(sp_redis_client *client, const sp_redis_retry *one, int64_t now_ns)
{
	int64_t deadline_ns = one->batch->options.deadline_ns;
	const sp_redis_link *link;

	if (deadline_ns == 0 || now_ns < deadline_ns)
		return false;
	link = find_link(client, one->batch, one->command);
	return link != NULL && link->state != SP_REDIS_DOWN;
}

/* Sends the commands that are due; returns when the next one is. */
static int64_t send_due_retries(sp_redis_client *client, int64_t now_ns)
{
	size_t count = client->retry_count, kept = 0;
	int64_t next_ns = INT64_MAX;

	/* route() may append more. */
	for (size_t i = 0; i < count; i++) {
		sp_redis_retry one = client->retries[i];

		if (one.due_ns > now_ns)
			client->retries[kept++] = one;
		else if (is_too_late(client, &one, now_ns))
			sp_redis__batch_fail(one.batch, one.command, TOO_LATE);
		else
			route(client, one.batch, one.command);
	}
	if (count == 0)
		return INT64_MAX;
	memmove(client->retries + kept, client->retries + count,
		(client->retry_count - count) * sizeof(*client->retries));
	client->retry_count = kept + client->retry_count - count;
	for (size_t i = 0; i < client->retry_count; i++)
		if (client->retries[i].due_ns < next_ns)
			next_ns = client->retries[i].due_ns;
	return next_ns;
}

/* ---- replies ---- */

static bool starts_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Follows MOVED and ASK; false: it is another error, or cannot be followed. */
static bool redirect(sp_redis_link *link, const sp_redis_sent_command *sent)
{
	sp_redis_client *client = link->client;
	bool asks = starts_with(link->error, "ASK "), moved = starts_with(link->error, "MOVED ");
	sp_redis_command *command = &sent->batch->commands[sent->command];
	sp_redis_server server;
	sp_redis_link *to;
	uint32_t slot;

	if ((!asks && !moved) || !client->options.is_cluster ||
	    command->attempts >= MAX_REDIRECTIONS ||
	    !sp_redis__map_read_redirection(&server, &slot, link->error, &link->server))
		return false;
	to = sp_redis__client_link(client, &server);
	if (to == NULL)
		return false;
	command->attempts++;
	command->needs_master = true;
	sp_redis__count(&client->redirections, 1);
	if (moved)
		sp_redis__map_move(client, slot, to);
	/* A new link is connected before retries are sent. */
	if (to->state == SP_REDIS_DOWN ||
	    !sp_redis__link_send(to, sent->batch, sent->command, asks))
		retry_later(client, sent->batch, sent->command, to->failed == 0 ? 0 : RETRY_MS,
			    link->error);
	return true;
}

/* Errors that may pass. */
static bool is_retryable(const char *error)
{
	return starts_with(error, "TRYAGAIN") || starts_with(error, "CLUSTERDOWN") ||
	       starts_with(error, "LOADING") || starts_with(error, "MASTERDOWN");
}

/* Whether the link leads to a replica of the command's slot. */
static bool is_by_replica(sp_redis_link *link, const sp_redis_sent_command *sent)
{
	const sp_redis_command *command = &sent->batch->commands[sent->command];

	return link->client->options.read_replicas && sent->batch->options.is_read_only &&
	       !command->needs_master && command->slot != SP_REDIS_ANY_SLOT &&
	       sp_redis__map_find(link->client, command->slot, false) != link;
}

static void route_to_master(sp_redis_client *client, const sp_redis_sent_command *sent)
{
	sent->batch->commands[sent->command].needs_master = true;
	route(client, sent->batch, sent->command);
}

/* Ends the command, unless the master is to execute it as well. */
static void end_command(sp_redis_link *link, const sp_redis_sent_command *sent)
{
	const char *error = link->error[0] != '\0' ? link->error : NULL;
	const sp_redis_callbacks *callbacks = sent->batch->options.callbacks;
	const sp_redis_reply_info info = {
		.server = &link->server, .error = error, .by_replica = is_by_replica(link, sent)};

	if (callbacks != NULL && callbacks->on_reply_end != NULL &&
	    callbacks->on_reply_end(sent->batch->options.owner, sent->command, &info) &&
	    info.by_replica) {
		route_to_master(link->client, sent);
		return;
	}
	sp_redis__batch_end_command(sent->batch, error);
}

void sp_redis__client_on_reply(sp_redis_link *link, const sp_redis_sent_command *sent)
{
	const sp_redis_value error = {
		.kind = SP_REDIS_ERROR, .text = link->error, .size = strlen(link->error)};
	bool fail_fast = sent->batch->options.fail_fast;

	if (link->error[0] == '\0') {
		end_command(link, sent);
		return;
	}
	if (redirect(link, sent))
		return;
	/* A replica that is loading or has lost its master must not delay the command. */
	if (is_retryable(link->error) && is_by_replica(link, sent)) {
		route_to_master(link->client, sent);
		return;
	}
	if (is_retryable(link->error) && (!fail_fast || starts_with(link->error, "TRYAGAIN"))) {
		retry_later(link->client, sent->batch, sent->command,
			    fail_fast ? RETRY_MS : DOWN_RETRY_MS, link->error);
		return;
	}
	sp_redis__count(&link->client->failures, 1);
	sp_redis__batch_on_value(sent->batch, sent->command, &error);
	end_command(link, sent);
}

void sp_redis__client_on_lost(sp_redis_client *client, const sp_redis_sent_command *sent,
			      const char *reason)
{
	sp_redis_command *command = &sent->batch->commands[sent->command];

	client->map_ns = 0;
	if (sent->batch->options.fail_fast && command->attempts++ != 0)
		sp_redis__batch_fail(sent->batch, sent->command, reason);
	else
		retry_later(client, sent->batch, sent->command,
			    sent->batch->options.fail_fast ? 0 : RETRY_MS, reason);
}

void sp_redis__client_on_link_change(sp_redis_client *client, bool was_up, bool is_up)
{
	if (is_up && !was_up)
		sp_redis__count(&client->servers_up, 1);
	else if (was_up && !is_up)
		atomic_fetch_sub_explicit(&client->servers_up, 1, memory_order_relaxed);
}

/* ---- links ---- */

static sp_redis_link *add_link(sp_redis_client *client, const sp_redis_server *server)
{
	sp_redis_link *link = NULL;
	sp_redis_link **links;

	if (client->link_count == MAX_LINKS)
		return NULL;
	if (client->link_count == client->link_capacity) {
		size_t more = client->link_capacity != 0 ? client->link_capacity * 2 : 8;

		links = sp_alloc_resize(client->links, more, sizeof(sp_redis_link *));
		if (links == NULL)
			return NULL;
		client->links = links;
		client->link_capacity = more;
	}
	if (sp_redis__link_create(&link, client, server, NULL) != SP_OK)
		return NULL;
	client->links[client->link_count++] = link;
	return link;
}

sp_redis_link *sp_redis__client_link(sp_redis_client *client, const sp_redis_server *server)
{
	for (size_t i = 0; i < client->link_count; i++)
		if (client->links[i]->server.port == server->port &&
		    strcmp(client->links[i]->server.host, server->host) == 0) {
			client->links[i]->is_listed = true;
			return client->links[i];
		}
	return add_link(client, server);
}

static sp_status add_links(sp_redis_client *client, sp_error *err)
{
	sp_redis_link *link = NULL;

	for (size_t i = 0; i < client->address.count; i++) {
		link = sp_redis__client_link(client, &client->address.servers[i]);
		SP_NEED_MEMORY(link, err, "a connection to Redis");
	}
	atomic_store(&client->servers, client->link_count);
	if (client->options.is_cluster)
		return SP_OK;
	while (client->link_count < CONNECTIONS) {
		link = add_link(client, &client->address.servers[0]);
		SP_NEED_MEMORY(link, err, "a connection to Redis");
		link->is_extra = true;
	}
	return SP_OK;
}

/* ---- submitted batches ---- */

static void send_submitted(sp_redis_client *client)
{
	sp_redis_batch *batch, *next;

	pthread_mutex_lock(&client->lock);
	batch = client->submitted;
	client->submitted = NULL;
	client->submitted_end = &client->submitted;
	pthread_mutex_unlock(&client->lock);
	for (; batch != NULL; batch = next) {
		next = batch->next;
		batch->turn = client->batches++;
		/* If all commands fail, the batch is released with the last one. */
		for (size_t i = 0, count = batch->count; i < count; i++)
			route(client, batch, i);
	}
	flush_all(client);
}

static void signal_fd(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* the counter is at its maximum */
}

static void reset_fd(const struct pollfd *fd)
{
	uint64_t times;

	if ((fd->revents & POLLIN) != 0 && read(fd->fd, &times, sizeof(times)) < 0)
		return; /* another thread has reset it */
}

static bool has_submitted(sp_redis_client *client)
{
	bool has;

	pthread_mutex_lock(&client->lock);
	has = client->submitted != NULL;
	pthread_mutex_unlock(&client->lock);
	return has;
}

/* A caller unlocks `work`, and then sends what others have submitted while it was locked. */
static void unlock_work(sp_redis_client *client)
{
	for (;;) {
		bool has_new_timer = client->has_new_timer;

		pthread_mutex_unlock(&client->work);
		if (has_new_timer)
			signal_fd(client->wake);
		if (!has_submitted(client) || pthread_mutex_trylock(&client->work) != 0)
			return;
		send_submitted(client);
	}
}

void sp_redis__client_submit(sp_redis_client *client, sp_redis_batch *batch)
{
	bool reads = batch->options.caller_reads, is_asleep, ignores_links;

	pthread_mutex_lock(&client->lock);
	*client->submitted_end = batch;
	client->submitted_end = &batch->next;
	is_asleep = client->is_asleep;
	ignores_links = client->ignores_links;
	pthread_mutex_unlock(&client->lock);
	if (!is_asleep)
		return; /* the thread sends it before it sleeps */
	if (pthread_mutex_trylock(&client->work) == 0) {
		send_submitted(client);
		unlock_work(client);
	}
	if (ignores_links && !reads)
		signal_fd(client->wake);
}

/* ---- reading ---- */

static void handle_events(sp_redis_client *client)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(client->epoll, events, EVENTS, 0);

	for (int i = 0; i < count; i++)
		sp_redis__link_on_event(events[i].data.ptr, events[i].events);
}

/* Called with `lock` held. */
static bool is_reader(const sp_redis_client *client)
{
	return client->has_reader && pthread_equal(client->reader, pthread_self());
}

/* False: another caller reads. */
static bool begin_reading(sp_redis_client *client)
{
	bool is_ours;

	pthread_mutex_lock(&client->lock);
	if (!client->has_reader)
		client->reader = pthread_self();
	client->has_reader = true;
	is_ours = is_reader(client);
	pthread_mutex_unlock(&client->lock);
	return is_ours;
}

void sp_redis_client_stop_reading(sp_redis_client *client)
{
	bool is_ours, has_in_flight = false;

	/* A caller that still finds it set has queued its commands before `work` is taken below. */
	pthread_mutex_lock(&client->lock);
	is_ours = is_reader(client);
	if (is_ours)
		client->has_reader = false;
	pthread_mutex_unlock(&client->lock);
	if (!is_ours)
		return;
	pthread_mutex_lock(&client->work);
	for (size_t i = 0; i < client->link_count; i++)
		has_in_flight = has_in_flight || client->links[i]->in_flight.count != 0;
	unlock_work(client);
	if (has_in_flight)
		signal_fd(client->wake);
}

void sp_redis__client_on_batch_done(sp_redis_client *client)
{
	bool must_wake;

	pthread_mutex_lock(&client->lock);
	must_wake = client->has_reader && !is_reader(client);
	pthread_mutex_unlock(&client->lock);
	if (must_wake)
		signal_fd(client->reader_wake);
}

void sp_redis_client_read(sp_redis_client *client, int64_t deadline_ns,
			  bool (*is_done)(void *owner), void *owner)
{
	struct pollfd fds[] = {{.fd = client->reader_wake, .events = POLLIN},
			       {.fd = client->epoll, .events = POLLIN}};

	if (!begin_reading(client))
		return;
	while (!is_done(owner)) {
		int64_t left_ns = deadline_ns - sp_clock_now_ns();
		const struct timespec left = {left_ns / NS_PER_S, left_ns % NS_PER_S};

		if (left_ns <= 0 || ppoll(fds, 2, &left, NULL) == 0)
			break;
		reset_fd(&fds[0]);
		pthread_mutex_lock(&client->work);
		handle_events(client);
		flush_all(client); /* commands that were redirected */
		unlock_work(client);
	}
}

/* ---- the thread ---- */

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Does what is due; returns when the next thing is. */
static int64_t on_time(sp_redis_client *client)
{
	int64_t now_ns = sp_clock_now_ns(), next_ns = INT64_MAX;

	for (size_t i = 0; i < client->link_count; i++)
		next_ns = min64(next_ns, sp_redis__link_on_time(client->links[i], now_ns));
	if (client->options.is_cluster)
		next_ns = min64(next_ns, sp_redis__map_on_time(client, now_ns));
	return min64(next_ns, send_due_retries(client, now_ns));
}

/*
 * A caller may send to a server that hangs while the thread sleeps.  The thread checks for such
 * servers when it wakes up, so it sleeps for at most half of silence_ms.
 */
static int sleep_ms(const sp_redis_client *client, int64_t next_ns)
{
	int64_t longest_ms = client->options.silence_ms / 2, left_ns = next_ns - sp_clock_now_ns();

	if (longest_ms > MAX_WAIT_MS)
		longest_ms = MAX_WAIT_MS;
	if (next_ns == INT64_MAX || left_ns > longest_ms * MS)
		return (int)longest_ms;
	return left_ns <= 0 ? 0 : (int)((left_ns + MS - 1) / MS);
}

static void wait_for_events(sp_redis_client *client, int64_t next_ns)
{
	struct pollfd fds[] = {{.fd = client->wake, .events = POLLIN},
			       {.fd = client->epoll, .events = POLLIN}};
	bool has_new_timer = client->has_new_timer, must_sleep, ignores_links;

	/* While it sleeps, `work` is taken only to send what is submitted, and to read. */
	pthread_mutex_unlock(&client->work);
	pthread_mutex_lock(&client->lock);
	must_sleep = client->submitted == NULL && !has_new_timer && !client->closing;
	client->is_asleep = must_sleep;
	client->ignores_links = ignores_links = client->has_reader;
	pthread_mutex_unlock(&client->lock);
	poll(fds, ignores_links ? 1 : 2, must_sleep ? sleep_ms(client, next_ns) : 0);
	reset_fd(&fds[0]);
	pthread_mutex_lock(&client->work);
	pthread_mutex_lock(&client->lock);
	client->is_asleep = client->ignores_links = false;
	ignores_links = client->has_reader;
	pthread_mutex_unlock(&client->lock);
	if (!ignores_links)
		handle_events(client);
}

/* All commands fail. */
static void fail_all(sp_redis_client *client)
{
	for (size_t i = 0; i < client->link_count; i++)
		if (client->links[i]->state != SP_REDIS_DOWN)
			sp_redis__link_disconnect(client->links[i], "the client is closed");
	for (size_t i = 0; i < client->retry_count; i++)
		sp_redis__batch_fail(client->retries[i].batch, client->retries[i].command,
				     "the client is closed");
	client->retry_count = 0;
}

static void thread_main(void *context)
{
	sp_redis_client *client = context;

	pthread_mutex_lock(&client->work);
	while (!client->closing) {
		int64_t next_ns;

		client->has_new_timer = false;
		next_ns = on_time(client);
		flush_all(client);
		wait_for_events(client, next_ns);
		send_submitted(client);
	}
	fail_all(client);
	pthread_mutex_unlock(&client->work);
}

/* ---- life ---- */

static sp_status check(const sp_redis_client_options *options, sp_error *err)
{
	if (!options->is_cluster && options->address->count != 1)
		return sp_error_set(
			err, SP_INVALID,
			"the address of Redis has %zu servers, which only a cluster has",
			options->address->count);
	if (options->is_cluster && options->address->db != 0)
		return sp_error_set(err, SP_INVALID,
				    "the address of Redis has a database, which a cluster has not");
	if (options->is_cluster && options->address->servers[0].port == 0)
		return sp_error_set(err, SP_INVALID,
				    "the address of Redis is a unix socket, and a cluster has more "
				    "than one server");
	return SP_OK;
}

static void set_options(sp_redis_client *client, const sp_redis_client_options *options)
{
	client->options = *options;
	client->address = *options->address;
	client->options.address = &client->address;
	if (client->options.connect_ms == 0)
		client->options.connect_ms = 1000;
	if (client->options.silence_ms == 0)
		client->options.silence_ms = 2000;
	if (client->options.longest_pause_ms == 0)
		client->options.longest_pause_ms = 5000;
	client->random = (uint64_t)sp_clock_now_ns() | 1;
	memset(client->shard_of, 0xff, sizeof(client->shard_of));
}

static sp_status start(sp_redis_client *client, sp_error *err)
{
	client->epoll = epoll_create1(EPOLL_CLOEXEC);
	client->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	client->reader_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->epoll < 0 || client->wake < 0 || client->reader_wake < 0)
		return sp_error_set(err, SP_IO, "a client of Redis: %s", strerror(errno));
	SP_TRY(add_links(client, err));
	return sp_thread_group_create(&client->thread, 1, "sp-redis", thread_main, client, err);
}

sp_status sp_redis_client_create(sp_redis_client **out, const sp_redis_client_options *options,
				 sp_error *err)
{
	sp_redis_client *client;
	sp_status status;

	SP_TRY(check(options, err));
	client = sp_alloc_zero(1, sizeof(*client));
	SP_NEED_MEMORY(client, err, "a client of Redis");
	pthread_mutex_init(&client->work, NULL);
	pthread_mutex_init(&client->lock, NULL);
	client->submitted_end = &client->submitted;
	client->epoll = client->wake = client->reader_wake = -1;
	client->owner = getpid();
	set_options(client, options);
	status = start(client, err);
	if (status != SP_OK) {
		sp_redis_client_destroy(client);
		return status;
	}
	*out = client;
	return SP_OK;
}

static void stop(sp_redis_client *client)
{
	pthread_mutex_lock(&client->lock);
	client->closing = true;
	pthread_mutex_unlock(&client->lock);
	if (client->wake >= 0)
		signal_fd(client->wake);
	sp_thread_group_destroy(client->thread);
}

void sp_redis_client_destroy(sp_redis_client *client)
{
	if (client == NULL)
		return;
	stop(client);
	sp_redis__map_fini(client);
	for (size_t i = 0; i < client->link_count; i++)
		sp_redis__link_destroy(client->links[i]);
	while (client->free != NULL) {
		sp_redis_batch *batch = client->free;

		client->free = batch->next;
		sp_redis__batch_free(batch);
	}
	if (client->epoll >= 0)
		close(client->epoll);
	if (client->wake >= 0)
		close(client->wake);
	if (client->reader_wake >= 0)
		close(client->reader_wake);
	pthread_mutex_destroy(&client->work);
	pthread_mutex_destroy(&client->lock);
	sp_redis_address_fini(&client->address);
	sp_free(client->links);
	sp_free(client->retries);
	sp_free(client);
}

void sp_redis_client_counters(const sp_redis_client *client, sp_redis_counters *out)
{
	*out = (sp_redis_counters){
		.servers = client->servers,
		.servers_up = client->servers_up,
		.connects = client->connects,
		.losses = client->losses,
		.commands = client->commands,
		.redirections = client->redirections,
		.failures = client->failures,
		.bytes_sent = client->bytes_sent,
		.bytes_received = client->bytes_received,
		.round_trip_count = client->round_trip_count,
		.round_trip_ns = client->round_trip_ns,
	};
}
