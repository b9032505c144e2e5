#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/publication_scene.h"

/* In our layout. */

static sp_error err;

#define assert_answer(text, ...) assert_string_equal(sp_pub_ask(__VA_ARGS__), text)

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static sp_redis_publication_counts publish_as(const sp_redis_publication_options *options)
{
	sp_redis_publication *p = sp_pub_open(options);
	sp_redis_publication_counts counts;

	sp_pub_write(p, "user");
	sp_pub_write(p, "item/part_0");
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	counts = sp_redis_publication_counts_of(p);
	sp_redis_publication_close(p);
	return counts;
}

static sp_redis_publication_counts publish(int64_t full, uint64_t checksum)
{
	sp_redis_publication_options options = sp_pub_options(full, checksum);

	return publish_as(&options);
}

static const char *hash_of(const char *table, int64_t full, uint64_t checksum, size_t partition)
{
	sp_redis_version version = {
		.full = full, .checksum = checksum, .partitions = SP_PUB_PARTITIONS};

	return sp_redis_hash_name(sp_pub_arena, "ctr", table, &version, partition);
}

static void assert_rows_are_there(const char *table, int64_t full, uint64_t checksum,
				  sp_row_format format)
{
	char field[8], want[4 * SP_PUB_DIM + 4];
	size_t size = sp_row_format_size(format, SP_PUB_DIM);

	for (size_t i = 0; i < SP_PUB_ROWS; i += 97) {
		const char *row = sp_pub_stored(
			0,
			hash_of(table, full, checksum,
				sp_redis_partition((uint64_t)sp_pub_keys[i], SP_PUB_PARTITIONS)),
			field, sp_redis_field(field, sp_pub_keys[i], 8), size);

		assert_non_null(row);
		sp_row_codec_find(format)->encode(SP_PUB_DIM, sp_pub_rows[i], want);
		assert_memory_equal(row, want, size);
	}
}

/* ----------------------------------------------------------------- versioned */

static void a_version_is_seen_when_it_is_complete(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 0xabc);
	sp_redis_publication *p = sp_pub_open(&options);
	sp_redis_publication_counts counts;
	size_t total = 0;

	(void)state;
	sp_pub_write(p, "user");
	sp_pub_write(p, "item/part_0");
	assert_answer("(nil)", "GET", "ctr.current");
	assert_answer("(nil)", "GET", "ctr@100");
	assert_true(atoi(sp_pub_ask("TTL", hash_of("user", 100, 0xabc, 0))) > 0);
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	counts = sp_redis_publication_counts_of(p);
	sp_redis_publication_close(p);
	assert_int_equal(counts.tables, 2);
	assert_int_equal(counts.rows_sent, 2 * SP_PUB_ROWS);
	assert_true(counts.rows_compared >= 2 * 100);

	assert_answer("full=100 delta=0 checksum=0000000000000abc partitions=8 format=fp32", "GET",
		      "ctr.current");
	assert_string_equal(sp_pub_ask("GET", "ctr@100"), sp_pub_ask("GET", "ctr.current"));
	assert_answer("(nil)", "GET", "ctr.lock");
	for (size_t i = 0; i < SP_PUB_PARTITIONS; i++) {
		const char *hash = hash_of("user", 100, 0xabc, i);

		assert_answer("0000000000000abc", "HGET", hash, "#");
		total += (size_t)atoi(sp_pub_ask("HGET", hash, "#rows"));
		assert_int_equal(atoi(sp_pub_ask("HLEN", hash)),
				 atoi(sp_pub_ask("HGET", hash, "#rows")) + 2);
		assert_answer("-1", "TTL", hash);
	}
	assert_int_equal(total, SP_PUB_ROWS);
	assert_rows_are_there("user", 100, 0xabc, SP_ROW_FP32);
	assert_rows_are_there("item/part_0", 100, 0xabc, SP_ROW_FP32);
}

static void publishing_again_writes_nothing(void **state)
{
	sp_redis_publication_counts counts;

	(void)state;
	publish(100, 0xabc);
	counts = publish(100, 0xabc);
	assert_int_equal(counts.tables_there, 2);
	assert_int_equal(counts.rows_sent, 0);
	assert_rows_are_there("user", 100, 0xabc, SP_ROW_FP32);
}

static void rows_are_stored_in_every_format(void **state)
{
	static const sp_row_format formats[] = {SP_ROW_FP16, SP_ROW_BF16, SP_ROW_INT8};
	sp_redis_publication_options options;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		options = sp_pub_options(200 + (int64_t)i, 7 + i);
		options.version.format = formats[i];
		publish_as(&options);
		assert_rows_are_there("user", 200 + (int64_t)i, 7 + i, formats[i]);
	}
}

