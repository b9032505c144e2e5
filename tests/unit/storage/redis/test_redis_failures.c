#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "tests/support/redis_scene.h"

/*
 * Redis is silent, down, or has something else than the version: keys get default rows or the read
 * fails, none counts as absent, and the log tells why.
 */
enum {
	MS = 1000000,
	DIM = SP_REDIS_SCENE_DIM,
	MANY = SP_REDIS_SCENE_MANY,
	SHORT_MS = 30,
};

static sp_error err;

/* The allocations of the client's thread fail as well. */
static void no_memory_is_an_error(void **state)
{
	sp_redis_store_options options = sp_redis_scene_file_options(SP_REDIS_VERSIONED);
	const sp_redis_table_options table = {
		.name = sp_redis_scene_tables[0], .dim = DIM, .key_size = 8};
	static sp_redis_scene_lookup q[2];
	sp_status status = SP_NO_MEMORY;
	int64_t n = 0;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	options.open_timeout_ms = options.timeout_ms = 2 * SHORT_MS;
	for (; status != SP_OK; n++) {
		sp_redis_store *store = NULL;
		sp_tier *tier = NULL;

		sp_alloc_fail_after(n);
		status = sp_redis_store_open(&store, &options, &err);
		if (status == SP_OK)
			status = sp_redis_tier_open(&tier, store, &table, &err);
		sp_alloc_fail_after(-1);
		sp_tier_release(tier);
		sp_redis_store_release(store);
		assert_true(n < 1000);
	}
	assert_true(n > 10);
	options.open_timeout_ms = SP_REDIS_SCENE_LONG_MS;
	sp_redis_scene_choose(q, MANY, 0);
	for (n = 0; n < 12; n++) {
		sp_redis_scene s;

		sp_redis_scene_open(&s, &options);
		sp_alloc_fail_after(n);
		status = sp_redis_scene_ask(&s, q, MANY, 0, &err);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		sp_redis_scene_close(&s);
	}
}

/* ---- faults ---- */

/* Keys without an answer. */
static uint64_t defaulted(const sp_redis_scene *s)
{
	return sp_test_tier_counters(s->tiers[0]).defaulted +
	       sp_test_tier_counters(s->tiers[1]).defaulted;
}

/* Redis does not answer: default rows, or a failure. */
static void ask_in_vain(const sp_redis_scene *s, sp_status wanted)
{
	static sp_redis_scene_lookup q[2];
	uint64_t before = sp_test_tier_counters(s->tiers[0]).defaulted;

	sp_redis_scene_choose(q, MANY, 77);
	assert_int_equal(sp_redis_scene_ask(s, q, MANY, 0, &err), wanted);
	assert_true(sp_test_tier_counters(s->tiers[0]).defaulted > before);
	for (size_t i = 0; i < MANY && wanted == SP_OK; i++)
		assert_false(q[0].found[i]);
}

/* Until nothing is without an answer, which is then right. */
static void ask_until_well(const sp_redis_scene *s)
{
	static sp_redis_scene_lookup q[2];

	for (int i = 0; i < 4000; i++) {
		uint64_t before = defaulted(s);

		sp_redis_scene_choose(q, MANY, 77);
		assert_ok(sp_redis_scene_ask(s, q, MANY, 0, &err), &err);
		if (defaulted(s) == before) {
			assert_ok(sp_redis_scene_check(q, MANY, SP_ROW_FP32, &err), &err);
			return;
		}
		usleep(2000);
	}
	fail_msg("Redis is not used again");
}

static void a_silent_redis_costs_the_limit_only(void **state)
{
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	sp_redis_scene s, strict;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	options.timeout_ms = SHORT_MS;
	sp_redis_scene_open(&s, &options);
	options.fail_on_timeout = true;
	sp_redis_scene_open(&strict, &options);
	sp_redis_pause(&sp_redis_scene_process);
	ask_in_vain(&s, SP_OK);
	ask_in_vain(&strict, SP_DEADLINE);
	assert_non_null(strstr(err.text, "table 'user/emb', Redis tier"));
	sp_redis_continue(&sp_redis_scene_process);
	/* The answers that nobody waited for go to the cache, and no key counts as absent. */
	ask_until_well(&s);
	sp_redis_scene_close(&s);
	sp_redis_scene_close(&strict);
}

