#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "storage/redis/redis_tier_internal.h"
#include "tests/support/redis_scene.h"

/*
 * What is read: every layout and format, of the version that was asked for, out of Redis or memory.
 */
enum {
	MS = 1000000,
	DIM = SP_REDIS_SCENE_DIM,
	MANY = SP_REDIS_SCENE_MANY,
};

static sp_error err;

static void every_layout_is_read(void **state)
{
	sp_redis_scene s;

	(void)state;
	for (int layout = 0; layout < SP_REDIS_LAYOUTS; layout++) {
		const sp_redis_store_options options = sp_redis_scene_options(
			(sp_redis_layout)layout);

		sp_redis_scene_fill((sp_redis_layout)layout, SP_ROW_FP32);
		sp_redis_scene_open(&s, &options);
		assert_int_equal(s.tiers[0]->row_count,
				 layout == SP_REDIS_VERSIONED ? 300 : SIZE_MAX);
		for (unsigned seed = 0; seed < 4; seed++)
			sp_redis_scene_ask_well(&s, SP_ROW_FP32, seed);
		assert_int_equal(sp_test_tier_counters(s.tiers[0]).asked, 4 * MANY);
		assert_true(sp_test_tier_counters(s.tiers[0]).absent > MANY);
		assert_int_equal(sp_test_tier_counters(s.tiers[0]).defaulted, 0);
		sp_redis_scene_close(&s);
	}
}

static void every_format_of_ours_is_read(void **state)
{
	static const sp_row_format formats[] = {SP_ROW_FP16, SP_ROW_BF16, SP_ROW_INT8};
	const sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	sp_redis_scene s;

	(void)state;
	for (size_t f = 0; f < 3; f++) {
		sp_redis_scene_fill(SP_REDIS_VERSIONED, formats[f]);
		sp_redis_scene_open(&s, &options);
		sp_redis_scene_ask_well(&s, formats[f], 1);
		sp_redis_scene_close(&s);
	}
}

static void what_was_read_is_in_memory(void **state)
{
	const sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	sp_redis_counters before, after;
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	sp_redis_scene_open(&s, &options);
	sp_redis_scene_ask_well(&s, SP_ROW_FP32, 0);
	sp_redis_client_counters(s.store->client, &before);
	sp_redis_scene_ask_well(&s, SP_ROW_FP32, 0);
	sp_redis_client_counters(s.store->client, &after);
	assert_int_equal(after.commands, before.commands);
	assert_int_equal(sp_test_tier_counters(s.tiers[1]).hot_hits, MANY);
	sp_redis_scene_close(&s);
}

static void a_small_table_takes_little_memory(void **state)
{
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	options.cache_bytes = (size_t)1 << 30;
	sp_redis_scene_open(&s, &options);
	assert_true(s.tiers[0]->kind->footprint(s.tiers[0]) < (4 << 20));
	sp_redis_scene_close(&s);
}

static void repeats_are_asked_for_once(void **state)
{
	const sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	static sp_redis_scene_lookup q[2];
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	sp_redis_scene_open(&s, &options);
	for (size_t i = 0; i < MANY; i++)
		q[0].keys[i] = q[1].keys[i] = 6;
	assert_ok(sp_redis_scene_ask(&s, q, MANY, 0, &err), &err);
	assert_ok(sp_redis_scene_check(q, MANY, SP_ROW_FP32, &err), &err);
	assert_int_equal(sp_test_tier_counters(s.tiers[0]).bytes_read, DIM * sizeof(float));
	sp_redis_scene_close(&s);
}

static void nothing_is_allocated_after_a_while(void **state)
{
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	uint64_t before;
	sp_redis_scene s;

	(void)state;
	options.cache_bytes = 1; /* few rows are held, the others are asked for again */
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	sp_redis_scene_open(&s, &options);
	/* What the client's thread has not given back yet is made anew, a few times. */
	for (unsigned round = 0;; round++) {
		before = sp_alloc_count();
		for (unsigned i = 0; i < 20; i++)
			sp_redis_scene_ask_well(&s, SP_ROW_FP32, 0);
		if (sp_alloc_count() == before)
			break;
		assert_true(round < 20);
	}
	sp_redis_scene_close(&s);
}

