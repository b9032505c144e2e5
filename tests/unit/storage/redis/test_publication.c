#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/redis/publication.h"
#include "storage/redis/redis_client.h"
#include "tests/support/redis_process.h"

/* Against a real redis-server: what is in it is asked with plain commands. */

enum { DIM = 4, ROWS = 5000, PARTITIONS = 8 };

static sp_redis_process process;
static sp_redis_address address;
static sp_redis_client *clients[2]; /* of databases 0 and 1 */
static sp_arena *arena;
static sp_error err;

static int64_t keys[ROWS];
static float rows[ROWS][DIM];

/* ---------------------------------------------------------------- questions */

/* The answer to a command, in the arena; an integer as its digits, an absent value as "(nil)". */
static const char *ask_in(int database, size_t count, const char *const *words)
{
	sp_redis_batch *batch = sp_redis_batch_create(clients[database]);
	const sp_redis_how how = {.deadline_ns = sp_clock_now_ns() + INT64_C(10000000000)};
	const sp_redis_value *value;
	const char *out;

	assert_non_null(batch);
	sp_redis_batch_begin(batch, NULL, 0, count);
	for (size_t i = 0; i < count; i++)
		sp_redis_batch_add_text(batch, words[i]);
	if (sp_redis_batch_run(batch, &how, &err) != SP_OK)
		fail_msg("%s %s: %s", words[0], count > 1 ? words[1] : "", err.text);
	value = sp_redis_batch_answer(batch, 0);
	if (value->kind == SP_REDIS_INTEGER)
		out = sp_arena_printf(arena, "%" PRId64, value->integer);
	else if (value->kind == SP_REDIS_NIL)
		out = "(nil)";
	else
		out = sp_arena_text(arena, (sp_bytes){value->text, value->size});
	assert_non_null(out);
	sp_redis_batch_release(batch);
	return out;
}

#define ask_db(database, ...)                                                           \
	ask_in((database), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
	       (const char *const[]){__VA_ARGS__})
#define ask(...) ask_db(0, __VA_ARGS__)

#define assert_answer(text, ...) assert_string_equal(ask(__VA_ARGS__), text)

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The stored row of a key; NULL: absent. */
static const char *stored(int database, const char *hash, const char *key, size_t key_size,
			  size_t size)
{
	sp_redis_batch *batch = sp_redis_batch_create(clients[database]);
	const sp_redis_how how = {.deadline_ns = sp_clock_now_ns() + INT64_C(10000000000)};
	const sp_redis_value *value;
	char *out = NULL;

	sp_redis_batch_begin(batch, NULL, 0, hash != NULL ? 3 : 2);
	sp_redis_batch_add_text(batch, hash != NULL ? "HGET" : "GET");
	if (hash != NULL)
		sp_redis_batch_add_text(batch, hash);
	sp_redis_batch_add(batch, key, key_size);
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	value = sp_redis_batch_answer(batch, 0);
	if (value->kind == SP_REDIS_STRING) {
		assert_int_equal(value->size, size);
		out = sp_arena_alloc(arena, size);
		memcpy(out, value->text, size);
	}
	sp_redis_batch_release(batch);
	return out;
}

/* -------------------------------------------------------------- publications */

static sp_redis_publication_options options_of(int64_t full, uint64_t checksum)
{
	return (sp_redis_publication_options){.address = &address,
					      .model = "ctr",
					      .version = {.full = full,
							  .checksum = checksum,
							  .partitions = PARTITIONS,
							  .former = -1},
					      .patience_seconds = 2};
}

static sp_redis_publication *open_as(const sp_redis_publication_options *options)
{
	sp_redis_publication *p = NULL;

	assert_ok(sp_redis_publication_open(&p, options, &err), &err);
	return p;
}

static const uint64_t features[2] = {3, 5};

static sp_redis_publication_table table_of(const char *name)
{
	return (sp_redis_publication_table){
		.name = name, .dim = DIM, .key_size = 8, .features = features, .feature_count = 1};
}

/* Writes the rows [first, first + count) of a table; false if it was there. */
static bool begin_table(sp_redis_publication *p, const char *name)
{
	sp_redis_publication_table table = table_of(name);
	bool is_there;

	assert_ok(sp_redis_publication_begin(p, &table, &is_there, &err), &err);
	return !is_there;
}