static void the_later_row_of_a_key_counts_and_marked_keys_are_left_out(void **state)
{
	const int64_t repeated[5] = {7, -1, 7, -2, -9};
	const float values[5][SP_PUB_DIM] = {{1}, {2}, {3}, {4}, {5}};
	sp_redis_publication_options options = sp_pub_options(100, 1);
	sp_redis_publication *p = sp_pub_open(&options);
	char field[8];
	const char *row;

	(void)state;
	assert_true(sp_pub_begin(p, "user"));
	assert_ok(sp_redis_publication_put(p, repeated, values, 5, &err), &err);
	assert_ok(sp_redis_publication_end(p, &err), &err);
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
	row = sp_pub_stored(0, hash_of("user", 100, 1, sp_redis_partition(7, SP_PUB_PARTITIONS)),
			    field, sp_redis_field(field, 7, 8), sizeof(values[0]));
	assert_memory_equal(row, values[2], sizeof(values[0]));
	row = sp_pub_stored(
		0, hash_of("user", 100, 1, sp_redis_partition((uint64_t)-9, SP_PUB_PARTITIONS)),
		field, sp_redis_field(field, -9, 8), sizeof(values[0]));
	assert_memory_equal(row, values[4], sizeof(values[0]));
	row = sp_pub_stored(
		0, hash_of("user", 100, 1, sp_redis_partition((uint64_t)-1, SP_PUB_PARTITIONS)),
		field, sp_redis_field(field, -1, 8), sizeof(values[0]));
	assert_null(row);
}

static void what_was_acknowledged_is_not_sent_again(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 0xabc);
	sp_redis_publication *p = sp_pub_open(&options);
	sp_redis_publication_counts counts;

	(void)state;
	sp_pub_write(p, "user");
	assert_true(sp_pub_begin(p, "item/part_0"));
	sp_pub_put(p, 3400);
	sp_redis_publication_close(p);
	assert_answer("(nil)", "GET", "ctr.current");

	counts = publish(100, 0xabc);
	assert_int_equal(counts.tables_there, 1);
	assert_int_equal(counts.rows, SP_PUB_ROWS);
	assert_int_equal(counts.rows_there, 3400);
	assert_int_equal(counts.rows_sent, SP_PUB_ROWS - 3400);
	assert_rows_are_there("item/part_0", 100, 0xabc, SP_ROW_FP32);
}

static void rows_that_were_others_before_are_written_again(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 0xabc);
	sp_redis_publication *p = sp_pub_open(&options);
	float saved = sp_pub_rows[1000][2];

	(void)state;
	sp_pub_rows[1000][2] = -1; /* as from a broken file, which is then repaired */
	assert_true(sp_pub_begin(p, "user"));
	sp_pub_put(p, 3400);
	sp_redis_publication_close(p);
	sp_pub_rows[1000][2] = saved;
	p = sp_pub_open(&options);
	assert_true(sp_pub_begin(p, "user"));
	assert_ok(sp_redis_publication_put(p, sp_pub_keys, sp_pub_rows, 3000, &err), &err);
	assert_int_equal(
		sp_redis_publication_put(p, sp_pub_keys + 3000, sp_pub_rows + 3000, 2000, &err),
		SP_IO);
	sp_redis_publication_close(p);
	assert_int_equal(publish(100, 0xabc).rows_there, 0);
	assert_rows_are_there("user", 100, 0xabc, SP_ROW_FP32);
}

static void what_is_lost_meanwhile_is_written_again(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 0xabc);
	sp_redis_publication *p = sp_pub_open(&options);
	sp_redis_publication_counts counts;

	(void)state;
	sp_pub_write(p, "user");
	assert_true(sp_pub_begin(p, "item/part_0"));
	sp_pub_put(p, 3400);
	sp_redis_publication_close(p);
	sp_pub_ask("DEL", hash_of("user", 100, 0xabc, 3));
	sp_pub_ask("DEL", hash_of("item/part_0", 100, 0xabc, 5));
	counts = publish(100, 0xabc);
	assert_int_equal(counts.tables_there, 0);
	assert_int_equal(counts.rows_sent, 2 * SP_PUB_ROWS);
	assert_rows_are_there("user", 100, 0xabc, SP_ROW_FP32);
	assert_rows_are_there("item/part_0", 100, 0xabc, SP_ROW_FP32);
}

