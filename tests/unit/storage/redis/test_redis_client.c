#include "tests/support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "storage/redis/redis_client.h"
#include "tests/support/redis_process.h"

enum { MS = 1000000 };

static sp_redis_process process;
static sp_redis_client *client;
static sp_error err;

static int64_t in_ms(int64_t ms)
{
	return sp_clock_now_ns() + ms * MS;
}

static sp_redis_client *open_at(const char *text, const char *user, const char *password)
{
	sp_redis_address address;
	sp_redis_client *out;

	assert_ok(sp_redis_address_parse(&address, text, &err), &err);
	assert_ok(sp_redis_address_set_user(&address, user, password, &err), &err);
	assert_ok(sp_redis_client_create(&out,
					 &(sp_redis_client_options){.address = &address,
								    .silence_ms = 400,
								    .longest_pause_ms = 50},
					 &err),
		  &err);
	return out;
}

static void add_words(sp_redis_batch *batch, size_t count, const char *const *words)
{
	sp_redis_batch_begin(batch, count > 1 ? words[1] : NULL, count > 1 ? strlen(words[1]) : 0,
			     count);
	for (size_t i = 0; i < count; i++)
		sp_redis_batch_add_text(batch, words[i]);
}

#define add(batch, ...)                                                               \
	add_words(batch, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
		  (const char *const[]){__VA_ARGS__})

static void assert_text(const sp_redis_value *value, const char *text)
{
	assert_int_equal(value->size, strlen(text));
	assert_string_equal(value->text, text);
}

static void every_kind_of_answer_is_read(void **state)
{
	sp_redis_batch *batch = sp_redis_batch_create(client);
	const sp_redis_submit_options how = {.deadline_ns = in_ms(5000)};
	const sp_redis_value *answer;

	(void)state;
	add(batch, "SET", "k", "value");
	add(batch, "GET", "k");
	add(batch, "GET", "none");
	add(batch, "DEL", "none");
	add(batch, "HSET", "h", "a", "1", "b", "2");
	add(batch, "HMGET", "h", "a", "x", "b");
	add(batch, "EVAL", "return {1,{2,{'x'}},'y'}", "0");
	assert_int_equal(sp_redis_batch_count(batch), 7);
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	assert_int_equal(sp_redis_batch_reply(batch, 0)->kind, SP_REDIS_STATUS);
	assert_text(sp_redis_batch_reply(batch, 0), "OK");
	assert_int_equal(sp_redis_batch_reply(batch, 1)->kind, SP_REDIS_STRING);
	assert_text(sp_redis_batch_reply(batch, 1), "value");
	assert_int_equal(sp_redis_batch_reply(batch, 2)->kind, SP_REDIS_NIL);
	assert_int_equal(sp_redis_batch_reply(batch, 3)->kind, SP_REDIS_INTEGER);
	assert_int_equal(sp_redis_batch_reply(batch, 3)->integer, 0);
	assert_int_equal(sp_redis_batch_reply(batch, 4)->integer, 2);
	answer = sp_redis_batch_reply(batch, 5);
	assert_int_equal(answer[0].kind, SP_REDIS_ARRAY);
	assert_int_equal(answer[0].integer, 3);
	assert_text(&answer[1], "1");
	assert_int_equal(answer[2].kind, SP_REDIS_NIL);
	assert_int_equal(answer[2].index, 1);
	assert_text(&answer[3], "2");
	answer = sp_redis_batch_reply(batch, 6);
	assert_int_equal(answer[1].integer, 1);
	assert_int_equal(answer[2].kind, SP_REDIS_ARRAY);
	assert_int_equal(answer[3].depth, 2);
	assert_int_equal(answer[5].depth, 3);
	assert_text(&answer[6], "y");
	sp_redis_batch_release(batch);
}

