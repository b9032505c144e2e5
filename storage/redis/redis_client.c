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
 * The thread sleeps until a server answers or something is due: an attempt to connect, a command
 * to be sent again, the map of the cluster.  While it sleeps, callers send what they submit, or the
 * caller that holds `work` does; if that makes something due, they wake it up.
 *
 * One caller at a time may read instead of the thread, which then sleeps without looking at the
 * connections.  If answers are owed when this caller leaves, it wakes the thread up.  So one that
 * submits and then reads, or finds another one reading, needs no thread.  Whoever else closes a
 * batch meanwhile tells the caller that reads: it may be what it waits for.
 */

enum {
	MS = 1000000,
	NS_PER_S = 1000000000,
	EVENTS = 64,
	LINKS = 1024, /* servers of a cluster at most */

	/*
	 * To a single server.  In one turn of its loop Redis reads 16 KiB of a connection and
	 * writes 64 KiB to it; with too few of them it waits for its clients in between.
	 */
	CONNECTIONS = 8,
	ATTEMPTS = 16, /* redirections of a command, one after the other */
	SOON_MS = 2,   /* until a command is sent again */
	LATER_MS = 20, /* the same while its server cannot be reached */
	LONGEST_WAIT_MS = 1000,
};

/* ---- sending again ---- */

static const char *const TOO_LATE = "the deadline has passed before Redis could be asked";

static void park(sp_redis_client *client, sp_redis_batch *batch, size_t command, int64_t ms,
		 const char *reason)
{
	int64_t now_ns = sp_clock_now_ns(), deadline_ns = batch->how.deadline_ns;
	size_t more = client->parked_capacity != 0 ? client->parked_capacity * 2 : 64;

	if (client->closing || (deadline_ns != 0 && now_ns >= deadline_ns)) {
		sp_redis__batch_fail(batch, command, reason);
		return;
	}
	if (client->parked_count == client->parked_capacity) {
		sp_redis_parked *parked = sp_alloc_resize(client->parked, more,
							  sizeof(*client->parked));

		if (parked == NULL) {
			sp_redis__batch_fail(batch, command, "no memory");
			return;
		}
		client->parked = parked;
		client->parked_capacity = more;
	}
	client->parked[client->parked_count++] = (sp_redis_parked){batch, command,
								   now_ns + ms * MS};
	client->has_news = true;
}

/* The link for a command, down or not; NULL: none is known. */
static sp_redis_link *find_link(sp_redis_client *client, const sp_redis_batch *batch,
				size_t command)
{
	if (!client->options.is_cluster) {
		sp_redis_link *link = client->links[batch->turn % client->link_count];

		return batch->how.only_reads && link->state == SP_REDIS_READY ? link
									      : client->links[0];
	}
	return sp_redis__map_find(client, batch->commands[command].slot,
				  batch->how.only_reads && !batch->commands[command].needs_master);
}

/* Whether any server of a cluster whose map is not known yet may still tell it. */
static bool may_know_soon(const sp_redis_client *client)
{
	for (size_t i = 0; i < client->link_count && !client->has_map; i++)
		if (client->links[i]->state != SP_REDIS_DOWN || client->links[i]->failed == 0)
			return true;
	return false;
}

