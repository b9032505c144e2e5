#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "tests/support/shard_scene.h"

/* What is read: rows of both slices, of the version that was asked for, out of memory or not. */
enum {
	KEYS = SP_SHARD_SCENE_KEYS,
	STEP = SP_SHARD_SCENE_STEP,
	DIM = SP_SHARD_SCENE_DIM,
	FULL = SP_SHARD_SCENE_FULL,
	SLICES = SP_SHARD_SCENE_SLICES,
};

static sp_error err;

/* ---- rows ---- */

static void rows_come_from_their_slices(void **state)
{
	sp_shard_server_counters c;
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_open(&s);
	assert_int_equal(s.tiers[0]->row_count, KEYS);
	for (int64_t first = -700; first < (int64_t)KEYS * STEP; first += 500)
		sp_shard_scene_ask_well(&s, first);
	for (size_t i = 0; i < SLICES; i++) {
		sp_shard_server_count(sp_shard_scene_servers[i], &c);
		assert_true(c.rows.requests != 0);
		assert_int_equal(c.connections, 1);
		assert_int_equal(c.malformed, 0);
	}
	assert_true(sp_test_tier_counters(s.tiers[0]).hot_hits != 0);
	assert_int_equal(sp_test_tier_counters(s.tiers[0]).defaulted, 0);
	sp_shard_scene_close(&s);
}

static void what_was_read_is_in_memory(void **state)
{
	uint64_t before;
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_open(&s);
	sp_shard_scene_ask_well(&s, 0);
	before = sp_shard_scene_client_counters(&s).requests;
	sp_shard_scene_ask_well(&s, 0);
	assert_int_equal(sp_shard_scene_client_counters(&s).requests, before);
	sp_shard_scene_close(&s);
}

static void names_are_looked_up(void **state)
{
	char text[600];
	sp_shard_store_options options;
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_stop(0);
	sp_shard_scene_start_at(0, "localhost:0");
	sp_shard_scene_publish(0, FULL);
	snprintf(text, sizeof(text), "localhost:%d;unix:%s/1",
		 sp_shard_server_address(sp_shard_scene_servers[0])->port, sp_shard_scene_folder);
	sp_shard_scene_connect(&s, text, NULL);
	options = sp_shard_scene_options(&s);
	sp_shard_scene_open_store(&s, &options);
	sp_shard_scene_ask_well(&s, 0);
	sp_shard_scene_close(&s);
}

enum { THREADS = 4, ROUNDS = 20 };

static sp_status ask_often(void *context, size_t part, sp_error *why)
{
	const sp_shard_scene *s = context;
	sp_shard_scene_lookup *q = malloc(2 * sizeof(*q));
	sp_status status = SP_OK;

	for (size_t i = 0; i < ROUNDS && status == SP_OK; i++) {
		status = sp_shard_scene_ask(s, q, (int64_t)(i * 31 + part * 7), why);
		if (status == SP_OK)
			sp_shard_scene_check_rows(q);
	}
	free(q);
	return status;
}

static void calls_at_once_get_right_rows(void **state)
{
	sp_shard_store_options options;
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_connect(&s, NULL, NULL);
	options = sp_shard_scene_options(&s);
	options.cache_bytes = 1;
	sp_shard_scene_open_store(&s, &options);
	assert_ok(sp_parallel_run(THREADS, THREADS, ask_often, &s, &err), &err);
	sp_shard_scene_close(&s);
}

/* ---- versions ---- */

static void a_version_that_is_not_there_is_refused(void **state)
{
	sp_shard_store_options options;
	sp_shard_store *store;
	char text[512];
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_connect(&s, NULL, NULL);
	options = sp_shard_scene_options(&s);
	options.full = FULL + 1;
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "version 43, slice 0 at unix:"));
	sp_shard_scene_publish(0, FULL + 1); /* the other slice still lacks it */
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "slice 1 at"));
	sp_shard_scene_publish(1, FULL + 1);
	assert_ok(sp_shard_store_open(&store, &options, &err), &err);
	sp_shard_store_release(store);
	options.content++;
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_NOT_FOUND);
	sp_shard_scene_close(&s);
	/* Slices in another order. */
	snprintf(text, sizeof(text), "unix:%s/1;unix:%s/0", sp_shard_scene_folder,
		 sp_shard_scene_folder);
	sp_shard_scene_connect(&s, text, NULL);
	options = sp_shard_scene_options(&s);
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "holds slice 1 of 2"));
	sp_shard_scene_close(&s);
}

static void a_version_that_has_gone_is_no_answer(void **state)
{
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_open(&s);
	sp_shard_scene_ask_well(&s, 0);
	sp_shard_scene_publish(1, FULL + 1); /* the former one stays for no time at all */
	(void)sp_shard_versions_expire(sp_shard_server_versions(sp_shard_scene_servers[1]),
				       INT64_MAX - 1);
	assert_int_equal(sp_shard_scene_ask_in_vain(&s, 1000, &err), SP_IO);
	assert_non_null(strstr(err.text, "it does not have the version"));
	sp_shard_scene_ask_well(&s, 0); /* in memory */
	sp_shard_scene_close(&s);
}

static void other_tables_are_refused(void **state)
{
	sp_tier *tier;
	sp_shard_scene s;

	(void)state;
	sp_shard_scene_open(&s);
	assert_int_equal(sp_shard_tier_open(&tier, s.store, "other", DIM, &err), SP_INVALID);
	assert_int_equal(
		sp_shard_tier_open(&tier, s.store, sp_shard_scene_tables[0], DIM + 1, &err),
		SP_INVALID);
	sp_shard_scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SP_SHARD_SCENE_CASE(rows_come_from_their_slices),
		SP_SHARD_SCENE_CASE(what_was_read_is_in_memory),
		SP_SHARD_SCENE_CASE(names_are_looked_up),
		SP_SHARD_SCENE_CASE(calls_at_once_get_right_rows),
		SP_SHARD_SCENE_CASE(a_version_that_is_not_there_is_refused),
		SP_SHARD_SCENE_CASE(a_version_that_has_gone_is_no_answer),
		SP_SHARD_SCENE_CASE(other_tables_are_refused),
	};

	return cmocka_run_group_tests_name("shard_tier", tests, NULL, NULL);
}
