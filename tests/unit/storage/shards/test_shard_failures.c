#include "tests/support/cmocka.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "storage/shards/shard_rule.h"
#include "tests/support/shard_scene.h"

/* A holder is down, hangs, is slow or lacks the version: another one is asked if there is one. */
enum {
	MS = 1000000,
	STEP = SP_SHARD_SCENE_STEP,
	DIM = SP_SHARD_SCENE_DIM,
	SLICES = SP_SHARD_SCENE_SLICES,
	MANY = SP_SHARD_SCENE_MANY,
	SHORT_MS = 30,
};

static sp_error err;

static void a_holder_that_is_down_is_used_when_it_is_back(void **state)
{
	sp_shard_store_options options;
	sp_shard_scene_lookup *q = malloc(2 * sizeof(*q));
	int64_t first = 1000;
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_connect(&s, NULL, NULL);
	options = sp_shard_scene_options(&s);
	options.fail_on_timeout = false;
	sp_shard_scene_open_store(&s, &options);
	sp_shard_scene_stop(1);
	assert_ok(sp_shard_scene_ask(&s, q, 0, &err), &err);
	for (size_t i = 0; i < MANY; i++) /* the other slice answers */
		assert_int_equal(q[0].found[i], q[0].keys[i] % STEP == 0 &&
							sp_shard_of_key(q[0].keys[i], SLICES) == 0);
	assert_true(sp_test_tier_counters(s.tiers[0]).defaulted != 0);
	while (sp_shard_scene_client_counters(&s).slices_down != 1)
		sp_shard_scene_nap();
	assert_int_equal(sp_shard_scene_client_counters(&s).peers_up, 1);
	sp_shard_scene_start(1);
	while (sp_shard_scene_client_counters(&s).peers_up != 2)
		sp_shard_scene_nap();
	/* Keys without an answer were not taken for absent. */
	assert_ok(sp_shard_scene_ask(&s, q, 0, &err), &err);
	sp_shard_scene_check_rows(q);
	assert_ok(sp_shard_scene_ask(&s, q, first, &err), &err);
	sp_shard_scene_check_rows(q);
	free(q);
	sp_shard_scene_close(&s);
}

/* The allocations of the threads fail as well. */
static void no_memory_is_no_crash(void **state)
{
	sp_status status = SP_NO_MEMORY;
	sp_shard_store_options options;
	sp_shard_scene_lookup *q = malloc(2 * sizeof(*q));
	int64_t n = 0;
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_connect(&s, NULL, NULL);
	options = sp_shard_scene_options(&s);
	options.open_timeout_ms = options.timeout_ms = 2 * SHORT_MS;
	options.cache_bytes = 1;
	for (; status != SP_OK; n++) {
		s.store = NULL;
		s.tiers[0] = NULL;
		sp_alloc_fail_after(n);
		status = sp_shard_store_open(&s.store, &options, &err);
		if (status == SP_OK)
			status = sp_shard_tier_open(&s.tiers[0], s.store, sp_shard_scene_tables[0],
						    DIM, &err);
		sp_alloc_fail_after(-1);
		sp_tier_release(s.tiers[0]);
		sp_shard_store_release(s.store);
		assert_true(n < 1000);
	}
	assert_true(n > 5);
	options.open_timeout_ms = SP_SHARD_SCENE_LONG_MS;
	sp_shard_scene_open_store(&s, &options);
	for (n = 0; n < 20; n++) {
		sp_alloc_fail_after(n);
		(void)!sp_shard_scene_ask(&s, q, n * 100, &err);
		sp_alloc_fail_after(-1);
	}
	/* It goes on when there is memory again. */
	while (sp_shard_scene_ask(&s, q, 0, &err) != SP_OK)
		sp_shard_scene_nap();
	sp_shard_scene_check_rows(q);
	free(q);
	sp_shard_scene_close(&s);
}

/* ---- a holder that hangs ---- */

/*
 * Stands for the holder at "0" as a process that can be stopped: while it hangs, connections stay
 * open and new ones are made by the system, and nothing is read or answered.
 */
enum { MOST_RELAYED = 64 };