/* Queues the command for its server, which is not flushed. */
static void route(sp_redis_client *client, sp_redis_batch *batch, size_t command)
{
	char name[SP_REDIS_NAME_SIZE], reason[SP_REDIS_HOST_SIZE + 256];
	sp_redis_link *link = find_link(client, batch, command);

	if (link == NULL) {
		snprintf(reason, sizeof(reason), "no server of the cluster is known for slot %u",
			 (unsigned)batch->commands[command].slot);
		client->map_ns = 0;
		if (batch->how.fails_fast && !may_know_soon(client))
			sp_redis__batch_fail(batch, command, reason);
		else
			park(client, batch, command, SOON_MS, reason);
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
	/* A link that has just been lost is made again at once. */
	if (batch->how.fails_fast && (link->state != SP_REDIS_DOWN || link->failed > 1))
		sp_redis__batch_fail(batch, command, reason);
	else
		park(client, batch, command, batch->how.fails_fast ? SOON_MS : LATER_MS, reason);
}

static void flush_all(sp_redis_client *client)
{
	for (size_t i = 0; i < client->link_count; i++)
		if (client->links[i]->state != SP_REDIS_DOWN &&
		    client->links[i]->out.size != client->links[i]->sent &&
		    !client->links[i]->wants_write)
			sp_redis__link_flush(client->links[i]);
}

/* Whether the command must not be sent any more; that its server is down is the better reason. */
static bool is_too_late(sp_redis_client *client, const sp_redis_parked *one, int64_t now_ns)
{
	int64_t deadline_ns = one->batch->how.deadline_ns;
	const sp_redis_link *link;

	if (deadline_ns == 0 || now_ns < deadline_ns)
		return false;
	link = find_link(client, one->batch, one->command);
	return link != NULL && link->state != SP_REDIS_DOWN;
}

/* Sends what is due; returns when the next is. */
static int64_t send_parked(sp_redis_client *client, int64_t now_ns)
{
	size_t count = client->parked_count, kept = 0;
	int64_t next_ns = INT64_MAX;

	/* Those that are parked again go behind these. */
	for (size_t i = 0; i < count; i++) {
		sp_redis_parked one = client->parked[i];

		if (one.due_ns > now_ns)
			client->parked[kept++] = one;
		else if (is_too_late(client, &one, now_ns))
			sp_redis__batch_fail(one.batch, one.command, TOO_LATE);
		else
			route(client, one.batch, one.command);
	}
	if (count == 0)
		return INT64_MAX;
	memmove(client->parked + kept, client->parked + count,
		(client->parked_count - count) * sizeof(*client->parked));
	client->parked_count = kept + client->parked_count - count;
	for (size_t i = 0; i < client->parked_count; i++)
		if (client->parked[i].due_ns < next_ns)
			next_ns = client->parked[i].due_ns;
	return next_ns;
}

/* ---- answers ---- */

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Follows MOVED and ASK; false: it is neither, or leads nowhere. */
static bool redirect(sp_redis_link *link, const sp_redis_owed *owed)
{
	sp_redis_client *client = link->client;
	bool asks = starts(link->error, "ASK "), moved = starts(link->error, "MOVED ");
	sp_redis_command *command = &owed->batch->commands[owed->command];
	sp_redis_server server;
	sp_redis_link *to;
	uint32_t slot;

	if ((!asks && !moved) || !client->options.is_cluster || command->attempts >= ATTEMPTS ||
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
	/* A new link is made before commands are sent again. */
	if (to->state == SP_REDIS_DOWN ||
	    !sp_redis__link_send(to, owed->batch, owed->command, asks))
		park(client, owed->batch, owed->command, to->failed == 0 ? 0 : SOON_MS,
		     link->error);
	return true;
}

/* Answers that say: not now. */
static bool is_for_later(const char *error)
{
	return starts(error, "TRYAGAIN") || starts(error, "CLUSTERDOWN") ||
	       starts(error, "LOADING") || starts(error, "MASTERDOWN");
}

/* Whether the server that has answered is a replica of the command's master. */
static bool is_by_replica(sp_redis_link *link, const sp_redis_owed *owed)
{
	const sp_redis_command *command = &owed->batch->commands[owed->command];

	return link->client->options.read_replicas && owed->batch->how.only_reads &&
	       !command->needs_master && command->slot != SP_REDIS_ANY_SLOT &&
	       sp_redis__map_find(link->client, command->slot, false) != link;
}

static void ask_master(sp_redis_client *client, const sp_redis_owed *owed)
{
	owed->batch->commands[owed->command].needs_master = true;
	route(client, owed->batch, owed->command);
}

/* The answer is the command's, unless the master is to be asked for a better one. */
static void end_command(sp_redis_link *link, const sp_redis_owed *owed)
{
	const char *error = link->error[0] != '\0' ? link->error : NULL;
	const sp_redis_sink *sink = owed->batch->how.sink;
	const sp_redis_ending ending = {
		.server = &link->server, .error = error, .by_replica = is_by_replica(link, owed)};

	if (sink != NULL && sink->ended != NULL &&
	    sink->ended(owed->batch->how.owner, owed->command, &ending) && ending.by_replica) {
		ask_master(link->client, owed);
		return;
	}
	sp_redis__batch_close(owed->batch, error);
}

void sp_redis__client_answered(sp_redis_link *link, const sp_redis_owed *owed)
{
	const sp_redis_value error = {
		.kind = SP_REDIS_ERROR, .text = link->error, .size = strlen(link->error)};
	bool fails_fast = owed->batch->how.fails_fast;

	if (link->error[0] == '\0') {
		end_command(link, owed);
		return;
	}
	if (redirect(link, owed))
		return;
	/* A replica that loads or has lost its master does not hold the command up. */
	if (is_for_later(link->error) && is_by_replica(link, owed)) {
		ask_master(link->client, owed);
		return;
	}
	if (is_for_later(link->error) && (!fails_fast || starts(link->error, "TRYAGAIN"))) {
		park(link->client, owed->batch, owed->command, fails_fast ? SOON_MS : LATER_MS,
		     link->error);
		return;
	}
	sp_redis__count(&link->client->failures, 1);
	sp_redis__batch_take(owed->batch, owed->command, &error);
	end_command(link, owed);
}

void sp_redis__client_lost(sp_redis_client *client, const sp_redis_owed *owed, const char *reason)
{
	sp_redis_command *command = &owed->batch->commands[owed->command];

	client->map_ns = 0;
	if (owed->batch->how.fails_fast && command->attempts++ != 0)
		sp_redis__batch_fail(owed->batch, owed->command, reason);
	else
		park(client, owed->batch, owed->command, owed->batch->how.fails_fast ? 0 : SOON_MS,
		     reason);
}

void sp_redis__client_changed(sp_redis_client *client, bool was_up, bool is_up)
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

	if (client->link_count == LINKS)
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

/* ---- what is submitted ---- */

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
		/* The last command to fail gives the batch back. */
		for (size_t i = 0, count = batch->count; i < count; i++)
			route(client, batch, i);
	}
	flush_all(client);
}