static void an_error_is_told_and_the_others_are_answered(void **state)
{
	sp_redis_batch *batch = sp_redis_batch_create(client);
	const sp_redis_submit_options how = {.deadline_ns = in_ms(5000)};

	(void)state;
	add(batch, "SET", "text", "x");
	add(batch, "HGET", "text", "f");
	add(batch, "GET", "text");
	assert_int_equal(sp_redis_batch_run(batch, &how, &err), SP_IO);
	assert_non_null(strstr(err.text, "WRONGTYPE"));
	assert_int_equal(sp_redis_batch_reply(batch, 1)->kind, SP_REDIS_ERROR);
	assert_text(sp_redis_batch_reply(batch, 2), "x");
	sp_redis_batch_release(batch);
}

static void incomplete_and_empty_batches_are_seen(void **state)
{
	sp_redis_batch *batch = sp_redis_batch_create(client);
	const sp_redis_submit_options how = {.deadline_ns = in_ms(5000)};

	(void)state;
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	sp_redis_batch_release(batch);
	batch = sp_redis_batch_create(client);
	sp_redis_batch_begin(batch, NULL, 0, 2);
	sp_redis_batch_add_text(batch, "GET");
	assert_int_not_equal(sp_redis_batch_submit(batch, &how, &err), SP_OK);
	sp_redis_batch_release(batch);
}

/* ---- many, from many threads ---- */

enum { THREADS = 4, ROUNDS = 50, KEYS = 200, ROW = 100 };

static sp_status ask_for_rows(void *context, size_t part, sp_error *error)
{
	(void)context;
	for (size_t round = 0; round < ROUNDS; round++) {
		sp_redis_batch *batch = sp_redis_batch_create(client);
		const sp_redis_submit_options how = {.deadline_ns = in_ms(20000),
						     .is_read_only = true};
		const sp_redis_value *answer;

		sp_redis_batch_begin(batch, "rows", 4, 2 + KEYS);
		sp_redis_batch_add_text(batch, "HMGET");
		sp_redis_batch_add_text(batch, "rows");
		for (uint32_t k = 0; k < KEYS; k++) {
			uint32_t key = (uint32_t)(part * 31 + round * 7 + k * 3) % 1000;

			sp_redis_batch_add(batch, &key, sizeof(key));
		}
		SP_TRY(sp_redis_batch_run(batch, &how, error));
		answer = sp_redis_batch_reply(batch, 0);
		for (uint32_t k = 0; k < KEYS; k++) {
			uint32_t key = (uint32_t)(part * 31 + round * 7 + k * 3) % 1000, found;

			if (answer[1 + k].size != ROW)
				return sp_error_set(error, SP_CORRUPT, "%zu bytes",
						    answer[1 + k].size);
			memcpy(&found, answer[1 + k].text, sizeof(found));
			if (found != key)
				return sp_error_set(error, SP_CORRUPT, "another row");
		}
		sp_redis_batch_release(batch);
	}
	return SP_OK;
}

static void threads_get_their_own_rows(void **state)
{
	sp_redis_batch *batch = sp_redis_batch_create(client);
	const sp_redis_submit_options how = {.deadline_ns = in_ms(20000)};

	(void)state;
	for (uint32_t key = 0; key < 1000; key++) {
		char row[ROW] = {0};

		memcpy(row, &key, sizeof(key));
		sp_redis_batch_begin(batch, "rows", 4, 4);
		sp_redis_batch_add_text(batch, "HSET");
		sp_redis_batch_add_text(batch, "rows");
		sp_redis_batch_add(batch, &key, sizeof(key));
		sp_redis_batch_add(batch, row, sizeof(row));
	}
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	sp_redis_batch_release(batch);
	assert_ok(sp_parallel_run(THREADS, THREADS, ask_for_rows, NULL, &err), &err);
}

static void nothing_is_allocated_after_a_while(void **state)
{
	uint64_t before;

	(void)state;
	/* What the client's thread has not given back yet is made anew, a few times. */
	for (unsigned round = 0;; round++) {
		before = sp_alloc_count();
		assert_ok(ask_for_rows(NULL, 0, &err), &err);
		if (sp_alloc_count() == before)
			break;
		assert_true(round < 20);
	}
}

/* ---- faults ---- */

