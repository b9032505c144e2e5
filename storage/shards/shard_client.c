#include "storage/shards/shard_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/shards/shard_client_internal.h"

enum {
	EVENTS = 64,
	MS = 1000000,
	MAX_WAIT_MS = 60000,
	MAX_FREE_CALLS = 256,
	MAX_FREE_BYTES = 1 << 20, /* of a call in the free list */
};

/* ---- calls ---- */

static sp_shard_call *pop_free(sp_shard_client *client)
{
	sp_shard_call *call;

	pthread_mutex_lock(&client->lock);
	call = client->free;
	if (call != NULL) {
		client->free = call->next;
		client->free_count--;
	}
	pthread_mutex_unlock(&client->lock);
	return call;
}

static void free_call(sp_shard_call *call)
{
	sp_buffer_fini(&call->frame);
	sp_free(call);
}

void sp_shard_call_drop(sp_shard_client *client, sp_shard_call *call)
{
	pthread_mutex_lock(&client->lock);
	if (client->free_count < MAX_FREE_CALLS && call->frame.capacity <= MAX_FREE_BYTES) {
		call->next = client->free;
		client->free = call;
		client->free_count++;
		call = NULL;
	}
	pthread_mutex_unlock(&client->lock);
	if (call != NULL)
		free_call(call);
}

sp_shard_call *sp_shard_call_begin(sp_shard_client *client, uint32_t slice, sp_shard_kind kind,
				   const sp_shard_callbacks *callbacks, void *owner, size_t tag)
{
	sp_shard_call *call = pop_free(client);
	sp_buffer frame;

	if (call == NULL) {
		call = sp_alloc_zero(1, sizeof(*call));
		if (call == NULL)
			return NULL;
		sp_buffer_init(&call->frame, SP_SHARD_HEADER + SP_SHARD_MAX_REQUEST);
	}
	frame = call->frame;
	*call = (sp_shard_call){.slice = slice,
				.callbacks = callbacks,
				.owner = owner,
				.tag = tag,
				.kind = kind == SP_SHARD_VERSION ? SP_SHARD_TABLES : SP_SHARD_ROWS,
				.max_bytes = SP_SHARD_MAX_RESPONSE,
				.frame = frame};
	sp_buffer_clear(&call->frame);
	(void)sp_shard_frame_begin(&call->frame, kind, 0);
	return call;
}

sp_buffer *sp_shard_call_body(sp_shard_call *call)
{
	return &call->frame;
}

void sp_shard_call_set_limit(sp_shard_call *call, uint64_t max_bytes)
{
	call->max_bytes = max_bytes;
}

sp_shard_call *sp_shard_call_join(sp_shard_call *first, sp_shard_call *more)
{
	more->next = first;
	return more;
}

void sp_shard_call_send(sp_shard_client *client, sp_shard_call *first)
{
	sp_shard_call *last = first;
	bool must_wake;

	while (last->next != NULL)
		last = last->next;
	pthread_mutex_lock(&client->lock);
	*client->submitted_end = first;
	client->submitted_end = &last->next;
	must_wake = client->is_asleep;
	client->is_asleep = false;
	pthread_mutex_unlock(&client->lock);
	if (must_wake)
		sp_shard__client_wake(client);
}

/* ---- calls to hedge, by time ---- */

static void list_open(sp_shard_client *client, sp_shard_call *call)
{
	call->earlier = client->newest;
	call->later = NULL;
	if (client->newest != NULL)
		client->newest->later = call;
	else
		client->oldest = call;
	client->newest = call;
}

static void unlist_open(sp_shard_client *client, sp_shard_call *call)
{
	if (call->is_hedged)
		return;
	call->is_hedged = true;
	if (call->earlier != NULL)
		call->earlier->later = call->later;
	else
		client->oldest = call->later;
	if (call->later != NULL)
		call->later->earlier = call->earlier;
	else
		client->newest = call->earlier;
}

/* ---- routes ---- */