/* ---- many at once ---- */

enum { THREADS = 4, ROUNDS = 40 };

static sp_status ask_often(void *context, size_t part, sp_error *why)
{
	const sp_redis_scene *s = context;
	sp_redis_scene_lookup *q = malloc(2 * sizeof(*q));
	sp_status status = SP_OK;

	for (unsigned round = 0; round < ROUNDS && status == SP_OK; round++) {
		/* All threads ask for the same keys at nearly the same time. */
		sp_redis_scene_choose(q, MANY / 4, round + (part == 0));
		status = sp_redis_scene_ask(s, q, MANY / 4, 0, why);
		if (status == SP_OK)
			status = sp_redis_scene_check(q, MANY / 4, SP_ROW_FP32, why);
	}
	free(q);
	return status;
}

static void calls_at_once_get_right_rows(void **state)
{
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	sp_redis_scene s;

	(void)state;
	options.cache_bytes = 1;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	sp_redis_scene_open(&s, &options);
	assert_ok(sp_parallel_run(THREADS, THREADS, ask_often, &s, &err), &err);
	sp_redis_scene_close(&s);
}

/* Absent keys age as well. */
static void ask_until_well_again(const sp_redis_scene *s)
{
	static sp_redis_scene_lookup q[2];

	sp_redis_scene_choose(q, MANY, 0);
	for (int i = 0; i < 4000; i++) {
		assert_ok(sp_redis_scene_ask(s, q, MANY, 0, &err), &err);
		if (sp_redis_scene_check(q, MANY, SP_ROW_FP32, &err) == SP_OK)
			return;
		usleep(10000);
	}
	fail_msg("the rows that have come are not seen");
}

static void rows_without_a_version_are_asked_for_again(void **state)
{
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_HPS);
	static sp_redis_scene_lookup q[2];
	uint64_t before;
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_HPS, SP_ROW_FP32);
	options.max_age_s = 1;
	sp_redis_scene_open(&s, &options);
	sp_redis_scene_ask_well(&s, SP_ROW_FP32, 0);
	before = sp_test_tier_counters(s.tiers[0]).bytes_read;
	sp_redis_scene_tell("FLUSHALL", "SYNC");
	sp_redis_scene_choose(q, MANY, 0);
	for (int i = 0; i < 4000; i++) {
		assert_ok(sp_redis_scene_ask(&s, q, MANY, 0, &err), &err);
		if (sp_redis_scene_check(q, MANY, SP_ROW_FP32, &err) != SP_OK)
			break; /* a row has gone */
		usleep(10000);
	}
	assert_int_equal(sp_test_tier_counters(s.tiers[0]).bytes_read, before);
	sp_redis_scene_fill(SP_REDIS_HPS, SP_ROW_FP32);
	ask_until_well_again(&s);
	sp_redis_scene_close(&s);
}

/* HPS keeps beside each hash of rows, "...v", one of the times at which they were used, "...t". */
static const char *times_of(const char *rows)
{
	char *name = sp_arena_text(sp_redis_scene_arena, sp_bytes_of(rows));

	name[strlen(name) - 1] = 't';
	return name;
}

/* Writes the row of a key anew, as HPS does, with a time; all elements are `value`. */
static void put_by_hps(size_t table, int64_t key, float value)
{
	const sp_redis_version version = sp_redis_scene_version(SP_ROW_FP32);
	const char *hash = sp_redis_scene_hash(SP_REDIS_HPS, table, key, &version);
	sp_redis_batch *batch = sp_redis_batch_create(sp_redis_scene_client);
	const int64_t now = sp_clock_now_ns() / 1000 / MS;
	float row[DIM];

	for (size_t d = 0; d < DIM; d++)
		row[d] = value;
	sp_redis_scene_put_field(batch, hash, &key, sizeof(key), row, sizeof(row));
	sp_redis_scene_put_field(batch, times_of(hash), &key, sizeof(key), &now, sizeof(now));
	sp_redis_scene_run(batch);
}