static sp_status ping(sp_redis_client *to, int64_t ms, bool fail_fast)
{
	const sp_redis_submit_options how = {.deadline_ns = in_ms(ms), .fail_fast = fail_fast};
	sp_redis_batch *batch = sp_redis_batch_create(to);
	sp_status status;

	add(batch, "PING");
	status = sp_redis_batch_run(batch, &how, &err);
	sp_redis_batch_release(batch);
	return status;
}

static void wait_until_up(sp_redis_client *to, bool up)
{
	sp_redis_counters counters;

	for (int i = 0; i < 4000; i++) {
		sp_redis_client_counters(to, &counters);
		if ((counters.servers_up != 0) == up)
			return;
		usleep(2500);
	}
	fail_msg("Redis does not become %s", up ? "up" : "down");
}

static void a_server_that_comes_back_is_used_again(void **state)
{
	int64_t before;

	(void)state;
	sp_redis_kill(&process);
	wait_until_up(client, false);
	/* The link is tried once more before it counts as down. */
	while (ping(client, 1000, true) == SP_DEADLINE)
		continue;
	before = sp_clock_now_ns();
	assert_int_equal(ping(client, 20000, true), SP_IO);
	assert_true(sp_clock_now_ns() - before < (int64_t)10000 * MS);
	/* The reason may come before the deadline is seen. */
	assert_int_not_equal(ping(client, 30, false), SP_OK);
	sp_redis_restart(&process);
	assert_ok(ping(client, 20000, false), &err);
}

static void who_leaves_a_silent_server_leaves_its_memory(void **state)
{
	sp_redis_counters counters, before;

	(void)state;
	sp_redis_client_counters(client, &before);
	sp_redis_pause(&process);
	assert_int_equal(ping(client, 30, true), SP_DEADLINE);
	assert_int_equal(ping(client, 30, false), SP_DEADLINE);
	do { /* the server owes answers for too long */
		usleep(10000);
		sp_redis_client_counters(client, &counters);
	} while (counters.losses == before.losses);
	sp_redis_continue(&process);
	assert_ok(ping(client, 20000, false), &err);
}

static void note_done(void *owner)
{
	atomic_store((atomic_bool *)owner, true);
}

static bool is_done(void *owner)
{
	return atomic_load((atomic_bool *)owner);
}

/*
 * Asks, kills the server then if `kills`, and reads until there is an answer, for at most 20 s;
 * returns how long that took.
 */
static int64_t read_answer(bool kills)
{
	static const sp_redis_callbacks sink = {.on_done = note_done};
	atomic_bool done = false;
	const sp_redis_submit_options how = {.deadline_ns = in_ms(kills ? 100 : 20000),
					     .caller_reads = true,
					     .callbacks = &sink,
					     .owner = &done};
	sp_redis_batch *batch = sp_redis_batch_create(client);
	int64_t before = sp_clock_now_ns();

	add(batch, "PING");
	assert_ok(sp_redis_batch_submit(batch, &how, &err), &err);
	if (kills)
		sp_redis_kill(&process);
	sp_redis_client_read(client, in_ms(20000), is_done, &done);
	sp_redis_client_stop_reading(client);
	while (!atomic_load(&done)) /* the answer, and the owner, are the thread's */
		usleep(1000);
	sp_redis_batch_release(batch);
	return sp_clock_now_ns() - before;
}

static void a_caller_reads_in_place_of_the_thread(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		assert_true(read_answer(false) < (int64_t)10000 * MS);
		if (i % 10 == 0) /* the thread has to read this one */
			assert_ok(ping(client, 20000, false), &err);
	}
}

static void who_reads_is_told_what_the_thread_ends(void **state)
{
	(void)state;
	sp_redis_pause(&process);
	assert_true(read_answer(true) < (int64_t)10000 * MS);
	sp_redis_restart(&process);
	assert_ok(ping(client, 20000, false), &err);
}

static void destroying_answers_everyone(void **state)
{
	sp_redis_client *other;
	const sp_redis_submit_options how = {0};
	char text[SP_PATH_SIZE + 32];
	sp_redis_batch *batch;

	(void)state;
	other = open_at(sp_redis_unix(&process, text), NULL, NULL);
	assert_ok(ping(other, 20000, false), &err);
	sp_redis_pause(&process);
	batch = sp_redis_batch_create(other);
	add(batch, "PING");
	assert_ok(sp_redis_batch_submit(batch, &how, &err), &err);
	sp_redis_batch_release(batch);
	sp_redis_client_destroy(other);
	sp_redis_continue(&process);
	sp_redis_client_destroy(NULL);
}