static void put_rows(sp_redis_publication *p, size_t count)
{
	for (size_t i = 0; i < count; i += 1700)
		assert_ok(sp_redis_publication_put(p, keys + i, rows + i,
						   count - i < 1700 ? count - i : 1700, &err),
			  &err);
}

static void write_table(sp_redis_publication *p, const char *name)
{
	if (!begin_table(p, name))
		return;
	put_rows(p, ROWS);
	assert_ok(sp_redis_publication_end(p, &err), &err);
}

static sp_redis_publication_counts publish_as(const sp_redis_publication_options *options)
{
	sp_redis_publication *p = open_as(options);
	sp_redis_publication_counts counts;

	write_table(p, "user");
	write_table(p, "item/part_0");
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	counts = sp_redis_publication_counts_of(p);
	sp_redis_publication_close(p);
	return counts;
}

static sp_redis_publication_counts publish(int64_t full, uint64_t checksum)
{
	sp_redis_publication_options options = options_of(full, checksum);

	return publish_as(&options);
}

static const char *hash_of(const char *table, int64_t full, uint64_t checksum, size_t partition)
{
	sp_redis_version version = {.full = full, .checksum = checksum, .partitions = PARTITIONS};

	return sp_redis_hash_name(arena, "ctr", table, &version, partition);
}

static void assert_rows_are_there(const char *table, int64_t full, uint64_t checksum,
				  sp_row_format format)
{
	char field[8], want[4 * DIM + 4];
	size_t size = sp_row_format_size(format, DIM);

	for (size_t i = 0; i < ROWS; i += 97) {
		const char *row = stored(0,
					 hash_of(table, full, checksum,
						 sp_redis_partition((uint64_t)keys[i], PARTITIONS)),
					 field, sp_redis_field(field, keys[i], 8), size);

		assert_non_null(row);
		sp_row_codec_find(format)->encode(DIM, rows[i], want);
		assert_memory_equal(row, want, size);
	}
}

/* ----------------------------------------------------------------- versioned */

static void a_version_is_seen_when_it_is_complete(void **state)
{
	sp_redis_publication_options options = options_of(100, 0xabc);
	sp_redis_publication *p = open_as(&options);
	sp_redis_publication_counts counts;
	size_t total = 0;

	(void)state;
	write_table(p, "user");
	write_table(p, "item/part_0");
	assert_answer("(nil)", "GET", "ctr.current");
	assert_answer("(nil)", "GET", "ctr@100");
	assert_true(atoi(ask("TTL", hash_of("user", 100, 0xabc, 0))) > 0);
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	counts = sp_redis_publication_counts_of(p);
	sp_redis_publication_close(p);
	assert_int_equal(counts.tables, 2);
	assert_int_equal(counts.rows_sent, 2 * ROWS);
	assert_true(counts.rows_compared >= 2 * 100);

	assert_answer("full=100 delta=0 checksum=0000000000000abc partitions=8 format=fp32", "GET",
		      "ctr.current");
	assert_string_equal(ask("GET", "ctr@100"), ask("GET", "ctr.current"));
	assert_answer("(nil)", "GET", "ctr.lock");
	for (size_t i = 0; i < PARTITIONS; i++) {
		const char *hash = hash_of("user", 100, 0xabc, i);

		assert_answer("0000000000000abc", "HGET", hash, "#");
		total += (size_t)atoi(ask("HGET", hash, "#rows"));
		assert_int_equal(atoi(ask("HLEN", hash)), atoi(ask("HGET", hash, "#rows")) + 2);
		assert_answer("-1", "TTL", hash);
	}
	assert_int_equal(total, ROWS);
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
		options = options_of(200 + (int64_t)i, 7 + i);
		options.version.format = formats[i];
		publish_as(&options);
		assert_rows_are_there("user", 200 + (int64_t)i, 7 + i, formats[i]);
	}
}