static void remove_by_hps(size_t table, int64_t key)
{
	const sp_redis_version version = sp_redis_scene_version(SP_ROW_FP32);
	const char *hash = sp_redis_scene_hash(SP_REDIS_HPS, table, key, &version);
	sp_redis_batch *batch = sp_redis_batch_create(sp_redis_scene_client);

	sp_redis_scene_begin(batch, 3, "HDEL", hash);
	sp_redis_batch_add(batch, &key, sizeof(key));
	sp_redis_scene_begin(batch, 3, "HDEL", times_of(hash));
	sp_redis_batch_add(batch, &key, sizeof(key));
	sp_redis_scene_run(batch);
}

/* The first element of the rows of three keys of table 1; -1: absent. */
static void read_three(const sp_redis_scene *s, const int64_t keys[3], float out[3])
{
	static sp_redis_scene_lookup q[2];

	for (size_t i = 0; i < 3; i++)
		q[0].keys[i] = q[1].keys[i] = keys[i];
	assert_ok(sp_redis_scene_ask(s, q, 3, 0, &err), &err);
	for (size_t i = 0; i < 3; i++)
		out[i] = q[1].found[i] ? q[1].rows[i][0] : -1;
}

static void what_hps_writes_and_evicts_is_seen_in_time(void **state)
{
	const int64_t keys[3] = {3, 6, 4}; /* the last one is not there at first */
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_HPS);
	sp_redis_batch *batch;
	const char *times;
	sp_redis_scene young, old;
	float got[3];

	(void)state;
	sp_redis_scene_fill(SP_REDIS_HPS, SP_ROW_FP32);
	for (size_t i = 0; i < 2; i++)
		put_by_hps(1, keys[i], 1);
	sp_redis_scene_open(&old, &options); /* what is in memory does not age */
	options.max_age_s = 1;
	sp_redis_scene_open(&young, &options);
	read_three(&old, keys, got);
	assert_true(got[0] == 1 && got[1] == 1 && got[2] == -1);
	read_three(&young, keys, got);
	assert_true(got[0] == 1 && got[1] == 1 && got[2] == -1);

	put_by_hps(1, keys[0], 2);
	remove_by_hps(1, keys[1]);
	put_by_hps(1, keys[2], 3);
	for (int i = 0; i < 4000; i++) {
		read_three(&young, keys, got);
		if (got[0] == 2 && got[1] == -1 && got[2] == 3)
			break;
		assert_true((got[0] == 1 || got[0] == 2) && (got[1] == 1 || got[1] == -1) &&
			    (got[2] == -1 || got[2] == 3));
		usleep(10000);
	}
	assert_true(got[0] == 2 && got[1] == -1 && got[2] == 3);
	read_three(&old, keys, got);
	assert_true(got[0] == 1 && got[1] == 1 && got[2] == -1);

	/* Times are HPS's: nothing of ours is written there, and they are no rows. */
	times = times_of(sp_redis_scene_hash(SP_REDIS_HPS, 1, keys[0], &(sp_redis_version){0}));
	batch = sp_redis_batch_create(sp_redis_scene_client);
	sp_redis_scene_begin(batch, 2, "HLEN", times);
	assert_ok(sp_redis_batch_run(batch,
				     &(sp_redis_submit_options){
					     .deadline_ns = sp_clock_now_ns() +
							    (int64_t)SP_REDIS_SCENE_LONG_MS * MS},
				     &err),
		  &err);
	assert_in_range(sp_redis_batch_reply(batch, 0)->integer, 1, 2);
	sp_redis_batch_release(batch);
	sp_redis_scene_close(&young);
	sp_redis_scene_close(&old);
}

/* ---- opening ---- */