static void a_version_that_lost_keys_is_not_made_current(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 0xabc);
	sp_redis_publication *p = sp_pub_open(&options);

	(void)state;
	sp_pub_write(p, "user");
	sp_pub_ask("DEL", hash_of("user", 100, 0xabc, 2));
	assert_int_equal(sp_redis_publication_finish(p, &err), SP_CORRUPT);
	sp_redis_publication_close(p);
	assert_answer("(nil)", "GET", "ctr.current");
	assert_answer("(nil)", "GET", "ctr@100");
}

static void rows_that_vanish_while_they_are_written_are_noticed(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 0xabc);
	sp_redis_publication *p = sp_pub_open(&options);

	(void)state;
	assert_true(sp_pub_begin(p, "user"));
	sp_pub_put(p, 3400);
	sp_pub_ask("DEL", hash_of("user", 100, 0xabc, 2));
	sp_pub_put(p, 1);
	assert_int_equal(sp_redis_publication_end(p, &err), SP_CORRUPT);
	sp_redis_publication_close(p);
}

static void rows_that_read_back_differently_are_noticed(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 0xabc);
	sp_redis_publication *p = sp_pub_open(&options);
	char field[8];

	(void)state;
	assert_true(sp_pub_begin(p, "user"));
	sp_pub_put(p, 100); /* all of them are compared */
	sp_redis_publication_close(p);
	p = sp_pub_open(&options);
	assert_true(sp_pub_begin(p, "user"));
	sp_redis_field(field, sp_pub_keys[50], 8);
	{
		sp_redis_batch *batch = sp_redis_batch_create(sp_pub_clients[0]);
		const sp_redis_submit_options how = {.deadline_ns = sp_clock_now_ns() + 5000000000};

		sp_redis_batch_begin(batch, NULL, 0, 4);
		sp_redis_batch_add_text(batch, "HSET");
		sp_redis_batch_add_text(batch, hash_of("user", 100, 0xabc,
						       sp_redis_partition((uint64_t)sp_pub_keys[50],
									  SP_PUB_PARTITIONS)));
		sp_redis_batch_add(batch, field, 8);
		sp_redis_batch_add_text(batch, "other");
		assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
		sp_redis_batch_release(batch);
	}
	sp_pub_put(p, 100);
	assert_int_equal(sp_redis_publication_end(p, &err), SP_CORRUPT);
	sp_redis_publication_close(p);
}

static void the_former_version_expires_and_can_be_gone_back_to(void **state)
{
	sp_redis_publication_options options = sp_pub_options(0, 0);
	sp_redis_version version;

	(void)state;
	publish(100, 1);
	publish(200, 2);
	assert_true(starts(sp_pub_ask("GET", "ctr.current"), "full=200 "));
	assert_non_null(strstr(sp_pub_ask("GET", "ctr.current"), " former=100"));
	assert_true(atoi(sp_pub_ask("TTL", "ctr@100")) > 80000);
	assert_true(atoi(sp_pub_ask("TTL", hash_of("user", 100, 1, 0))) >
		    atoi(sp_pub_ask("TTL", "ctr@100")));
	assert_answer("-1", "TTL", hash_of("user", 200, 2, 0));

	assert_ok(sp_redis_publication_rollback(&version, &options, -1, &err), &err);
	assert_int_equal(version.full, 100);
	assert_true(starts(sp_pub_ask("GET", "ctr.current"), "full=100 "));
	assert_non_null(strstr(sp_pub_ask("GET", "ctr.current"), " left=200"));
	assert_answer("-1", "TTL", "ctr@100");
	assert_answer("-1", "TTL", hash_of("item/part_0", 100, 1, 7));
	assert_answer("-1", "TTL", hash_of("user", 200, 2, 0)); /* it may be in use */

	publish(100, 1);
	assert_non_null(
		strstr(sp_pub_ask("GET", "ctr.current"), " left=200")); /* that is still so */

	assert_ok(sp_redis_publication_rollback(&version, &options, 200, &err), &err);
	assert_null(strstr(sp_pub_ask("GET", "ctr.current"), "left="));
	assert_true(starts(sp_pub_ask("GET", "ctr.current"), "full=200 "));
	assert_int_equal(sp_redis_publication_rollback(&version, &options, 300, &err),
			 SP_NOT_FOUND);
	sp_pub_ask("DEL", hash_of("user", 100, 1, 4));
	assert_int_equal(sp_redis_publication_rollback(&version, &options, -1, &err), SP_CORRUPT);
	assert_true(starts(sp_pub_ask("GET", "ctr.current"), "full=200 "));
	assert_answer("(nil)", "GET", "ctr.lock");
}