/* Sends to a replica that has not been tried; false: there is none. */
static bool send_to_next(sp_shard_client *client, sp_shard_call *call)
{
	size_t first = client->first_of[call->slice];
	size_t count = client->first_of[call->slice + 1] - first,
	       turn = client->turn_of[call->slice]++;

	for (size_t i = 0; i < count; i++) {
		sp_shard_link *link = &client->links[first + (turn + i) % count];

		if (link->state != SP_SHARD_READY || (call->tried >> link->replica & 1) != 0)
			continue;
		call->tried |= UINT32_C(1) << link->replica;
		if (!sp_shard__link_send(link, call))
			continue;
		call->pending++;
		return true;
	}
	return false;
}

static void fail(sp_shard_client *client, sp_shard_call *call)
{
	call->is_done = true;
	unlist_open(client, call);
	sp_shard__count(&client->failures, 1);
	if (call->reason[0] == '\0')
		snprintf(call->reason, sizeof(call->reason), "no holder of slice %u is connected",
			 call->slice);
	call->callbacks->on_failure(call->owner, call->tag, call->no_version, call->reason);
}

/*
 * After a response or a failure: tries the next replica if needed, or frees the call if it is done.
 */
static void retry_or_finish(sp_shard_client *client, sp_shard_call *call)
{
	if (!call->is_done && call->pending == 0) {
		if (send_to_next(client, call))
			sp_shard__count(&client->retries, 1);
		else
			fail(client, call);
	}
	if (call->is_done && call->pending == 0)
		sp_shard_call_drop(client, call);
}

static void start(sp_shard_client *client, sp_shard_call *call)
{
	call->next = NULL;
	call->id = ++client->next_id;
	call->sent_ns = sp_clock_now_ns();
	sp_shard__count(&client->requests, 1);
	list_open(client, call);
	if (call->frame.failed) {
		snprintf(call->reason, sizeof(call->reason), "no memory for a request");
	} else {
		memcpy(call->frame.data + 8, &call->id, sizeof(call->id));
		if (sp_shard_frame_end(&call->frame, 0) && send_to_next(client, call))
			return;
	}
	fail(client, call);
	sp_shard_call_drop(client, call);
}

bool sp_shard__call_on_response(sp_shard_call *call, sp_shard_link *link, uint8_t kind,
				sp_bytes body)
{
	sp_shard_client *client = link->client;
	sp_shard_error_code fault = SP_SHARD_FAILED;
	char name[SP_SHARD_ADDRESS_TEXT];
	sp_bytes text = {"it answers something else", 25};
	bool good = true;

	call->pending--;
	sp_shard__count(&client->round_trip_count, 1);
	sp_shard__count(&client->round_trip_ns, (uint64_t)(sp_clock_now_ns() - call->sent_ns));
	if (kind == SP_SHARD_ERROR)
		good = sp_shard_error_read(&fault, &text, body);
	else if (!call->is_done)
		good = call->callbacks->on_response(call->owner, call->tag, kind, body);
	if (good && kind != SP_SHARD_ERROR && !call->is_done) {
		call->is_done = true;
		unlist_open(client, call);
	} else if (!call->is_done) {
		call->no_version = good && fault == SP_SHARD_NO_VERSION;
		snprintf(call->reason, sizeof(call->reason), "slice %u at %s: %.*s", link->slice,
			 sp_shard_address_text(&link->address, name),
			 (int)(text.size < 128 ? text.size : 128), text.data);
	}
	retry_or_finish(client, call);
	return good;
}

void sp_shard__call_on_failure(sp_shard_call *call, sp_shard_link *link, const char *reason)
{
	call->pending--;
	if (!call->is_done) {
		call->no_version = false;
		snprintf(call->reason, sizeof(call->reason), "%s", reason);
	}
	retry_or_finish(link->client, call);
}

/* Sends calls that are older than hedge_ms to a second replica; returns when to call again. */
static int64_t hedge(sp_shard_client *client, int64_t now_ns)
{
	int64_t after_ns = client->options.hedge_ms * MS;

	while (after_ns != 0 && client->oldest != NULL) {
		sp_shard_call *call = client->oldest;

		if (now_ns - call->sent_ns < after_ns)
			return call->sent_ns + after_ns;
		unlist_open(client, call);
		if (send_to_next(client, call))
			sp_shard__count(&client->hedges, 1);
	}
	return INT64_MAX;
}