static void the_later_row_of_a_key_counts_and_marked_keys_are_left_out(void **state)
{
	const int64_t repeated[5] = {7, -1, 7, -2, -9};
	const float values[5][DIM] = {{1}, {2}, {3}, {4}, {5}};
	sp_redis_publication_options options = options_of(100, 1);
	sp_redis_publication *p = open_as(&options);
	char field[8];
	const char *row;

	(void)state;
	assert_true(begin_table(p, "user"));
	assert_ok(sp_redis_publication_put(p, repeated, values, 5, &err), &err);
	assert_ok(sp_redis_publication_end(p, &err), &err);
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
	row = stored(0, hash_of("user", 100, 1, sp_redis_partition(7, PARTITIONS)), field,
		     sp_redis_field(field, 7, 8), sizeof(values[0]));
	assert_memory_equal(row, values[2], sizeof(values[0]));
	row = stored(0, hash_of("user", 100, 1, sp_redis_partition((uint64_t)-9, PARTITIONS)),
		     field, sp_redis_field(field, -9, 8), sizeof(values[0]));
	assert_memory_equal(row, values[4], sizeof(values[0]));
	row = stored(0, hash_of("user", 100, 1, sp_redis_partition((uint64_t)-1, PARTITIONS)),
		     field, sp_redis_field(field, -1, 8), sizeof(values[0]));
	assert_null(row);
}

static void what_was_acknowledged_is_not_sent_again(void **state)
{
	sp_redis_publication_options options = options_of(100, 0xabc);
	sp_redis_publication *p = open_as(&options);
	sp_redis_publication_counts counts;

	(void)state;
	write_table(p, "user");
	assert_true(begin_table(p, "item/part_0"));
	put_rows(p, 3400);
	sp_redis_publication_close(p);
	assert_answer("(nil)", "GET", "ctr.current");

	counts = publish(100, 0xabc);
	assert_int_equal(counts.tables_there, 1);
	assert_int_equal(counts.rows, ROWS);
	assert_int_equal(counts.rows_there, 3400);
	assert_int_equal(counts.rows_sent, ROWS - 3400);
	assert_rows_are_there("item/part_0", 100, 0xabc, SP_ROW_FP32);
}

static void rows_that_were_others_before_are_written_again(void **state)
{
	sp_redis_publication_options options = options_of(100, 0xabc);
	sp_redis_publication *p = open_as(&options);
	float saved = rows[1000][2];

	(void)state;
	rows[1000][2] = -1; /* as from a broken file, which is then repaired */
	assert_true(begin_table(p, "user"));
	put_rows(p, 3400);
	sp_redis_publication_close(p);
	rows[1000][2] = saved;
	p = open_as(&options);
	assert_true(begin_table(p, "user"));
	assert_ok(sp_redis_publication_put(p, keys, rows, 3000, &err), &err);
	assert_int_equal(sp_redis_publication_put(p, keys + 3000, rows + 3000, 2000, &err), SP_IO);
	sp_redis_publication_close(p);
	assert_int_equal(publish(100, 0xabc).rows_there, 0);
	assert_rows_are_there("user", 100, 0xabc, SP_ROW_FP32);
}

static void what_is_lost_meanwhile_is_written_again(void **state)
{
	sp_redis_publication_options options = options_of(100, 0xabc);
	sp_redis_publication *p = open_as(&options);
	sp_redis_publication_counts counts;

	(void)state;
	write_table(p, "user");
	assert_true(begin_table(p, "item/part_0"));
	put_rows(p, 3400);
	sp_redis_publication_close(p);
	ask("DEL", hash_of("user", 100, 0xabc, 3));
	ask("DEL", hash_of("item/part_0", 100, 0xabc, 5));
	counts = publish(100, 0xabc);
	assert_int_equal(counts.tables_there, 0);
	assert_int_equal(counts.rows_sent, 2 * ROWS);
	assert_rows_are_there("user", 100, 0xabc, SP_ROW_FP32);
	assert_rows_are_there("item/part_0", 100, 0xabc, SP_ROW_FP32);
}

static void a_version_that_lost_keys_is_not_made_current(void **state)
{
	sp_redis_publication_options options = options_of(100, 0xabc);
	sp_redis_publication *p = open_as(&options);

	(void)state;
	write_table(p, "user");
	ask("DEL", hash_of("user", 100, 0xabc, 2));
	assert_int_equal(sp_redis_publication_finish(p, &err), SP_CORRUPT);
	sp_redis_publication_close(p);
	assert_answer("(nil)", "GET", "ctr.current");
	assert_answer("(nil)", "GET", "ctr@100");
}