static void a_version_that_is_not_there_is_refused(void **state)
{
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	const sp_redis_version version = sp_redis_scene_version(SP_ROW_FP32);
	sp_redis_table_options table = {
		.name = sp_redis_scene_tables[1], .dim = DIM, .key_size = 8};
	sp_redis_store *store;
	sp_tier *none;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	options.full = 41;
	sp_redis_scene_refuse(&options, SP_NOT_FOUND, "does not have version 41 of model 'm' yet");
	options.full = SP_REDIS_SCENE_FULL;
	options.content++;
	sp_redis_scene_refuse(&options, SP_NOT_FOUND, "another checkpoint");
	options.content--;
	sp_redis_scene_tell("DEL", sp_redis_hash_name(sp_redis_scene_arena, "m",
						      sp_redis_scene_tables[1], &version, 1));
	assert_ok(sp_redis_store_open(&store, &options, &err), &err);
	assert_int_equal(sp_redis_tier_open(&none, store, &table, &err), SP_IO);
	assert_non_null(strstr(err.text, "does not have all of table 'item'"));
	sp_redis_store_release(store);
	sp_redis_scene_tell("SET", "m@42", "nonsense");
	sp_redis_scene_refuse(&options, SP_CORRUPT, "not a record");

	options = sp_redis_scene_options(SP_REDIS_DEEPREC);
	sp_redis_scene_refuse(&options, SP_NOT_FOUND, "no database of Redis is active");
	sp_redis_scene_fill(SP_REDIS_DEEPREC, SP_ROW_FP32);
	options.full = 41;
	sp_redis_scene_refuse(&options, SP_NOT_FOUND, "Redis has version 42 and not 41");
	options.is_cluster = true;
	sp_redis_scene_refuse(&options, SP_UNSUPPORTED, "databases");
}

static void deeprec_s_other_database_is_found(void **state)
{
	const sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_DEEPREC);
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_DEEPREC, SP_ROW_FP32);
	sp_redis_scene_tell("SWAPDB", "0", "1");
	sp_redis_scene_open(&s, &options);
	sp_redis_scene_ask_well(&s, SP_ROW_FP32, 2);
	sp_redis_scene_close(&s);
}

static void tables_that_are_not_counted_hold_as_many_rows(void **state)
{
	const sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_TFRA);
	sp_redis_table_options table = {.key_size = 8};
	sp_redis_store *store;
	sp_tier *narrow, *wide;
	size_t least, most;

	(void)state;
	assert_ok(sp_redis_store_open(&store, &options, &err), &err);
	table.name = "narrow";
	table.dim = 2;
	assert_ok(sp_redis_tier_open(&narrow, store, &table, &err), &err);
	table.name = "wide";
	table.dim = 62; /* 256 bytes with the key, 16 times as many */
	assert_ok(sp_redis_tier_open(&wide, store, &table, &err), &err);
	assert_ok(sp_redis_store_divide_cache(store, &err), &err);
	least = narrow->kind->footprint(narrow);
	most = wide->kind->footprint(wide);
	assert_in_range(least + most, options.cache_bytes * 9 / 10, options.cache_bytes + 2048);
	assert_in_range(most / least, 14, 16);
	sp_tier_release(narrow);
	sp_tier_release(wide);
	sp_redis_store_release(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_is_read),
		cmocka_unit_test(every_format_of_ours_is_read),
		cmocka_unit_test(what_was_read_is_in_memory),
		cmocka_unit_test(a_small_table_takes_little_memory),
		cmocka_unit_test(repeats_are_asked_for_once),
		cmocka_unit_test(nothing_is_allocated_after_a_while),
		cmocka_unit_test(calls_at_once_get_right_rows),
		cmocka_unit_test(rows_without_a_version_are_asked_for_again),
		cmocka_unit_test(what_hps_writes_and_evicts_is_seen_in_time),
		cmocka_unit_test(a_version_that_is_not_there_is_refused),
		cmocka_unit_test(deeprec_s_other_database_is_found),
		cmocka_unit_test(tables_that_are_not_counted_hold_as_many_rows),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis_tier", tests, sp_redis_scene_set_up,
					   sp_redis_scene_tear_down);
}