typedef struct relay {
	sp_thread_group *thread;
	atomic_bool hangs, ends;
	int listener;
	int ends_of[MOST_RELAYED][2]; /* the client's, the holder's; [count] */
	size_t count;
} relay;

/* Closes both at the end of either. */
static void pass_on(int pair[2], int from)
{
	static char bytes[1 << 16];
	struct pollfd ready = {.fd = pair[from], .events = POLLIN};
	ssize_t n;

	if (pair[0] < 0 || poll(&ready, 1, 0) != 1)
		return;
	n = recv(pair[from], bytes, sizeof(bytes), 0);
	if (n > 0 && send(pair[1 - from], bytes, (size_t)n, MSG_NOSIGNAL) == n)
		return;
	close(pair[0]);
	close(pair[1]);
	pair[0] = pair[1] = -1;
}

static void relay_main(void *context)
{
	relay *r = context;

	while (!atomic_load(&r->ends)) {
		struct pollfd ready = {.fd = r->listener, .events = POLLIN};

		(void)poll(NULL, 0, 1);
		if (atomic_load(&r->hangs))
			continue;
		if (r->count < MOST_RELAYED && poll(&ready, 1, 0) == 1) {
			r->ends_of[r->count][0] = accept(r->listener, NULL, NULL);
			r->ends_of[r->count++][1] = sp_shard_scene_connect_to("0");
		}
		for (size_t i = 0; i < 2 * r->count; i++)
			pass_on(r->ends_of[i / 2], (int)(i % 2));
	}
	for (size_t i = 0; i < 2 * r->count; i++)
		close(r->ends_of[i / 2][i % 2]);
}

static void start_relay(relay *r)
{
	*r = (relay){.listener = sp_shard_scene_listen_at("relay")};
	assert_ok(sp_thread_group_create(&r->thread, 1, "relay", relay_main, r, &err), &err);
}

static void end_relay(relay *r)
{
	atomic_store(&r->ends, true);
	sp_thread_group_destroy(r->thread);
	close(r->listener);
	sp_shard_scene_remove_socket("relay");
}

static atomic_int downs, ups; /* log lines about the relay */

static void count_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	if (strstr(line, "/relay cannot be reached: it does not answer") != NULL)
		atomic_fetch_add(&downs, 1);
	if (strstr(line, "/relay is reached again") != NULL)
		atomic_fetch_add(&ups, 1);
}

static void a_holder_that_hangs_is_down(void **state)
{
	sp_shard_store_options options;
	char text[512];
	int64_t begun_ns;
	relay r;
	sp_shard_scene s;

	(void)state;
	start_relay(&r);
	sp_log_set_sink(count_line, NULL);
	snprintf(text, sizeof(text), "unix:%s/relay;unix:%s/1", sp_shard_scene_folder,
		 sp_shard_scene_folder);
	sp_shard_scene_connect(&s, text,
			       &(sp_shard_client_options){.silence_ms = 600, .connect_ms = 300});
	options = sp_shard_scene_options(&s);
	options.timeout_ms = 200;
	sp_shard_scene_open_store(&s, &options);
	downs = ups = 0;
	atomic_store(&r.hangs, true);
	begun_ns = sp_clock_now_ns();
	assert_int_equal(sp_shard_scene_ask_in_vain(&s, 0, &err), SP_DEADLINE);
	assert_true(sp_clock_now_ns() - begun_ns >= options.timeout_ms * MS);
	while (sp_shard_scene_client_counters(&s).slices_down != 1)
		sp_shard_scene_nap();
	/* It is connected to again and again, in vain; that is no news, and nobody waits for it. */
	for (uint64_t losses = sp_shard_scene_client_counters(&s).losses;
	     sp_shard_scene_client_counters(&s).losses < losses + 2; sp_shard_scene_nap())
		assert_int_equal(sp_shard_scene_client_counters(&s).slices_down, 1);
	assert_int_equal(sp_shard_scene_client_counters(&s).peers_up, 1);
	assert_int_equal(sp_shard_scene_ask_in_vain(&s, 1000, &err), SP_IO);
	assert_int_equal(downs, 1);
	assert_int_equal(ups, 0);
	atomic_store(&r.hangs, false);
	while (sp_shard_scene_client_counters(&s).peers_up != 2)
		sp_shard_scene_nap();
	assert_int_equal(ups, 1);
	sp_shard_scene_ask_well(&s, 2000);
	sp_shard_scene_close(&s);
	sp_log_set_sink(NULL, NULL);
	end_relay(&r);
}