static void rows_that_vanish_while_they_are_written_are_noticed(void **state)
{
	sp_redis_publication_options options = options_of(100, 0xabc);
	sp_redis_publication *p = open_as(&options);

	(void)state;
	assert_true(begin_table(p, "user"));
	put_rows(p, 3400);
	ask("DEL", hash_of("user", 100, 0xabc, 2));
	put_rows(p, 1);
	assert_int_equal(sp_redis_publication_end(p, &err), SP_CORRUPT);
	sp_redis_publication_close(p);
}

static void rows_that_read_back_differently_are_noticed(void **state)
{
	sp_redis_publication_options options = options_of(100, 0xabc);
	sp_redis_publication *p = open_as(&options);
	char field[8];

	(void)state;
	assert_true(begin_table(p, "user"));
	put_rows(p, 100); /* all of them are compared */
	sp_redis_publication_close(p);
	p = open_as(&options);
	assert_true(begin_table(p, "user"));
	sp_redis_field(field, keys[50], 8);
	{
		sp_redis_batch *batch = sp_redis_batch_create(clients[0]);
		const sp_redis_how how = {.deadline_ns = sp_clock_now_ns() + 5000000000};

		sp_redis_batch_begin(batch, NULL, 0, 4);
		sp_redis_batch_add_text(batch, "HSET");
		sp_redis_batch_add_text(
			batch, hash_of("user", 100, 0xabc,
				       sp_redis_partition((uint64_t)keys[50], PARTITIONS)));
		sp_redis_batch_add(batch, field, 8);
		sp_redis_batch_add_text(batch, "other");
		assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
		sp_redis_batch_release(batch);
	}
	put_rows(p, 100);
	assert_int_equal(sp_redis_publication_end(p, &err), SP_CORRUPT);
	sp_redis_publication_close(p);
}

static void the_former_version_expires_and_can_be_gone_back_to(void **state)
{
	sp_redis_publication_options options = options_of(0, 0);
	sp_redis_version version;

	(void)state;
	publish(100, 1);
	publish(200, 2);
	assert_true(starts(ask("GET", "ctr.current"), "full=200 "));
	assert_non_null(strstr(ask("GET", "ctr.current"), " former=100"));
	assert_true(atoi(ask("TTL", "ctr@100")) > 80000);
	assert_true(atoi(ask("TTL", hash_of("user", 100, 1, 0))) > atoi(ask("TTL", "ctr@100")));
	assert_answer("-1", "TTL", hash_of("user", 200, 2, 0));

	assert_ok(sp_redis_publication_go_back(&version, &options, -1, &err), &err);
	assert_int_equal(version.full, 100);
	assert_true(starts(ask("GET", "ctr.current"), "full=100 "));
	assert_non_null(strstr(ask("GET", "ctr.current"), " left=200"));
	assert_answer("-1", "TTL", "ctr@100");
	assert_answer("-1", "TTL", hash_of("item/part_0", 100, 1, 7));
	assert_answer("-1", "TTL", hash_of("user", 200, 2, 0)); /* it may be in use */

	publish(100, 1);
	assert_non_null(strstr(ask("GET", "ctr.current"), " left=200")); /* that is still so */

	assert_ok(sp_redis_publication_go_back(&version, &options, 200, &err), &err);
	assert_null(strstr(ask("GET", "ctr.current"), "left="));
	assert_true(starts(ask("GET", "ctr.current"), "full=200 "));
	assert_int_equal(sp_redis_publication_go_back(&version, &options, 300, &err), SP_NOT_FOUND);
	ask("DEL", hash_of("user", 100, 1, 4));
	assert_int_equal(sp_redis_publication_go_back(&version, &options, -1, &err), SP_CORRUPT);
	assert_true(starts(ask("GET", "ctr.current"), "full=200 "));
	assert_answer("(nil)", "GET", "ctr.lock");
}