static void a_version_that_is_read_is_kept(void **state)
{
	sp_redis_publication_options options;

	(void)state;
	publish(100, sp_redis_checksum(11, SP_PUB_PARTITIONS, SP_ROW_FP32));
	options = sp_pub_options(200, 2);
	options.keep_seconds = 50;
	publish_as(&options);
	assert_true(atoi(sp_pub_ask("TTL", "ctr@100")) <= 50);
	options = sp_pub_options(100, 0);
	assert_ok(sp_redis_publication_keep(&options, 11, &err), &err);
	assert_true(atoi(sp_pub_ask("TTL", "ctr@100")) > 80000);
	assert_true(atoi(sp_pub_ask("TTL",
				    hash_of("user", 100,
					    sp_redis_checksum(11, SP_PUB_PARTITIONS, SP_ROW_FP32),
					    3))) > atoi(sp_pub_ask("TTL", "ctr@100")));
	assert_int_equal(sp_redis_publication_keep(&options, 12, &err), SP_NOT_FOUND);
	options = sp_pub_options(200, 0);
	assert_int_equal(sp_redis_publication_keep(&options, 12, &err), SP_NOT_FOUND);
	assert_answer("-1", "TTL", "ctr@200"); /* one that does not expire goes on so */
	options = sp_pub_options(300, 0);
	assert_int_equal(sp_redis_publication_keep(&options, 12, &err), SP_NOT_FOUND);
}

static void an_older_version_may_be_told_to_stay_behind(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 1);
	sp_redis_publication *p;

	(void)state;
	publish(200, 2);
	options.never_older = true;
	publish_as(&options);
	assert_true(starts(sp_pub_ask("GET", "ctr.current"), "full=200 "));
	assert_true(starts(sp_pub_ask("GET", "ctr@100"), "full=100 "));
	assert_answer("-1", "TTL", hash_of("user", 200, 2, 0));
	assert_answer("-1", "TTL", hash_of("user", 100, 1, 0));

	sp_pub_ask("FLUSHALL");
	sp_pub_ask_db(1, "SET", "active", "1");
	sp_pub_ask_db(1, "SET", "model_version", "200,0");
	options.layout = SP_REDIS_DEEPREC;
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_NOT_FOUND);
	assert_string_equal(sp_pub_ask_db(1, "GET", "active"), "1");
}

static void other_content_of_the_same_step_is_another_version(void **state)
{
	(void)state;
	publish(100, 1);
	publish(100, 2);
	assert_true(starts(sp_pub_ask("GET", "ctr.current"),
			   "full=100 delta=0 checksum=0000000000000002 "));
	assert_answer("-1", "TTL", "ctr@100");
	assert_answer("-1", "TTL", hash_of("user", 100, 2, 0));
	assert_true(atoi(sp_pub_ask("TTL", hash_of("user", 100, 1, 0))) > 0);
}

static void one_publishes_at_a_time(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 1);
	sp_redis_publication *first = sp_pub_open(&options), *second;

	(void)state;
	assert_int_equal(sp_redis_publication_open(&second, &options, &err), SP_BUSY);
	sp_pub_ask("SET", "ctr.lock", "somebody else");
	sp_pub_write(first, "user");
	assert_int_equal(sp_redis_publication_finish(first, &err), SP_BUSY);
	sp_redis_publication_close(first);
	assert_answer("somebody else", "GET", "ctr.lock");
	assert_answer("(nil)", "GET", "ctr.current");
}

static void a_lock_is_waited_for(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 1);

	(void)state;
	sp_pub_ask("SET", "ctr.lock", "a killed publisher", "PX", "300");
	options.waits = true;
	publish_as(&options);
	assert_true(starts(sp_pub_ask("GET", "ctr.current"), "full=100 "));
}

static void publishing_can_be_stopped(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 1);
	atomic_bool stop = false;
	sp_redis_publication *p;

	(void)state;
	options.stop = &stop;
	options.rows_per_second = 10;
	p = sp_pub_open(&options);
	assert_true(sp_pub_begin(p, "user"));
	assert_ok(sp_redis_publication_put(p, sp_pub_keys, sp_pub_rows, 10, &err), &err);
	atomic_store(&stop, true);
	assert_int_equal(sp_redis_publication_put(p, sp_pub_keys, sp_pub_rows, 10, &err), SP_BUSY);
	sp_redis_publication_close(p);
	assert_answer("(nil)", "GET", "ctr.lock");
}