/* Wakes up who polls the eventfd. */
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
		return; /* nothing was there to be taken */
}

static bool has_submitted(sp_redis_client *client)
{
	bool has;

	pthread_mutex_lock(&client->lock);
	has = client->submitted != NULL;
	pthread_mutex_unlock(&client->lock);
	return has;
}

/* A caller leaves `work`, and sends what others have submitted while they could not take it. */
static void leave_work(sp_redis_client *client)
{
	for (;;) {
		bool has_news = client->has_news;

		pthread_mutex_unlock(&client->work);
		if (has_news)
			signal_fd(client->wake);
		if (!has_submitted(client) || pthread_mutex_trylock(&client->work) != 0)
			return;
		send_submitted(client);
	}
}

void sp_redis__client_submit(sp_redis_client *client, sp_redis_batch *batch)
{
	bool reads = batch->how.reads, is_asleep, is_blind;

	pthread_mutex_lock(&client->lock);
	*client->submitted_end = batch;
	client->submitted_end = &batch->next;
	is_asleep = client->is_asleep;
	is_blind = client->is_blind;
	pthread_mutex_unlock(&client->lock);
	if (!is_asleep)
		return; /* the thread sends it before it sleeps */
	if (pthread_mutex_trylock(&client->work) == 0) {
		send_submitted(client);
		leave_work(client);
	}
	if (is_blind && !reads)
		signal_fd(client->wake);
}

/* ---- reading ---- */

static void take_events(sp_redis_client *client)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(client->epoll, events, EVENTS, 0);

	for (int i = 0; i < count; i++)
		sp_redis__link_on_event(events[i].data.ptr, events[i].events);
}

/* By the holder of `lock`. */
static bool is_reader(const sp_redis_client *client)
{
	return client->is_read && pthread_equal(client->reader, pthread_self());
}

/* False: another caller reads. */
static bool begin_reading(sp_redis_client *client)
{
	bool is_own;

	pthread_mutex_lock(&client->lock);
	if (!client->is_read)
		client->reader = pthread_self();
	client->is_read = true;
	is_own = is_reader(client);
	pthread_mutex_unlock(&client->lock);
	return is_own;
}

void sp_redis_client_stop_reading(sp_redis_client *client)
{
	bool is_own, is_owed = false;

	/* Who finds it still set has sent what is seen below. */
	pthread_mutex_lock(&client->lock);
	is_own = is_reader(client);
	if (is_own)
		client->is_read = false;
	pthread_mutex_unlock(&client->lock);
	if (!is_own)
		return;
	pthread_mutex_lock(&client->work);
	for (size_t i = 0; i < client->link_count; i++)
		is_owed = is_owed || client->links[i]->owed_count != 0;
	leave_work(client);
	if (is_owed)
		signal_fd(client->wake);
}