static void a_version_that_is_read_is_kept(void **state)
{
	sp_redis_publication_options options;

	(void)state;
	publish(100, sp_redis_checksum(11, PARTITIONS, SP_ROW_FP32));
	options = options_of(200, 2);
	options.keep_seconds = 50;
	publish_as(&options);
	assert_true(atoi(ask("TTL", "ctr@100")) <= 50);
	options = options_of(100, 0);
	assert_ok(sp_redis_publication_keep(&options, 11, &err), &err);
	assert_true(atoi(ask("TTL", "ctr@100")) > 80000);
	assert_true(atoi(ask("TTL", hash_of("user", 100,
					    sp_redis_checksum(11, PARTITIONS, SP_ROW_FP32), 3))) >
		    atoi(ask("TTL", "ctr@100")));
	assert_int_equal(sp_redis_publication_keep(&options, 12, &err), SP_NOT_FOUND);
	options = options_of(200, 0);
	assert_int_equal(sp_redis_publication_keep(&options, 12, &err), SP_NOT_FOUND);
	assert_answer("-1", "TTL", "ctr@200"); /* one that does not expire goes on so */
	options = options_of(300, 0);
	assert_int_equal(sp_redis_publication_keep(&options, 12, &err), SP_NOT_FOUND);
}

static void an_older_version_may_be_told_to_stay_behind(void **state)
{
	sp_redis_publication_options options = options_of(100, 1);
	sp_redis_publication *p;

	(void)state;
	publish(200, 2);
	options.never_older = true;
	publish_as(&options);
	assert_true(starts(ask("GET", "ctr.current"), "full=200 "));
	assert_true(starts(ask("GET", "ctr@100"), "full=100 "));
	assert_answer("-1", "TTL", hash_of("user", 200, 2, 0));
	assert_answer("-1", "TTL", hash_of("user", 100, 1, 0));

	ask("FLUSHALL");
	ask_db(1, "SET", "active", "1");
	ask_db(1, "SET", "model_version", "200,0");
	options.layout = SP_REDIS_DEEPREC;
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_NOT_FOUND);
	assert_string_equal(ask_db(1, "GET", "active"), "1");
}

static void other_content_of_the_same_step_is_another_version(void **state)
{
	(void)state;
	publish(100, 1);
	publish(100, 2);
	assert_true(
		starts(ask("GET", "ctr.current"), "full=100 delta=0 checksum=0000000000000002 "));
	assert_answer("-1", "TTL", "ctr@100");
	assert_answer("-1", "TTL", hash_of("user", 100, 2, 0));
	assert_true(atoi(ask("TTL", hash_of("user", 100, 1, 0))) > 0);
}

static void one_publishes_at_a_time(void **state)
{
	sp_redis_publication_options options = options_of(100, 1);
	sp_redis_publication *first = open_as(&options), *second;

	(void)state;
	assert_int_equal(sp_redis_publication_open(&second, &options, &err), SP_BUSY);
	ask("SET", "ctr.lock", "somebody else");
	write_table(first, "user");
	assert_int_equal(sp_redis_publication_finish(first, &err), SP_BUSY);
	sp_redis_publication_close(first);
	assert_answer("somebody else", "GET", "ctr.lock");
	assert_answer("(nil)", "GET", "ctr.current");
}

static void a_lock_is_waited_for(void **state)
{
	sp_redis_publication_options options = options_of(100, 1);

	(void)state;
	ask("SET", "ctr.lock", "a killed publisher", "PX", "300");
	options.waits = true;
	publish_as(&options);
	assert_true(starts(ask("GET", "ctr.current"), "full=100 "));
}

static void publishing_can_be_stopped(void **state)
{
	sp_redis_publication_options options = options_of(100, 1);
	atomic_bool stop = false;
	sp_redis_publication *p;

	(void)state;
	options.stop = &stop;
	options.rows_per_second = 10;
	p = open_as(&options);
	assert_true(begin_table(p, "user"));
	assert_ok(sp_redis_publication_put(p, keys, rows, 10, &err), &err);
	atomic_store(&stop, true);
	assert_int_equal(sp_redis_publication_put(p, keys, rows, 10, &err), SP_BUSY);
	sp_redis_publication_close(p);
	assert_answer("(nil)", "GET", "ctr.lock");
}

static void rows_are_written_at_the_rate_that_is_allowed(void **state)
{
	sp_redis_publication_options options = options_of(100, 1);
	int64_t began = sp_clock_now_ns();

	(void)state;
	options.rows_per_second = 20000; /* all but the last slice of each table is waited for */
	publish_as(&options);
	assert_true(sp_clock_now_ns() - began > INT64_C(350000000));
}