static int in_child(void)
{
	return ping(client, 1000, true) == SP_UNSUPPORTED ? 0 : 1;
}

static void a_forked_child_is_refused(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(in_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- who asks ---- */

static void users_passwords_and_databases_count(void **state)
{
	static const char *const more[] = {"--requirepass", "s3cr3t", "--user", "reader", "on",
					   ">s3cr3t",       "~*",     "+@all",  NULL};
	char text[SP_PATH_SIZE + 32], db[SP_PATH_SIZE + 64];
	sp_redis_process locked;
	sp_redis_client *one;
	sp_redis_batch *batch;
	sp_redis_submit_options how;

	(void)state;
	sp_redis_start(&locked, false, more);
	one = open_at(sp_redis_tcp(&locked, text), NULL, NULL);
	assert_int_equal(ping(one, 500, true), SP_IO);
	assert_non_null(strstr(err.text, "NOAUTH"));
	sp_redis_client_destroy(one);

	one = open_at(text, NULL, "wrong");
	while (ping(one, 1000, true) == SP_DEADLINE)
		continue;
	assert_int_equal(err.status, SP_IO);
	sp_redis_client_destroy(one);

	one = open_at(text, NULL, "s3cr3t");
	assert_ok(ping(one, 20000, false), &err);
	sp_redis_client_destroy(one);

	snprintf(db, sizeof(db), "redis://reader:s3cr3t@%s/3", text);
	one = open_at(db, NULL, NULL);
	how = (sp_redis_submit_options){.deadline_ns = in_ms(20000)};
	batch = sp_redis_batch_create(one);
	add(batch, "CLIENT", "INFO");
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	assert_non_null(strstr(sp_redis_batch_reply(batch, 0)->text, " db=3 "));
	assert_non_null(strstr(sp_redis_batch_reply(batch, 0)->text, " user=reader "));
	sp_redis_batch_release(batch);
	sp_redis_client_destroy(one);
	sp_redis_end(&locked);
}

static void addresses_must_fit_the_kind_of_server(void **state)
{
	static const struct {
		const char *text;
		bool is_cluster;
	} wrong[] = {{"a:1,b:2", false}, {"redis://a/1", true}, {"unix:/x", true}};
	sp_redis_address address;
	sp_redis_client *none;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const sp_redis_client_options options = {.address = &address,
							 .is_cluster = wrong[i].is_cluster};

		assert_ok(sp_redis_address_parse(&address, wrong[i].text, &err), &err);
		assert_int_equal(sp_redis_client_create(&none, &options, &err), SP_INVALID);
	}
}

static int set_up(void **state)
{
	char text[SP_PATH_SIZE + 32];

	(void)state;
	sp_redis_start(&process, false, NULL);
	client = open_at(sp_redis_tcp(&process, text), NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_redis_client_destroy(client);
	sp_redis_end(&process);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_answer_is_read),
		cmocka_unit_test(an_error_is_told_and_the_others_are_answered),
		cmocka_unit_test(incomplete_and_empty_batches_are_seen),
		cmocka_unit_test(threads_get_their_own_rows),
		cmocka_unit_test(nothing_is_allocated_after_a_while),
		cmocka_unit_test(a_server_that_comes_back_is_used_again),
		cmocka_unit_test(who_leaves_a_silent_server_leaves_its_memory),
		cmocka_unit_test(a_caller_reads_in_place_of_the_thread),
		cmocka_unit_test(who_reads_is_told_what_the_thread_ends),
		cmocka_unit_test(destroying_answers_everyone),
		cmocka_unit_test(a_forked_child_is_refused),
		cmocka_unit_test(users_passwords_and_databases_count),
		cmocka_unit_test(addresses_must_fit_the_kind_of_server),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis_client", tests, set_up, tear_down);
}