static void one_that_has_never_answered_is_not_connected(void **state)
{
	sp_shard_store_options options;
	sp_shard_store *store;
	int silent;
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_stop(0);
	silent = sp_shard_scene_listen_at("0");
	sp_shard_scene_connect(&s, NULL, &(sp_shard_client_options){.connect_ms = 100});
	options = sp_shard_scene_options(&s);
	options.open_timeout_ms = 1;
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_IO);
	assert_non_null(strstr(err.text, "no holder of slice 0 is connected"));
	while (sp_shard_scene_client_counters(&s).losses < 2)
		sp_shard_scene_nap();
	assert_int_equal(sp_shard_scene_client_counters(&s).slices_down, 1);
	close(silent);
	sp_shard_scene_remove_socket("0");
	sp_shard_scene_start(0);
	options.open_timeout_ms = SP_SHARD_SCENE_LONG_MS;
	sp_shard_scene_open_store(&s, &options);
	sp_shard_scene_ask_well(&s, 0);
	sp_shard_scene_close(&s);
}

static void a_slow_replica_is_hedged(void **state)
{
	sp_shard_store_options options;
	char more[120], text[512];
	relay r;
	sp_shard_scene s;

	(void)state;
	start_relay(&r);
	snprintf(more, sizeof(more), ",unix:%s/relay", sp_shard_scene_folder);
	sp_shard_scene_peers_text(text, more);
	sp_shard_scene_connect(&s, text, &(sp_shard_client_options){.hedge_ms = 1});
	while (sp_shard_scene_client_counters(&s).peers_up != 3)
		sp_shard_scene_nap();
	atomic_store(&r.hangs, true);
	options = sp_shard_scene_options(&s);
	sp_shard_scene_open_store(&s, &options);
	for (int64_t first = 0; first < 2500; first += 100)
		sp_shard_scene_ask_well(&s, first);
	assert_true(sp_shard_scene_client_counters(&s).hedges != 0);
	assert_int_equal(sp_test_tier_counters(s.tiers[0]).defaulted, 0);
	sp_shard_scene_close(&s);
	end_relay(&r);
}

static void a_replica_without_the_version_is_passed_over(void **state)
{
	sp_shard_store_options options;
	sp_shard_server *others[SLICES] = {sp_shard_scene_servers[0], sp_shard_scene_servers[1]};
	char more[120], text[512];
	sp_shard_scene s;

	(void)state;
	snprintf(text, sizeof(text), "unix:%s/new", sp_shard_scene_folder);
	sp_shard_scene_start_at(0, text); /* has no version yet */
	snprintf(more, sizeof(more), ",unix:%s/new", sp_shard_scene_folder);
	sp_shard_scene_peers_text(text, more);
	sp_shard_scene_connect(&s, text, NULL);
	while (sp_shard_scene_client_counters(&s).peers_up != 3)
		sp_shard_scene_nap();
	options = sp_shard_scene_options(&s);
	sp_shard_scene_open_store(&s, &options);
	for (int64_t first = 0; first < 2500; first += 100)
		sp_shard_scene_ask_well(&s, first);
	assert_true(sp_shard_scene_client_counters(&s).retries != 0);
	sp_shard_scene_close(&s);
	sp_shard_scene_stop(0);
	sp_shard_scene_servers[0] = others[0];
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SP_SHARD_SCENE_CASE(a_holder_that_is_down_is_used_when_it_is_back),
		SP_SHARD_SCENE_CASE(no_memory_is_no_crash),
		SP_SHARD_SCENE_CASE(a_holder_that_hangs_is_down),
		SP_SHARD_SCENE_CASE(one_that_has_never_answered_is_not_connected),
		SP_SHARD_SCENE_CASE(a_slow_replica_is_hedged),
		SP_SHARD_SCENE_CASE(a_replica_without_the_version_is_passed_over),
	};

	return cmocka_run_group_tests_name("shard_failures", tests, NULL, NULL);
}