static void keys_that_hold_something_else_are_left_alone(void **state)
{
	sp_redis_publication_options options = options_of(100, 1);
	sp_redis_publication_table table = table_of("user");
	sp_redis_publication *p;
	bool is_there;

	(void)state;
	ask("LPUSH", "ctr.current", "x");
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_IO);
	assert_non_null(strstr(err.text, "ctr.current"));
	ask("DEL", "ctr.current");
	ask("SET", "ctr.current", "of somebody");
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_CORRUPT);
	assert_answer("of somebody", "GET", "ctr.current");
	ask("DEL", "ctr.current");
	ask("SET", hash_of("user", 100, 1, 3), "x");
	p = open_as(&options);
	assert_int_equal(sp_redis_publication_begin(p, &table, &is_there, &err), SP_IO);
	assert_non_null(strstr(err.text, "WRONGTYPE"));
	sp_redis_publication_close(p);
	assert_answer("x", "GET", hash_of("user", 100, 1, 3));
	assert_answer("(nil)", "GET", "ctr.current");
}

static void a_full_redis_is_given_its_memory_back(void **state)
{
	sp_redis_publication_options options = options_of(200, 2);
	sp_redis_publication *p;
	sp_status status = SP_OK;

	(void)state;
	publish(100, 1);
	ask("CONFIG", "SET", "maxmemory-policy", "noeviction");
	ask("CONFIG", "SET", "maxmemory",
	    sp_arena_printf(arena, "%lld",
			    atoll(strstr(ask("INFO", "memory"), "used_memory:") + 12) + 600000));
	p = open_as(&options);
	assert_true(begin_table(p, "user"));
	for (int64_t more = 0; more < 40 && status == SP_OK; more++) {
		for (size_t i = 0; i < ROWS; i++)
			keys[i] += ROWS * 7;
		status = sp_redis_publication_put(p, keys, rows, ROWS, &err);
	}
	for (size_t i = 0; i < ROWS; i++)
		keys[i] = (int64_t)i * 7 - 700;
	assert_int_equal(status, SP_IO);
	assert_non_null(strstr(err.text, "OOM"));
	sp_redis_publication_close(p);
	ask("CONFIG", "SET", "maxmemory", "0");
	assert_answer("0", "EXISTS", hash_of("user", 200, 2, 0));
	assert_true(starts(ask("GET", "ctr.current"), "full=100 "));
	assert_rows_are_there("user", 100, 1, SP_ROW_FP32);
}

/* True if the version is then current. */
static bool publish_few(void)
{
	sp_redis_publication_options options = options_of(100, 1);
	sp_redis_publication_table table = table_of("user");
	sp_redis_publication *p = NULL;
	sp_status status;
	bool is_there;

	options.version.partitions = 2;
	options.patience_seconds = 1;
	status = sp_redis_publication_open(&p, &options, &err);
	if (status == SP_OK)
		status = sp_redis_publication_begin(p, &table, &is_there, &err);
	if (status == SP_OK && !is_there) {
		status = sp_redis_publication_put(p, keys, rows, 20, &err);
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
		ask("DEL", "ctr.lock"); /* which a publisher without memory may not give back */
		sp_alloc_fail_after(i);
		done = publish_few();
		sp_alloc_fail_after(-1);
		failures += !done;
		assert_true(done || strcmp(ask("GET", "ctr.current"), "(nil)") == 0 ||
			    strcmp(ask("GET", "ctr@100"), "(nil)") != 0);
	}
	assert_true(failures > 10);
	assert_true(starts(ask("GET", "ctr.current"), "full=100 "));
}