/* ---- the thread ---- */

static void flush_all(sp_shard_client *client)
{
	for (size_t i = 0; i < client->link_count; i++)
		sp_shard__link_flush(&client->links[i]);
}

static void start_submitted(sp_shard_client *client)
{
	sp_shard_call *call, *next;

	pthread_mutex_lock(&client->lock);
	call = client->submitted;
	client->submitted = NULL;
	client->submitted_end = &client->submitted;
	pthread_mutex_unlock(&client->lock);
	for (; call != NULL; call = next) {
		next = call->next;
		start(client, call);
	}
}

static int64_t on_time(sp_shard_client *client)
{
	int64_t now_ns = sp_clock_now_ns(), next_ns = hedge(client, now_ns);

	for (size_t i = 0; i < client->link_count; i++) {
		int64_t link_ns = sp_shard__link_on_time(&client->links[i], now_ns);

		next_ns = link_ns < next_ns ? link_ns : next_ns;
	}
	return next_ns;
}

static int sleep_ms(int64_t next_ns)
{
	int64_t left_ns = next_ns - sp_clock_now_ns();

	if (next_ns == INT64_MAX || left_ns > (int64_t)MAX_WAIT_MS * MS)
		return MAX_WAIT_MS;
	return left_ns <= 0 ? 0 : (int)((left_ns + MS - 1) / MS);
}

static void wait_for_events(sp_shard_client *client, int64_t next_ns)
{
	struct epoll_event events[EVENTS];
	bool must_sleep;
	int count;

	pthread_mutex_lock(&client->lock);
	must_sleep = client->submitted == NULL && !atomic_load(&client->closing);
	client->is_asleep = must_sleep;
	pthread_mutex_unlock(&client->lock);
	count = epoll_wait(client->epoll, events, EVENTS, must_sleep ? sleep_ms(next_ns) : 0);
	pthread_mutex_lock(&client->lock);
	client->is_asleep = false;
	pthread_mutex_unlock(&client->lock);
	for (int i = 0; i < count; i++)
		if (events[i].data.ptr != NULL)
			sp_shard__link_on_event(events[i].data.ptr, events[i].events);
}

static void fail_all(sp_shard_client *client)
{
	for (size_t i = 0; i < client->link_count; i++) {
		if (client->links[i].state != SP_SHARD_DOWN)
			sp_shard__link_disconnect(&client->links[i], "the client is closed");
	}
	start_submitted(client); /* they fail, as no peer is connected */
}

static void thread_main(void *context)
{
	sp_shard_client *client = context;

	while (!atomic_load(&client->closing)) {
		int64_t next_ns = on_time(client);

		flush_all(client);
		wait_for_events(client, next_ns);
		start_submitted(client);
		flush_all(client);
	}
	fail_all(client);
}

static void resolver_main(void *context)
{
	sp_shard_client *client = context;
	sp_shard_link *link;

	while ((link = sp_queue_pop(client->names)) != NULL) {
		if (!atomic_load(&client->closing))
			sp_shard__link_resolve(link);
		sp_shard__client_wake(client);
	}
}

void sp_shard__client_wake(sp_shard_client *client)
{
	const uint64_t one = 1;

	if (write(client->wake, &one, sizeof(one)) < 0)
		sp_log(SP_LOG_WARNING, "the thread that asks other processors: %s",
		       strerror(errno));
}

/* ---- life ---- */

static void set_options(sp_shard_client *client, const sp_shard_client_options *options)
{
	client->options = *options;
	client->options.peers = NULL;
	if (client->options.connect_ms == 0)
		client->options.connect_ms = 1000;
	if (client->options.silence_ms == 0)
		client->options.silence_ms = 2000;
	if (client->options.longest_pause_ms == 0)
		client->options.longest_pause_ms = 5000;
	client->random = (uint64_t)sp_clock_now_ns() | 1;
}