static void a_request_s_own_deadline_counts(void **state)
{
	const sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	static sp_redis_scene_lookup q[2];
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	sp_redis_scene_open(&s, &options);
	sp_redis_pause(&sp_redis_scene_process);
	sp_redis_scene_choose(q, MANY, 3);
	assert_ok(sp_redis_scene_ask(&s, q, MANY, sp_clock_now_ns() + SHORT_MS * MS, &err), &err);
	assert_true(sp_test_tier_counters(s.tiers[0]).defaulted != 0);
	sp_redis_scene_close(&s); /* while answers are owed */
	sp_redis_continue(&sp_redis_scene_process);
}

static void a_redis_that_is_down_is_used_when_it_is_back(void **state)
{
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_VERSIONED);
	sp_redis_scene s, strict;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	sp_redis_scene_tell("SAVE");
	sp_redis_scene_open(&s, &options);
	options.fail_on_timeout = true;
	sp_redis_scene_open(&strict, &options);
	sp_redis_kill(&sp_redis_scene_process);
	options.open_timeout_ms = SHORT_MS;
	sp_redis_scene_refuse(&options, SP_IO, "cannot be reached");
	ask_in_vain(&s, SP_OK);
	ask_in_vain(&strict, SP_IO);
	assert_non_null(strstr(err.text, "cannot be reached"));
	sp_redis_restart(&sp_redis_scene_process);
	ask_until_well(&s);
	sp_redis_scene_close(&s);
	sp_redis_scene_close(&strict);
}

/* ---- what the log says ---- */

enum { OFTEN = 40, LINES = 12 }; /* lines at most, however often a cause is met */

/* Lines of the first table with `awaited`, the last one and how many; any thread may log. */
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *awaited;
static char told[512];
static size_t told_count;

static void listen_to_line(void *context, int level, const char *line)
{
	(void)context;
	pthread_mutex_lock(&told_lock);
	if (level == SP_LOG_WARNING && strstr(line, awaited) != NULL &&
	    strstr(line, "table 'user/emb'") != NULL) {
		snprintf(told, sizeof(told), "%s", line);
		told_count++;
	}
	pthread_mutex_unlock(&told_lock);
}

static void listen_for(const char *text)
{
	told_count = 0;
	awaited = text;
	sp_log_set_sink(listen_to_line, NULL);
}

static void assert_told(void)
{
	sp_log_set_sink(NULL, NULL);
	assert_in_range(told_count, 1, LINES);
	assert_non_null(strstr(told, sp_redis_scene_process.socket));
}

/* A command to Redis spoils it: keys are defaulted, and a few lines tell why. */
static void check_told(sp_redis_layout layout, const char *reason, const char *const words[4])
{
	const sp_redis_store_options options = sp_redis_scene_options(layout);
	size_t count = words[3] != NULL ? 4 : words[2] != NULL ? 3 : 2;
	static sp_redis_scene_lookup q[2];
	sp_redis_scene s;

	sp_redis_scene_fill(layout, SP_ROW_FP32);
	sp_redis_scene_open(&s, &options);
	sp_redis_scene_tell_words(count, words);
	listen_for(reason);
	sp_redis_scene_choose(q, MANY, 9);
	for (int i = 0; i < OFTEN; i++)
		assert_ok(sp_redis_scene_ask(&s, q, MANY, 0, &err), &err);
	assert_true(sp_test_tier_counters(s.tiers[0]).defaulted > 0);
	sp_redis_scene_close(&s);
	assert_told();
}

/* Hash 2 of the first table; the arena is emptied when Redis is filled. */
static void name_hash(char out[512])
{
	const sp_redis_version version = sp_redis_scene_version(SP_ROW_FP32);

	snprintf(out, 512, "%s",
		 sp_redis_hash_name(sp_redis_scene_arena, "m", sp_redis_scene_tables[0], &version,
				    2));
}