static void a_redis_that_is_killed_shows_no_half_version(void **state)
{
	sp_redis_publication_options options = options_of(100, 1);
	sp_redis_publication *p = open_as(&options);
	sp_status status;

	(void)state;
	write_table(p, "user");
	assert_true(begin_table(p, "item/part_0"));
	put_rows(p, 3400);
	sp_redis_kill(&process);
	sp_redis_restart(&process); /* and nothing is left */
	status = sp_redis_publication_put(p, keys + 3400, rows + 3400, ROWS - 3400, &err);
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
	sp_redis_publication_options options = options_of(100, 0xabc);
	sp_redis_process cluster;
	sp_redis_address saved = address;
	char text[SP_PATH_SIZE + 32];
	sp_redis_client *client = clients[0];

	(void)state;
	sp_redis_start(&cluster, true, NULL);
	assert_ok(sp_redis_address_parse(&address, sp_redis_tcp(&cluster, text), &err), &err);
	assert_ok(sp_redis_client_create(&clients[0],
					 &(sp_redis_client_options){.address = &address}, &err),
		  &err);
	ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
	while (strstr(ask("CLUSTER", "INFO"), "cluster_state:ok") == NULL)
		usleep(5000);
	options.is_cluster = true;
	options.patience_seconds = 10;
	assert_int_equal(publish_as(&options).rows_sent, 2 * ROWS);
	assert_rows_are_there("user", 100, 0xabc, SP_ROW_FP32);
	options = options_of(200, 0xabc);
	options.is_cluster = true;
	publish_as(&options);
	assert_true(atoi(ask("TTL", hash_of("user", 100, 0xabc, 7))) > 80000);
	sp_redis_client_destroy(clients[0]);
	sp_redis_end(&cluster);
	clients[0] = client;
	address = saved;
}

/* ------------------------------------------------------------------ DeepRec's */

static sp_redis_publication_options deeprec_of(int64_t full)
{
	sp_redis_publication_options options = options_of(full, (uint64_t)full);

	options.layout = SP_REDIS_DEEPREC;
	return options;
}

static void assert_deeprec_rows(int database, int64_t full)
{
	char key[24];

	for (size_t i = 0; i < ROWS; i += 97) {
		size_t size = sp_redis_deeprec_key(key, (uint64_t)full, features[0], keys[i], 8);
		const char *row = stored(database, NULL, key, size, sizeof(rows[i]));

		assert_non_null(row);
		assert_memory_equal(row, rows[i], sizeof(rows[i]));
	}
}

static void write_one(sp_redis_publication *p)
{
	write_table(p, "user");
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
}

static void deeprecs_databases_take_turns(void **state)
{
	sp_redis_publication_options options;
	sp_redis_version version;

	(void)state;
	for (int64_t full = 100; full <= 300; full += 100) {
		int to = full == 200;

		options = deeprec_of(full);
		write_one(open_as(&options));
		assert_string_equal(ask_db(to, "GET", "active"), "1");
		assert_string_equal(ask_db(1 - to, "GET", "active"), "0");
		assert_string_equal(ask_db(to, "GET", "model_version"),
				    sp_arena_printf(arena, "%d,0", (int)full));
		assert_string_equal(ask_db(0, "GET", "model_lock"), "(nil)");
		assert_string_equal(ask_db(1, "GET", "model_lock"), "(nil)");
		assert_deeprec_rows(to, full);
		if (full > 100) /* the version before stays */
			assert_deeprec_rows(1 - to, full - 100);
	}
	assert_answer("0", "EXISTS", "100,0");
	assert_ok(sp_redis_publication_go_back(&version, &options, -1, &err), &err);
	assert_int_equal(version.full, 200);
	assert_string_equal(ask_db(1, "GET", "active"), "1");
	assert_string_equal(ask_db(0, "GET", "active"), "0");
	assert_int_equal(sp_redis_publication_go_back(&version, &options, 150, &err), SP_NOT_FOUND);
}

static void deeprecs_active_database_is_not_touched_before_the_end(void **state)
{
	sp_redis_publication_options options = deeprec_of(100);
	sp_redis_publication *p;
	sp_redis_publication_counts counts;

	(void)state;
	write_one(open_as(&options));
	options = deeprec_of(200);
	p = open_as(&options);
	assert_true(begin_table(p, "user"));
	put_rows(p, 3400);
	sp_redis_publication_close(p);
	assert_string_equal(ask_db(0, "GET", "active"), "1");
	assert_string_equal(ask_db(0, "GET", "model_version"), "100,0");
	assert_string_equal(ask_db(1, "GET", "model_version"), "(nil)");
	p = open_as(&options);
	assert_true(begin_table(p, "user"));
	put_rows(p, ROWS);
	counts = sp_redis_publication_counts_of(p);
	assert_int_equal(counts.rows_there, 3400);
	assert_ok(sp_redis_publication_end(p, &err), &err);
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
	assert_deeprec_rows(1, 200);

	p = open_as(&options); /* again: nothing is to be done */
	assert_false(begin_table(p, "user"));
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
}