static sp_status make_links(sp_shard_client *client, const sp_shard_peers *peers, sp_error *err)
{
	client->links = sp_alloc_zero(peers->count, sizeof(*client->links));
	SP_NEED_MEMORY(client->links, err, "connections to other processors");
	for (size_t i = 0; i < peers->count; i++) {
		sp_shard_link *link = &client->links[i];

		sp_shard__link_init(link, client, &peers->items[i]);
		link->slice = peers->slice_of[i];
		if (i == 0 || peers->slice_of[i - 1] != link->slice)
			client->first_of[link->slice] = i;
		link->replica = (uint32_t)(i - client->first_of[link->slice]);
	}
	client->link_count = peers->count;
	client->slices = peers->slices;
	client->first_of[peers->slices] = peers->count;
	return SP_OK;
}

static sp_status run(sp_shard_client *client, const sp_shard_client_options *options, sp_error *err)
{
	/* Edge-triggered: the counter need not be read. */
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	client->epoll = epoll_create1(EPOLL_CLOEXEC);
	client->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->epoll < 0 || client->wake < 0 ||
	    epoll_ctl(client->epoll, EPOLL_CTL_ADD, client->wake, &event) != 0)
		return sp_error_set(err, SP_IO, "a client of other processors: %s",
				    strerror(errno));
	SP_TRY(make_links(client, options->peers, err));
	client->names = sp_queue_create(client->link_count);
	SP_NEED_MEMORY(client->names, err, "names of other processors");
	SP_TRY(sp_thread_group_create(&client->resolver, 1, "sp-names", resolver_main, client,
				      err));
	return sp_thread_group_create(&client->thread, 1, "sp-shards-ask", thread_main, client,
				      err);
}

sp_status sp_shard_client_create(sp_shard_client **out, const sp_shard_client_options *options,
				 sp_error *err)
{
	sp_shard_client *client = sp_alloc_zero(1, sizeof(*client));
	sp_status status;

	SP_NEED_MEMORY(client, err, "a client of other processors");
	pthread_mutex_init(&client->lock, NULL);
	client->submitted_end = &client->submitted;
	client->epoll = client->wake = -1;
	set_options(client, options);
	status = run(client, options, err);
	if (status != SP_OK) {
		sp_shard_client_destroy(client);
		return status;
	}
	*out = client;
	return SP_OK;
}

void sp_shard_client_destroy(sp_shard_client *client)
{
	if (client == NULL)
		return;
	atomic_store(&client->closing, true);
	if (client->wake >= 0)
		sp_shard__client_wake(client);
	sp_thread_group_destroy(client->thread);
	if (client->names != NULL)
		sp_queue_close(client->names);
	sp_thread_group_destroy(client->resolver);
	sp_queue_destroy(client->names);
	for (size_t i = 0; i < client->link_count; i++)
		sp_shard__link_fini(&client->links[i]);
	while (client->free != NULL) {
		sp_shard_call *call = client->free;

		client->free = call->next;
		free_call(call);
	}
	if (client->epoll >= 0)
		close(client->epoll);
	if (client->wake >= 0)
		close(client->wake);
	pthread_mutex_destroy(&client->lock);
	sp_free(client->links);
	sp_free(client);
}

uint32_t sp_shard_client_slices(const sp_shard_client *client)
{
	return client->slices;
}

void sp_shard_client_count(sp_shard_client *client, sp_shard_client_counters *out)
{
	*out = (sp_shard_client_counters){.peers = client->link_count,
					  .peers_up = client->peers_up,
					  .connects = client->connects,
					  .losses = client->losses,
					  .requests = client->requests,
					  .hedges = client->hedges,
					  .retries = client->retries,
					  .failures = client->failures,
					  .bytes_received = client->bytes_received,
					  .round_trip_count = client->round_trip_count,
					  .round_trip_ns = client->round_trip_ns};
	for (uint32_t i = 0; i < client->slices; i++)
		out->slices_down += client->up_of[i] == 0;
}