static void rows_are_written_at_the_rate_that_is_allowed(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 1);
	int64_t began = sp_clock_now_ns();

	(void)state;
	options.rows_per_second = 20000; /* all but the last slice of each table is waited for */
	publish_as(&options);
	assert_true(sp_clock_now_ns() - began > INT64_C(350000000));
}

static void keys_that_hold_something_else_are_left_alone(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 1);
	sp_redis_publication_table table = sp_pub_table("user");
	sp_redis_publication *p;
	bool is_there;

	(void)state;
	sp_pub_ask("LPUSH", "ctr.current", "x");
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_IO);
	assert_non_null(strstr(err.text, "ctr.current"));
	sp_pub_ask("DEL", "ctr.current");
	sp_pub_ask("SET", "ctr.current", "of somebody");
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_CORRUPT);
	assert_answer("of somebody", "GET", "ctr.current");
	sp_pub_ask("DEL", "ctr.current");
	sp_pub_ask("SET", hash_of("user", 100, 1, 3), "x");
	p = sp_pub_open(&options);
	assert_int_equal(sp_redis_publication_begin(p, &table, &is_there, &err), SP_IO);
	assert_non_null(strstr(err.text, "WRONGTYPE"));
	sp_redis_publication_close(p);
	assert_answer("x", "GET", hash_of("user", 100, 1, 3));
	assert_answer("(nil)", "GET", "ctr.current");
}

static void a_full_redis_is_given_its_memory_back(void **state)
{
	sp_redis_publication_options options = sp_pub_options(200, 2);
	sp_redis_publication *p;
	sp_status status = SP_OK;

	(void)state;
	publish(100, 1);
	sp_pub_ask("CONFIG", "SET", "maxmemory-policy", "noeviction");
	sp_pub_ask(
		"CONFIG", "SET", "maxmemory",
		sp_arena_printf(sp_pub_arena, "%lld",
				atoll(strstr(sp_pub_ask("INFO", "memory"), "used_memory:") + 12) +
					600000));
	p = sp_pub_open(&options);
	assert_true(sp_pub_begin(p, "user"));
	for (int64_t more = 0; more < 40 && status == SP_OK; more++) {
		for (size_t i = 0; i < SP_PUB_ROWS; i++)
			sp_pub_keys[i] += SP_PUB_ROWS * 7;
		status = sp_redis_publication_put(p, sp_pub_keys, sp_pub_rows, SP_PUB_ROWS, &err);
	}
	for (size_t i = 0; i < SP_PUB_ROWS; i++)
		sp_pub_keys[i] = (int64_t)i * 7 - 700;
	assert_int_equal(status, SP_IO);
	assert_non_null(strstr(err.text, "OOM"));
	sp_redis_publication_close(p);
	sp_pub_ask("CONFIG", "SET", "maxmemory", "0");
	assert_answer("0", "EXISTS", hash_of("user", 200, 2, 0));
	assert_true(starts(sp_pub_ask("GET", "ctr.current"), "full=100 "));
	assert_rows_are_there("user", 100, 1, SP_ROW_FP32);
}

/* True if the version is then current. */
static bool publish_few(void)
{
	sp_redis_publication_options options = sp_pub_options(100, 1);
	sp_redis_publication_table table = sp_pub_table("user");
	sp_redis_publication *p = NULL;
	sp_status status;
	bool is_there;

	options.version.partitions = 2;
	options.patience_seconds = 1;
	status = sp_redis_publication_open(&p, &options, &err);
	if (status == SP_OK)
		status = sp_redis_publication_begin(p, &table, &is_there, &err);
	if (status == SP_OK && !is_there) {
		status = sp_redis_publication_put(p, sp_pub_keys, sp_pub_rows, 20, &err);
		if (status == SP_OK)
			status = sp_redis_publication_end(p, &err);
	}
	if (status == SP_OK)
		status = sp_redis_publication_finish(p, &err);
	sp_redis_publication_close(p);
	return status == SP_OK;
}

static void without_memory_nothing_is_published(void **state)
{
	bool done = false;
	int failures = 0;

	(void)state;
	for (int64_t i = 0; !done; i += 1 + i / 20) {
		sp_pub_ask("DEL",
			   "ctr.lock"); /* which a publisher without memory may not give back */
		sp_alloc_fail_after(i);
		done = publish_few();
		sp_alloc_fail_after(-1);
		failures += !done;
		assert_true(done || strcmp(sp_pub_ask("GET", "ctr.current"), "(nil)") == 0 ||
			    strcmp(sp_pub_ask("GET", "ctr@100"), "(nil)") != 0);
	}
	assert_true(failures > 10);
	assert_true(starts(sp_pub_ask("GET", "ctr.current"), "full=100 "));
}