void sp_redis__client_closed(sp_redis_client *client)
{
	bool must_tell;

	pthread_mutex_lock(&client->lock);
	must_tell = client->is_read && !is_reader(client);
	pthread_mutex_unlock(&client->lock);
	if (must_tell)
		signal_fd(client->tell);
}

void sp_redis_client_read(sp_redis_client *client, int64_t deadline_ns,
			  bool (*is_done)(void *owner), void *owner)
{
	struct pollfd fds[] = {{.fd = client->tell, .events = POLLIN},
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
		take_events(client);
		flush_all(client); /* what was sent to another server */
		leave_work(client);
	}
}

/* ---- the thread ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Does what is due; returns when the next is. */
static int64_t on_time(sp_redis_client *client)
{
	int64_t now_ns = sp_clock_now_ns(), next_ns = INT64_MAX;

	for (size_t i = 0; i < client->link_count; i++)
		next_ns = earlier(next_ns, sp_redis__link_on_time(client->links[i], now_ns));
	if (client->options.is_cluster)
		next_ns = earlier(next_ns, sp_redis__map_on_time(client, now_ns));
	return earlier(next_ns, send_parked(client, now_ns));
}

/*
 * A caller may send to a silent server while the thread sleeps.  The thread looks for such servers
 * when it wakes up, so it sleeps for half of silence_ms at most.
 */
static int sleep_ms(const sp_redis_client *client, int64_t next_ns)
{
	int64_t longest_ms = client->options.silence_ms / 2, left_ns = next_ns - sp_clock_now_ns();

	if (longest_ms > LONGEST_WAIT_MS)
		longest_ms = LONGEST_WAIT_MS;
	if (next_ns == INT64_MAX || left_ns > longest_ms * MS)
		return (int)longest_ms;
	return left_ns <= 0 ? 0 : (int)((left_ns + MS - 1) / MS);
}

static void wait_for_events(sp_redis_client *client, int64_t next_ns)
{
	struct pollfd fds[] = {{.fd = client->wake, .events = POLLIN},
			       {.fd = client->epoll, .events = POLLIN}};
	bool has_news = client->has_news, must_sleep, is_blind;

	/* While it is asleep, `work` is only taken by those who send what is submitted. */
	pthread_mutex_unlock(&client->work);
	pthread_mutex_lock(&client->lock);
	must_sleep = client->submitted == NULL && !has_news && !client->closing;
	client->is_asleep = must_sleep;
	client->is_blind = is_blind = client->is_read;
	pthread_mutex_unlock(&client->lock);
	poll(fds, is_blind ? 1 : 2, must_sleep ? sleep_ms(client, next_ns) : 0);
	reset_fd(&fds[0]);
	pthread_mutex_lock(&client->work);
	pthread_mutex_lock(&client->lock);
	client->is_asleep = client->is_blind = false;
	is_blind = client->is_read;
	pthread_mutex_unlock(&client->lock);
	if (!is_blind)
		take_events(client);
}

/* Everything that is still without an answer fails. */
static void give_up(sp_redis_client *client)
{
	for (size_t i = 0; i < client->link_count; i++)
		if (client->links[i]->state != SP_REDIS_DOWN)
			sp_redis__link_lose(client->links[i], "the client is closed");
	for (size_t i = 0; i < client->parked_count; i++)
		sp_redis__batch_fail(client->parked[i].batch, client->parked[i].command,
				     "the client is closed");
	client->parked_count = 0;
}

static void thread_main(void *context)
{
	sp_redis_client *client = context;

	pthread_mutex_lock(&client->work);
	while (!client->closing) {
		int64_t next_ns;

		client->has_news = false;
		next_ns = on_time(client);
		flush_all(client);
		wait_for_events(client, next_ns);
		send_submitted(client);
	}
	give_up(client);
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

static void settle(sp_redis_client *client, const sp_redis_client_options *options)
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
	client->tell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->epoll < 0 || client->wake < 0 || client->tell < 0)
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
	client->epoll = client->wake = client->tell = -1;
	client->owner = getpid();
	settle(client, options);
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
	if (client->tell >= 0)
		close(client->tell);
	pthread_mutex_destroy(&client->work);
	pthread_mutex_destroy(&client->lock);
	sp_redis_address_fini(&client->address);
	sp_free(client->links);
	sp_free(client->parked);
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