static void why_keys_are_defaulted_is_told(void **state)
{
	char hash[512];

	(void)state;
	name_hash(hash);
	check_told(SP_REDIS_VERSIONED, "does not have all rows",
		   (const char *const[4]){"DEL", hash});
	check_told(SP_REDIS_VERSIONED, "WRONGTYPE Operation against a key",
		   (const char *const[4]){"SET", hash, "x"});
	check_told(SP_REDIS_DEEPREC, "another version",
		   (const char *const[4]){"SET", SP_REDIS_DEEPREC_VERSION, "43,0"});
	check_told(SP_REDIS_HPS, "no permissions to run the 'hmget'",
		   (const char *const[4]){"ACL", "SETUSER", "default", "-hmget"});
	sp_redis_scene_tell("ACL", "SETUSER", "default", "+hmget");
}

/* Spoils what is in Redis; then no key may count as absent. */
static void check_spoiled(sp_redis_layout layout, const char *command, const char *key,
			  const char *value, const char *reason)
{
	sp_redis_store_options options = sp_redis_scene_options(layout);
	static sp_redis_scene_lookup q[2];
	sp_redis_scene s;

	sp_redis_scene_fill(layout, SP_ROW_FP32);
	options.fail_on_timeout = true;
	sp_redis_scene_open(&s, &options);
	sp_redis_scene_tell_words(value != NULL ? 3 : 2,
				  (const char *const[]){command, key, value});
	sp_redis_scene_choose(q, MANY, 9);
	assert_int_equal(sp_redis_scene_ask(&s, q, MANY, 0, &err), SP_IO);
	if (strstr(err.text, reason) == NULL)
		fail_msg("%s", err.text);
	assert_true(defaulted(&s) > 0);
	assert_true(sp_test_tier_counters(s.tiers[0]).errors == 1);
	sp_redis_scene_close(&s);
}

static void what_is_not_there_any_more_is_not_absent(void **state)
{
	char hash[512];

	(void)state;
	name_hash(hash);
	check_spoiled(SP_REDIS_VERSIONED, "DEL", hash, NULL, "does not have all rows");
}

static void another_type_or_version_is_refused(void **state)
{
	char hash[512];

	(void)state;
	name_hash(hash);
	check_spoiled(SP_REDIS_VERSIONED, "SET", hash, "x", "WRONGTYPE");
	check_spoiled(SP_REDIS_DEEPREC, "SET", SP_REDIS_DEEPREC_VERSION, "43,0", "another version");
	check_spoiled(SP_REDIS_DEEPREC, "DEL", SP_REDIS_DEEPREC_VERSION, NULL, "another version");
}

static void rows_of_another_size_are_refused(void **state)
{
	sp_redis_store_options options = sp_redis_scene_options(SP_REDIS_HPS);
	const sp_redis_table_options table = {
		.name = sp_redis_scene_tables[0], .dim = DIM + 1, .key_size = 8};
	static sp_redis_scene_lookup q[2];
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_HPS, SP_ROW_FP32);
	options.fail_on_timeout = true;
	sp_redis_scene_open(&s, &options);
	sp_tier_release(s.tiers[0]);
	assert_ok(sp_redis_tier_open(&s.tiers[0], s.store, &table, &err), &err);
	sp_redis_scene_choose(q, 8, 0);
	listen_for("another size");
	assert_int_equal(sp_redis_scene_ask(&s, q, 8, 0, &err), SP_IO);
	assert_told();
	assert_non_null(strstr(err.text, "another size"));
	sp_redis_scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(a_silent_redis_costs_the_limit_only),
		cmocka_unit_test(a_request_s_own_deadline_counts),
		cmocka_unit_test(a_redis_that_is_down_is_used_when_it_is_back),
		cmocka_unit_test(what_is_not_there_any_more_is_not_absent),
		cmocka_unit_test(why_keys_are_defaulted_is_told),
		cmocka_unit_test(another_type_or_version_is_refused),
		cmocka_unit_test(rows_of_another_size_are_refused),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis_failures", tests, sp_redis_scene_set_up,
					   sp_redis_scene_tear_down);
}