static void a_redis_that_is_killed_shows_no_half_version(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 1);
	sp_redis_publication *p = sp_pub_open(&options);
	sp_status status;

	(void)state;
	sp_pub_write(p, "user");
	assert_true(sp_pub_begin(p, "item/part_0"));
	sp_pub_put(p, 3400);
	sp_redis_kill(&sp_pub_process);
	sp_redis_restart(&sp_pub_process); /* and nothing is left */
	status = sp_redis_publication_put(p, sp_pub_keys + 3400, sp_pub_rows + 3400,
					  SP_PUB_ROWS - 3400, &err);
	if (status == SP_OK)
		status = sp_redis_publication_end(p, &err);
	if (status == SP_OK)
		status = sp_redis_publication_finish(p, &err);
	assert_int_not_equal(status, SP_OK);
	sp_redis_publication_close(p);
	assert_answer("(nil)", "GET", "ctr.current");
	publish(100, 1);
	assert_rows_are_there("item/part_0", 100, 1, SP_ROW_FP32);
}

/* One server that has all slots, and refuses commands with keys of two. */
static void a_cluster_is_published_to(void **state)
{
	sp_redis_publication_options options = sp_pub_options(100, 0xabc);
	sp_redis_process cluster;
	sp_redis_address saved = sp_pub_address;
	char text[SP_PATH_SIZE + 32];
	sp_redis_client *client = sp_pub_clients[0];

	(void)state;
	sp_redis_start(&cluster, true, NULL);
	assert_ok(sp_redis_address_parse(&sp_pub_address, sp_redis_tcp(&cluster, text), &err),
		  &err);
	assert_ok(sp_redis_client_create(&sp_pub_clients[0],
					 &(sp_redis_client_options){.address = &sp_pub_address},
					 &err),
		  &err);
	sp_pub_ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
	while (strstr(sp_pub_ask("CLUSTER", "INFO"), "cluster_state:ok") == NULL)
		usleep(5000);
	options.is_cluster = true;
	options.patience_seconds = 10;
	assert_int_equal(publish_as(&options).rows_sent, 2 * SP_PUB_ROWS);
	assert_rows_are_there("user", 100, 0xabc, SP_ROW_FP32);
	options = sp_pub_options(200, 0xabc);
	options.is_cluster = true;
	publish_as(&options);
	assert_true(atoi(sp_pub_ask("TTL", hash_of("user", 100, 0xabc, 7))) > 80000);
	sp_redis_client_destroy(sp_pub_clients[0]);
	sp_redis_end(&cluster);
	sp_pub_clients[0] = client;
	sp_pub_address = saved;
}

/* ------------------------------------------------------------------------ all */

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, sp_pub_clear)
		TEST(a_version_is_seen_when_it_is_complete),
		TEST(publishing_again_writes_nothing),
		TEST(rows_are_stored_in_every_format),
		TEST(the_later_row_of_a_key_counts_and_marked_keys_are_left_out),
		TEST(what_was_acknowledged_is_not_sent_again),
		TEST(rows_that_were_others_before_are_written_again),
		TEST(what_is_lost_meanwhile_is_written_again),
		TEST(a_version_that_lost_keys_is_not_made_current),
		TEST(rows_that_vanish_while_they_are_written_are_noticed),
		TEST(rows_that_read_back_differently_are_noticed),
		TEST(the_former_version_expires_and_can_be_gone_back_to),
		TEST(a_version_that_is_read_is_kept),
		TEST(an_older_version_may_be_told_to_stay_behind),
		TEST(other_content_of_the_same_step_is_another_version),
		TEST(one_publishes_at_a_time),
		TEST(a_lock_is_waited_for),
		TEST(publishing_can_be_stopped),
		TEST(rows_are_written_at_the_rate_that_is_allowed),
		TEST(keys_that_hold_something_else_are_left_alone),
		TEST(a_full_redis_is_given_its_memory_back),
		TEST(a_cluster_is_published_to),
		TEST(without_memory_nothing_is_published),
		TEST(a_redis_that_is_killed_shows_no_half_version),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis publication", tests, sp_pub_start, sp_pub_end);
}