static void a_deeprec_processor_holds_the_lock(void **state)
{
	sp_redis_publication_options options = deeprec_of(200);
	sp_redis_publication *p;

	(void)state;
	ask_db(1, "SET", "active", "1");
	ask_db(1, "SET", "model_version", "100,0");
	ask_db(1, "SET", "model_lock", "12345");
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_BUSY);
	ask_db(1, "DEL", "model_lock");
	p = open_as(&options);
	assert_int_equal(strspn(ask_db(1, "GET", "model_lock"), "0123456789"),
			 strlen(ask_db(1, "GET", "model_lock")));
	write_one(p);
	assert_string_equal(ask_db(0, "GET", "active"), "1");
	assert_deeprec_rows(0, 200);
}

static void a_database_of_somebody_else_is_not_emptied(void **state)
{
	sp_redis_publication_options options = deeprec_of(200);
	sp_redis_publication *p;

	(void)state;
	ask_db(0, "SET", "session:1", "x");
	ask_db(0, "SET", "session:2", "x");
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_CORRUPT);
	assert_string_equal(ask_db(0, "GET", "session:1"), "x");
	assert_string_equal(ask_db(0, "GET", "model_lock"), "(nil)");
	options.is_cluster = true;
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_UNSUPPORTED);
	options.layout = SP_REDIS_HPS;
	assert_int_equal(sp_redis_publication_open(&p, &options, &err), SP_UNSUPPORTED);
}

static void keys_of_a_table_with_parts_have_the_features_of_their_parts(void **state)
{
	const int64_t numbers[4] = {4, 1003, -5, 7};
	const float values[4][DIM] = {{1}, {2}, {3}, {4}};
	sp_redis_publication_options options = deeprec_of(100);
	sp_redis_publication_table table = table_of("user");
	sp_redis_publication *p = open_as(&options);
	bool is_there;
	char key[24];

	(void)state;
	table.feature_count = 2;
	assert_ok(sp_redis_publication_begin(p, &table, &is_there, &err), &err);
	assert_ok(sp_redis_publication_put(p, numbers, values, 4, &err), &err);
	assert_ok(sp_redis_publication_end(p, &err), &err);
	assert_ok(sp_redis_publication_finish(p, &err), &err);
	sp_redis_publication_close(p);
	sp_redis_deeprec_key(key, 100, 3, 4, 8);
	assert_non_null(stored(0, NULL, key, 24, sizeof(values[0])));
	sp_redis_deeprec_key(key, 100, 5, 1003, 8);
	assert_non_null(stored(0, NULL, key, 24, sizeof(values[0])));
	sp_redis_deeprec_key(key, 100, 5, 7, 8);
	assert_non_null(stored(0, NULL, key, 24, sizeof(values[0])));
}

/* ------------------------------------------------------------------------ all */

static int start(void **state)
{
	char text[SP_PATH_SIZE + 32];

	(void)state;
	sp_redis_start(&process, false, NULL);
	arena = sp_arena_create(1 << 20);
	if (sp_redis_address_parse(&address, sp_redis_unix(&process, text), &err) != SP_OK)
		return -1;
	for (int i = 0; i < 2; i++) {
		sp_redis_address at = address;

		at.db = i;
		if (sp_redis_client_create(&clients[i], &(sp_redis_client_options){.address = &at},
					   &err) != SP_OK)
			return -1;
	}
	for (size_t i = 0; i < ROWS; i++) {
		keys[i] = (int64_t)i * 7 - 700;
		for (size_t d = 0; d < DIM; d++)
			rows[i][d] = (float)i + (float)d / 8;
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	sp_redis_client_destroy(clients[0]);
	sp_redis_client_destroy(clients[1]);
	sp_redis_end(&process);
	sp_arena_destroy(arena);
	return 0;
}

static int clear(void **state)
{
	(void)state;
	ask("FLUSHALL");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, clear)
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
		TEST(deeprecs_databases_take_turns),
		TEST(deeprecs_active_database_is_not_touched_before_the_end),
		TEST(a_deeprec_processor_holds_the_lock),
		TEST(a_database_of_somebody_else_is_not_emptied),
		TEST(keys_of_a_table_with_parts_have_the_features_of_their_parts),
		TEST(without_memory_nothing_is_published),
		TEST(a_redis_that_is_killed_shows_no_half_version),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis publication", tests, start, end);
}
