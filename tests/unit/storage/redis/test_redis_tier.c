#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parallel.h"
#include "storage/redis/redis_tier.h"
#include "tests/support/redis_process.h"

/*
 * Two tables with the rows of keys 0, 3, 6 ... in every layout.  Limits are far above what an
 * answer takes, except where none comes.
 */
enum {
	MS = 1000000,
	KEYS = 900,
	STEP = 3,
	DIM = 10,
	FULL = 42,
	PARTITIONS = 4,
	LONG_MS = 20000,
	SHORT_MS = 30,
};

#define CONTENT UINT64_C(0x1234)

static sp_redis_process process;
static sp_redis_client *client;
static sp_redis_address address;
static sp_arena *arena;
static char folder[SP_PATH_SIZE];
static sp_error err;

static const char *const tables[] = {"user/emb", "item"};
static const uint64_t features[2][2] = {{5, 9}, {7}};
static const size_t feature_counts[2] = {2, 1};

/* ---- what is in Redis ---- */

static void make_row(int64_t key, size_t table, float row[DIM])
{
	for (size_t d = 0; d < DIM; d++)
		row[d] = (float)(key % 251 + (int64_t)table * 1000) + (float)d / 8;
}

static sp_redis_version version_of(sp_row_format format)
{
	return (sp_redis_version){.full = FULL,
				  .checksum = sp_redis_checksum(CONTENT, PARTITIONS, format),
				  .partitions = PARTITIONS,
				  .format = format,
				  .former = -1};
}

static void begin(sp_redis_batch *batch, size_t count, const char *command, const char *key)
{
	sp_redis_batch_begin(batch, key, strlen(key), count);
	sp_redis_batch_add_text(batch, command);
	sp_redis_batch_add_text(batch, key);
}

static void run(sp_redis_batch *batch)
{
	const sp_redis_how how = {.deadline_ns = sp_clock_now_ns() + (int64_t)LONG_MS * MS};

	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	sp_redis_batch_release(batch);
}

static void say(const char *command, const char *key, const char *value)
{
	sp_redis_batch *batch = sp_redis_batch_create(client);

	begin(batch, value != NULL ? 3 : 2, command, key);
	if (value != NULL)
		sp_redis_batch_add_text(batch, value);
	run(batch);
}

static void put_field(sp_redis_batch *batch, const char *hash, const void *field, size_t field_size,
		      const void *value, size_t size)
{
	begin(batch, 4, "HSET", hash);
	sp_redis_batch_add(batch, field, field_size);
	sp_redis_batch_add(batch, value, size);
}

static const char *hash_of(sp_redis_layout layout, size_t table, int64_t key,
			   const sp_redis_version *version)
{
	if (layout == SP_REDIS_VERSIONED)
		return sp_redis_hash_name(arena, "m", tables[table], version,
					  sp_redis_partition((uint64_t)key, PARTITIONS));
	if (layout == SP_REDIS_HPS)
		return sp_redis_hps_name(arena, "m", tables[table],
					 sp_redis_partition((uint64_t)key, PARTITIONS));
	return sp_redis_tfra_name(arena, "m", tables[table], sp_redis_tfra_slice(key, PARTITIONS),
				  PARTITIONS);
}

static void fill_row(sp_redis_batch *batch, sp_redis_layout layout, size_t table, int64_t key,
		     const sp_redis_version *version)
{
	char stored[DIM * sizeof(float)], name[SP_REDIS_DEEPREC_KEY_MAX];
	size_t size = sp_row_format_size(version->format, DIM);
	size_t part = (size_t)(key % 1000) % feature_counts[table];
	float row[DIM];

	make_row(key, table, row);
	sp_row_codec_find(version->format)->encode(DIM, row, stored);
	if (layout != SP_REDIS_DEEPREC) {
		put_field(batch, hash_of(layout, table, key, version), &key, sizeof(key), stored,
			  size);
		return;
	}
	sp_redis_deeprec_key(name, FULL, features[table][part], key, sizeof(key));
	sp_redis_batch_begin(batch, name, sizeof(name), 3);
	sp_redis_batch_add_text(batch, "SET");
	sp_redis_batch_add(batch, name, sizeof(name));
	sp_redis_batch_add(batch, stored, size);
}

/* What makes the version ours, or DeepRec's. */
static void finish(sp_redis_layout layout, const sp_redis_version *version)
{
	char record[SP_REDIS_MAX_RECORD], mark[SP_REDIS_MARK_SIZE + 1];
	sp_redis_batch *batch = sp_redis_batch_create(client);

	if (layout == SP_REDIS_DEEPREC) {
		begin(batch, 3, "SET", SP_REDIS_DEEPREC_ACTIVE);
		sp_redis_batch_add_text(batch, "1");
		begin(batch, 3, "SET", SP_REDIS_DEEPREC_VERSION);
		sp_redis_batch_add_text(batch, "42,50");
	} else if (layout == SP_REDIS_VERSIONED) {
		sp_redis_record_write(record, version);
		sp_redis_mark(mark, version);
		begin(batch, 3, "SET", sp_redis_version_name(arena, "m", FULL));
		sp_redis_batch_add_text(batch, record);
		for (size_t t = 0; t < 2; t++)
			for (size_t p = 0; p < PARTITIONS; p++) {
				const char *hash = sp_redis_hash_name(arena, "m", tables[t],
								      version, p);

				put_field(batch, hash, SP_REDIS_MARK_FIELD, 1, mark, strlen(mark));
				put_field(batch, hash, SP_REDIS_ROWS_FIELD, 5, "75", 2);
			}
	}
	run(batch);
}

static void fill(sp_redis_layout layout, sp_row_format format)
{
	const sp_redis_version version = version_of(format);
	sp_redis_batch *batch = sp_redis_batch_create(client);

	sp_redis_batch_begin(batch, NULL, 0, 1);
	sp_redis_batch_add_text(batch, "FLUSHALL");
	run(batch);
	batch = sp_redis_batch_create(client);
	for (size_t t = 0; t < 2; t++)
		for (int64_t key = 0; key < KEYS; key += STEP)
			fill_row(batch, layout, t, key, &version);
	run(batch);
	finish(layout, &version);
	sp_arena_reset(arena);
}

/* ---- what is read ---- */

typedef struct scene {
	sp_redis_store *store;
	sp_tier *tiers[2];
} scene;

static sp_redis_store_options options_of(sp_redis_layout layout)
{
	return (sp_redis_store_options){.address = &address,
					.layout = layout,
					.model = "m",
					.full = FULL,
					.content = CONTENT,
					.partitions = PARTITIONS,
					.limit_ms = LONG_MS,
					.patience_ms = LONG_MS,
					.cache_bytes = 1 << 20};
}

/* Little memory, and a file of rows. */
static sp_redis_store_options options_with_file(sp_redis_layout layout)
{
	sp_redis_store_options options = options_of(layout);

	options.cache_bytes = 1; /* sixteen rows */
	options.file = (sp_row_file_options){.folder = folder, .cap_bytes = 4 << 20, .readers = 4};
	return options;
}

static void open_scene(scene *s, const sp_redis_store_options *options)
{
	assert_ok(sp_redis_store_open(&s->store, options, &err), &err);
	for (size_t t = 0; t < 2; t++) {
		const sp_redis_table table = {.name = tables[t],
					      .dim = DIM,
					      .key_size = 8,
					      .features = features[t],
					      .feature_count = feature_counts[t]};

		assert_ok(sp_redis_tier_open(&s->tiers[t], s->store, &table, &err), &err);
	}
	assert_ok(sp_redis_store_divide(s->store, &err), &err);
}

static void close_scene(scene *s)
{
	sp_tier_release(s->tiers[0]);
	sp_tier_release(s->tiers[1]);
	sp_redis_store_release(s->store);
}

static sp_tier_counters counters_of(const sp_tier *tier)
{
	sp_tier_counters c;

	tier->kind->counters(tier, &c);
	return c;
}

enum { MANY = 400 };

typedef struct question {
	int64_t keys[MANY];
	float rows[MANY][DIM];
	float *places[MANY];
	bool found[MANY];
} question;

/* Reads `count` keys of each table in one call. */
static sp_status ask(const scene *s, question q[2], size_t count, int64_t deadline_ns)
{
	sp_tier_read reads[2];
	size_t size = 0;
	void *scratch;
	sp_status status;

	for (size_t t = 0; t < 2; t++) {
		for (size_t i = 0; i < count; i++) {
			q[t].places[i] = q[t].rows[i];
			memset(q[t].rows[i], 0xee, sizeof(q[t].rows[i]));
		}
		reads[t] = (sp_tier_read){s->tiers[t], q[t].keys, count, q[t].places, q[t].found};
		size += s->tiers[t]->kind->scratch(s->tiers[t], count);
	}
	scratch = aligned_alloc(64, size);
	status = s->tiers[0]->kind->read(reads, 2, scratch, deadline_ns, &err);
	free(scratch);
	return status;
}

static void choose(question q[2], size_t count, unsigned seed)
{
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < count; i++)
			q[t].keys[i] = (int64_t)((i * 7 + seed * 13 + t * 5) % (KEYS + 100)) -
				       (i % 50 == 0 ? 2000 : 0);
}

static bool is_there(int64_t key)
{
	return key >= 0 && key < KEYS && key % STEP == 0;
}

static sp_status check(const question q[2], size_t count, sp_row_format format, sp_error *why)
{
	const sp_row_codec *codec = sp_row_codec_find(format);
	char stored[DIM * sizeof(float)];
	float row[DIM];

	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < count; i++) {
			int64_t key = q[t].keys[i];

			if (q[t].found[i] != is_there(key))
				return sp_error_set(why, SP_CORRUPT, "key %lld of table %zu: %d",
						    (long long)key, t, q[t].found[i]);
			if (!q[t].found[i])
				continue;
			make_row(key, t, row);
			codec->encode(DIM, row, stored);
			codec->decode(DIM, stored, row);
			if (memcmp(row, q[t].rows[i], sizeof(row)) != 0)
				return sp_error_set(why, SP_CORRUPT, "row of key %lld of table %zu",
						    (long long)key, t);
		}
	return SP_OK;
}

static void ask_well(const scene *s, sp_row_format format, unsigned seed)
{
	static question q[2];

	choose(q, MANY, seed);
	assert_ok(ask(s, q, MANY, 0), &err);
	assert_ok(check(q, MANY, format, &err), &err);
}

static void every_layout_is_read(void **state)
{
	scene s;

	(void)state;
	for (int layout = 0; layout < SP_REDIS_LAYOUTS; layout++) {
		const sp_redis_store_options options = options_of((sp_redis_layout)layout);

		fill((sp_redis_layout)layout, SP_ROW_FP32);
		open_scene(&s, &options);
		assert_int_equal(s.tiers[0]->row_count,
				 layout == SP_REDIS_VERSIONED ? 300 : SIZE_MAX);
		for (unsigned seed = 0; seed < 4; seed++)
			ask_well(&s, SP_ROW_FP32, seed);
		assert_int_equal(counters_of(s.tiers[0]).asked, 4 * MANY);
		assert_true(counters_of(s.tiers[0]).absent > MANY);
		assert_int_equal(counters_of(s.tiers[0]).defaulted, 0);
		close_scene(&s);
	}
}

static void every_format_of_ours_is_read(void **state)
{
	static const sp_row_format formats[] = {SP_ROW_FP16, SP_ROW_BF16, SP_ROW_INT8};
	const sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	scene s;

	(void)state;
	for (size_t f = 0; f < 3; f++) {
		fill(SP_REDIS_VERSIONED, formats[f]);
		open_scene(&s, &options);
		ask_well(&s, formats[f], 1);
		close_scene(&s);
	}
}

static void what_was_read_is_in_memory(void **state)
{
	const sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	sp_redis_counters before, after;
	scene s;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	open_scene(&s, &options);
	ask_well(&s, SP_ROW_FP32, 0);
	sp_redis_store_counters(s.store, &before);
	ask_well(&s, SP_ROW_FP32, 0);
	sp_redis_store_counters(s.store, &after);
	assert_int_equal(after.commands, before.commands);
	assert_int_equal(counters_of(s.tiers[1]).hot_hits, MANY);
	close_scene(&s);
}

static void a_small_table_takes_little_memory(void **state)
{
	sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	scene s;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	options.cache_bytes = (size_t)1 << 30;
	open_scene(&s, &options);
	assert_true(s.tiers[0]->kind->footprint(s.tiers[0]) < (4 << 20));
	close_scene(&s);
}

static void repeats_are_asked_for_once(void **state)
{
	const sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	static question q[2];
	scene s;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	open_scene(&s, &options);
	for (size_t i = 0; i < MANY; i++)
		q[0].keys[i] = q[1].keys[i] = 6;
	assert_ok(ask(&s, q, MANY, 0), &err);
	assert_ok(check(q, MANY, SP_ROW_FP32, &err), &err);
	assert_int_equal(counters_of(s.tiers[0]).bytes_read, DIM * sizeof(float));
	close_scene(&s);
}

static void nothing_is_allocated_after_a_while(void **state)
{
	sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	uint64_t before;
	scene s;

	(void)state;
	options.cache_bytes = 1; /* few rows are held, the others are asked for again */
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	open_scene(&s, &options);
	/* What the client's thread has not given back yet is made anew, a few times. */
	for (unsigned round = 0;; round++) {
		before = sp_alloc_count();
		for (unsigned i = 0; i < 20; i++)
			ask_well(&s, SP_ROW_FP32, 0);
		if (sp_alloc_count() == before)
			break;
		assert_true(round < 20);
	}
	close_scene(&s);
}

/* The allocations of the client's thread fail as well. */
static void no_memory_is_an_error(void **state)
{
	sp_redis_store_options options = options_with_file(SP_REDIS_VERSIONED);
	const sp_redis_table table = {.name = tables[0], .dim = DIM, .key_size = 8};
	static question q[2];
	sp_status status = SP_NO_MEMORY;
	int64_t n = 0;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	options.patience_ms = options.limit_ms = 2 * SHORT_MS;
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
	options.patience_ms = LONG_MS;
	choose(q, MANY, 0);
	for (n = 0; n < 12; n++) {
		scene s;

		open_scene(&s, &options);
		sp_alloc_fail_after(n);
		status = ask(&s, q, MANY, 0);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		close_scene(&s);
	}
}

/* ---- many at once ---- */

enum { THREADS = 4, ROUNDS = 40 };

static sp_status ask_often(void *context, size_t part, sp_error *why)
{
	const scene *s = context;
	question *q = malloc(2 * sizeof(*q));
	sp_status status = SP_OK;

	for (unsigned round = 0; round < ROUNDS && status == SP_OK; round++) {
		/* All threads ask for the same keys at nearly the same time. */
		choose(q, MANY / 4, round + (part == 0));
		status = ask(s, q, MANY / 4, 0);
		if (status == SP_OK)
			status = check(q, MANY / 4, SP_ROW_FP32, why);
	}
	free(q);
	return status;
}

static void calls_at_once_get_right_rows(void **state)
{
	sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	scene s;

	(void)state;
	options.cache_bytes = 1;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	open_scene(&s, &options);
	assert_ok(sp_parallel_run(THREADS, THREADS, ask_often, &s, &err), &err);
	close_scene(&s);
}

static void refuse(const sp_redis_store_options *options, sp_status status, const char *reason)
{
	sp_redis_store *none;

	assert_int_equal(sp_redis_store_open(&none, options, &err), status);
	if (strstr(err.text, reason) == NULL)
		fail_msg("%s", err.text);
}

/* ---- faults ---- */

/* Redis does not answer: default rows, or a failure. */
static void ask_in_vain(const scene *s, sp_status wanted)
{
	static question q[2];
	uint64_t before = counters_of(s->tiers[0]).defaulted;

	choose(q, MANY, 77);
	assert_int_equal(ask(s, q, MANY, 0), wanted);
	assert_true(counters_of(s->tiers[0]).defaulted > before);
	for (size_t i = 0; i < MANY && wanted == SP_OK; i++)
		assert_false(q[0].found[i]);
}

/* Until nothing is without an answer, which is then right. */
static void ask_until_well(const scene *s)
{
	static question q[2];

	for (int i = 0; i < 4000; i++) {
		uint64_t before = counters_of(s->tiers[0]).defaulted +
				  counters_of(s->tiers[1]).defaulted;

		choose(q, MANY, 77);
		assert_ok(ask(s, q, MANY, 0), &err);
		if (counters_of(s->tiers[0]).defaulted + counters_of(s->tiers[1]).defaulted ==
		    before) {
			assert_ok(check(q, MANY, SP_ROW_FP32, &err), &err);
			return;
		}
		usleep(2000);
	}
	fail_msg("Redis is not used again");
}

static void a_silent_redis_costs_the_limit_only(void **state)
{
	sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	scene s, strict;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	options.limit_ms = SHORT_MS;
	open_scene(&s, &options);
	options.fails = true;
	open_scene(&strict, &options);
	sp_redis_pause(&process);
	ask_in_vain(&s, SP_OK);
	ask_in_vain(&strict, SP_DEADLINE);
	assert_non_null(strstr(err.text, "table 'user/emb', Redis tier"));
	sp_redis_continue(&process);
	/* The answers that nobody waited for go to the cache, and no key counts as absent. */
	ask_until_well(&s);
	close_scene(&s);
	close_scene(&strict);
}

static void a_request_s_own_deadline_counts(void **state)
{
	const sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	static question q[2];
	scene s;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	open_scene(&s, &options);
	sp_redis_pause(&process);
	choose(q, MANY, 3);
	assert_ok(ask(&s, q, MANY, sp_clock_now_ns() + SHORT_MS * MS), &err);
	assert_true(counters_of(s.tiers[0]).defaulted != 0);
	close_scene(&s); /* while answers are owed */
	sp_redis_continue(&process);
}

static void a_redis_that_is_down_is_used_when_it_is_back(void **state)
{
	sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	sp_redis_batch *batch;
	scene s, strict;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	batch = sp_redis_batch_create(client);
	sp_redis_batch_begin(batch, NULL, 0, 1);
	sp_redis_batch_add_text(batch, "SAVE");
	run(batch);
	open_scene(&s, &options);
	options.fails = true;
	open_scene(&strict, &options);
	sp_redis_kill(&process);
	options.patience_ms = SHORT_MS;
	refuse(&options, SP_IO, "cannot be reached");
	ask_in_vain(&s, SP_OK);
	ask_in_vain(&strict, SP_IO);
	assert_non_null(strstr(err.text, "cannot be reached"));
	sp_redis_restart(&process);
	ask_until_well(&s);
	close_scene(&s);
	close_scene(&strict);
}

/* Absent keys age as well. */
static void ask_until_well_again(const scene *s)
{
	static question q[2];

	choose(q, MANY, 0);
	for (int i = 0; i < 4000; i++) {
		assert_ok(ask(s, q, MANY, 0), &err);
		if (check(q, MANY, SP_ROW_FP32, &err) == SP_OK)
			return;
		usleep(10000);
	}
	fail_msg("the rows that have come are not seen");
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
	assert_non_null(strstr(told, process.socket));
}

/* A command to Redis spoils it: keys are defaulted, and a few lines tell why. */
static void check_told(sp_redis_layout layout, const char *reason, const char *const words[4])
{
	const sp_redis_store_options options = options_of(layout);
	sp_redis_batch *batch = sp_redis_batch_create(client);
	size_t count = words[3] != NULL ? 4 : words[2] != NULL ? 3 : 2;
	static question q[2];
	scene s;

	fill(layout, SP_ROW_FP32);
	open_scene(&s, &options);
	sp_redis_batch_begin(batch, NULL, 0, count);
	for (size_t i = 0; i < count; i++)
		sp_redis_batch_add_text(batch, words[i]);
	run(batch);
	listen_for(reason);
	choose(q, MANY, 9);
	for (int i = 0; i < OFTEN; i++)
		assert_ok(ask(&s, q, MANY, 0), &err);
	assert_true(counters_of(s.tiers[0]).defaulted > 0);
	close_scene(&s);
	assert_told();
}

static void why_keys_are_defaulted_is_told(void **state)
{
	const sp_redis_version version = version_of(SP_ROW_FP32);
	sp_redis_batch *batch;
	char hash[512];

	(void)state;
	snprintf(hash, sizeof(hash), "%s", sp_redis_hash_name(arena, "m", tables[0], &version, 2));
	check_told(SP_REDIS_VERSIONED, "does not have all rows",
		   (const char *const[4]){"DEL", hash});
	check_told(SP_REDIS_VERSIONED, "WRONGTYPE Operation against a key",
		   (const char *const[4]){"SET", hash, "x"});
	check_told(SP_REDIS_DEEPREC, "another version",
		   (const char *const[4]){"SET", SP_REDIS_DEEPREC_VERSION, "43,0"});
	check_told(SP_REDIS_HPS, "no permissions to run the 'hmget'",
		   (const char *const[4]){"ACL", "SETUSER", "default", "-hmget"});
	batch = sp_redis_batch_create(client);
	sp_redis_batch_begin(batch, NULL, 0, 4);
	sp_redis_batch_add_text(batch, "ACL");
	sp_redis_batch_add_text(batch, "SETUSER");
	sp_redis_batch_add_text(batch, "default");
	sp_redis_batch_add_text(batch, "+hmget");
	run(batch);
}

/* Spoils what is in Redis; then no key may count as absent. */
static void check_spoiled(sp_redis_layout layout, const char *command, const char *key,
			  const char *value, const char *reason)
{
	sp_redis_store_options options = options_of(layout);
	static question q[2];
	scene s;

	fill(layout, SP_ROW_FP32);
	options.fails = true;
	open_scene(&s, &options);
	say(command, key, value);
	choose(q, MANY, 9);
	assert_int_equal(ask(&s, q, MANY, 0), SP_IO);
	if (strstr(err.text, reason) == NULL)
		fail_msg("%s", err.text);
	assert_true(counters_of(s.tiers[0]).defaulted + counters_of(s.tiers[1]).defaulted > 0);
	assert_true(counters_of(s.tiers[0]).errors == 1);
	close_scene(&s);
}

static void what_is_not_there_any_more_is_not_absent(void **state)
{
	const sp_redis_version version = version_of(SP_ROW_FP32);
	const char *hash = sp_redis_hash_name(arena, "m", tables[0], &version, 2);
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "%s", hash);
	check_spoiled(SP_REDIS_VERSIONED, "DEL", text, NULL, "does not have all rows");
}

static void another_type_or_version_is_refused(void **state)
{
	const sp_redis_version version = version_of(SP_ROW_FP32);
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "%s", sp_redis_hash_name(arena, "m", tables[0], &version, 2));
	check_spoiled(SP_REDIS_VERSIONED, "SET", text, "x", "WRONGTYPE");
	check_spoiled(SP_REDIS_DEEPREC, "SET", SP_REDIS_DEEPREC_VERSION, "43,0", "another version");
	check_spoiled(SP_REDIS_DEEPREC, "DEL", SP_REDIS_DEEPREC_VERSION, NULL, "another version");
}

static void rows_of_another_size_are_refused(void **state)
{
	sp_redis_store_options options = options_of(SP_REDIS_HPS);
	const sp_redis_table table = {.name = tables[0], .dim = DIM + 1, .key_size = 8};
	static question q[2];
	scene s;

	(void)state;
	fill(SP_REDIS_HPS, SP_ROW_FP32);
	options.fails = true;
	open_scene(&s, &options);
	sp_tier_release(s.tiers[0]);
	assert_ok(sp_redis_tier_open(&s.tiers[0], s.store, &table, &err), &err);
	choose(q, 8, 0);
	listen_for("another size");
	assert_int_equal(ask(&s, q, 8, 0), SP_IO);
	assert_told();
	assert_non_null(strstr(err.text, "another size"));
	close_scene(&s);
}

static void rows_without_a_version_are_asked_for_again(void **state)
{
	sp_redis_store_options options = options_of(SP_REDIS_HPS);
	static question q[2];
	uint64_t before;
	scene s;

	(void)state;
	fill(SP_REDIS_HPS, SP_ROW_FP32);
	options.keep_s = 1;
	open_scene(&s, &options);
	ask_well(&s, SP_ROW_FP32, 0);
	before = counters_of(s.tiers[0]).bytes_read;
	say("FLUSHALL", "SYNC", NULL);
	choose(q, MANY, 0);
	for (int i = 0; i < 4000; i++) {
		assert_ok(ask(&s, q, MANY, 0), &err);
		if (check(q, MANY, SP_ROW_FP32, &err) != SP_OK)
			break; /* a row has gone */
		usleep(10000);
	}
	assert_int_equal(counters_of(s.tiers[0]).bytes_read, before);
	fill(SP_REDIS_HPS, SP_ROW_FP32);
	ask_until_well_again(&s);
	close_scene(&s);
}

/* HPS keeps beside each hash of rows, "...v", one of the times at which they were used, "...t". */
static const char *times_of(const char *rows)
{
	char *name = sp_arena_text(arena, sp_bytes_of(rows));

	name[strlen(name) - 1] = 't';
	return name;
}

/* Writes the row of a key anew, as HPS does, with a time; all elements are `value`. */
static void put_by_hps(size_t table, int64_t key, float value)
{
	const sp_redis_version version = version_of(SP_ROW_FP32);
	const char *hash = hash_of(SP_REDIS_HPS, table, key, &version);
	sp_redis_batch *batch = sp_redis_batch_create(client);
	const int64_t now = sp_clock_now_ns() / 1000 / MS;
	float row[DIM];

	for (size_t d = 0; d < DIM; d++)
		row[d] = value;
	put_field(batch, hash, &key, sizeof(key), row, sizeof(row));
	put_field(batch, times_of(hash), &key, sizeof(key), &now, sizeof(now));
	run(batch);
}

static void remove_by_hps(size_t table, int64_t key)
{
	const sp_redis_version version = version_of(SP_ROW_FP32);
	const char *hash = hash_of(SP_REDIS_HPS, table, key, &version);
	sp_redis_batch *batch = sp_redis_batch_create(client);

	begin(batch, 3, "HDEL", hash);
	sp_redis_batch_add(batch, &key, sizeof(key));
	begin(batch, 3, "HDEL", times_of(hash));
	sp_redis_batch_add(batch, &key, sizeof(key));
	run(batch);
}

/* The first element of the rows of three keys of table 1; -1: absent. */
static void read_three(const scene *s, const int64_t keys[3], float out[3])
{
	static question q[2];

	for (size_t i = 0; i < 3; i++)
		q[0].keys[i] = q[1].keys[i] = keys[i];
	assert_ok(ask(s, q, 3, 0), &err);
	for (size_t i = 0; i < 3; i++)
		out[i] = q[1].found[i] ? q[1].rows[i][0] : -1;
}

static void what_hps_writes_and_evicts_is_seen_in_time(void **state)
{
	const int64_t keys[3] = {3, 6, 4}; /* the last one is not there at first */
	sp_redis_store_options options = options_of(SP_REDIS_HPS);
	sp_redis_batch *batch;
	const char *times;
	scene young, old;
	float got[3];

	(void)state;
	fill(SP_REDIS_HPS, SP_ROW_FP32);
	for (size_t i = 0; i < 2; i++)
		put_by_hps(1, keys[i], 1);
	open_scene(&old, &options); /* what is in memory does not age */
	options.keep_s = 1;
	open_scene(&young, &options);
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
	times = times_of(hash_of(SP_REDIS_HPS, 1, keys[0], &(sp_redis_version){0}));
	batch = sp_redis_batch_create(client);
	begin(batch, 2, "HLEN", times);
	assert_ok(sp_redis_batch_run(
			  batch,
			  &(sp_redis_how){.deadline_ns = sp_clock_now_ns() + (int64_t)LONG_MS * MS},
			  &err),
		  &err);
	assert_in_range(sp_redis_batch_answer(batch, 0)->integer, 1, 2);
	sp_redis_batch_release(batch);
	close_scene(&young);
	close_scene(&old);
}

/* ---- with a file of rows ---- */

/* Until nearly all rows of ask_well() are in the file. */
static void fill_file(const scene *s)
{
	uint64_t before = 0, now = 0;

	for (int i = 0; i < 4000 && now - before < MANY / 4; i++) {
		before = counters_of(s->tiers[0]).disk_hits;
		ask_well(s, SP_ROW_FP32, 0);
		now = counters_of(s->tiers[0]).disk_hits;
		usleep(2000);
	}
	assert_true(now - before >= MANY / 4);
}

static void rows_on_the_disk_answer_without_redis(void **state)
{
	sp_redis_store_options options = options_with_file(SP_REDIS_VERSIONED);
	static question q[2];
	sp_tier_counters before, after;
	size_t found = 0, wanted = 0;
	scene s;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	open_scene(&s, &options);
	fill_file(&s);
	before = counters_of(s.tiers[0]);
	assert_int_equal(before.disks + before.disks_up, 2);
	ask_well(&s, SP_ROW_FP32, 0);
	after = counters_of(s.tiers[0]);
	/* Unknown keys were asked for, and hardly any others. */
	assert_true(after.bytes_read <= before.bytes_read + 3 * DIM * sizeof(float));
	assert_true(after.asked - after.hot_hits - after.disk_hits > 0);

	sp_redis_kill(&process);
	choose(q, MANY, 0);
	assert_ok(ask(&s, q, MANY, 0), &err);
	for (size_t i = 0; i < MANY; i++) {
		float row[DIM];

		make_row(q[0].keys[i], 0, row);
		assert_true(!q[0].found[i] || memcmp(row, q[0].rows[i], sizeof(row)) == 0);
		found += q[0].found[i];
		wanted += is_there(q[0].keys[i]);
	}
	assert_true(found > MANY / 4 && found <= wanted && found + 3 >= wanted);
	close_scene(&s);
	sp_redis_restart(&process);
}

/* Its file is opened once more, to spoil it. */
static void spoil_file(void)
{
	char path[300], target[SP_PATH_SIZE], page[4096];
	int spoilt = 0;

	memset(page, 0x55, sizeof(page));
	for (int fd = 0; fd < 1000; fd++) {
		int file;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(target, 0, sizeof(target));
		if (readlink(path, target, sizeof(target) - 1) < 0 ||
		    strncmp(target, folder, strlen(folder)) != 0)
			continue;
		file = open(path, O_WRONLY | O_CLOEXEC);
		for (off_t at = 256; at < (off_t)lseek(file, 0, SEEK_END); at += 512)
			assert_int_equal(pwrite(file, page, 16, at), 16);
		close(file);
		spoilt++;
	}
	assert_int_equal(spoilt, 1);
}

static void what_the_file_does_not_answer_redis_does(void **state)
{
	sp_redis_store_options options = options_with_file(SP_REDIS_VERSIONED);
	scene s;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	open_scene(&s, &options);
	fill_file(&s);
	for (int i = 0; i < 4000 && counters_of(s.tiers[0]).disk_errors == 0; i++) {
		spoil_file(); /* what is written later is not spoilt */
		ask_well(&s, SP_ROW_FP32, 0);
	}
	assert_true(counters_of(s.tiers[0]).disk_errors > 0);
	assert_int_equal(counters_of(s.tiers[0]).defaulted, 0);
	assert_int_equal(counters_of(s.tiers[0]).errors, 0);
	close_scene(&s);
	options.file.folder = "/proc/none"; /* a line in the log */
	open_scene(&s, &options);
	assert_int_equal(counters_of(s.tiers[0]).disks, 1);
	assert_int_equal(counters_of(s.tiers[0]).disks_up, 0);
	ask_well(&s, SP_ROW_FP32, 0);
	close_scene(&s);
}

static void rows_on_the_disk_are_of_one_version(void **state)
{
	sp_redis_store_options options = options_with_file(SP_REDIS_HPS);
	static question q[2];
	size_t found = 1;
	scene s, other;

	(void)state;
	fill(SP_REDIS_HPS, SP_ROW_FP32);
	options.keep_s = 1; /* these age, on the disk, too */
	open_scene(&s, &options);
	ask_well(&s, SP_ROW_FP32, 0);
	options.full++;
	open_scene(&other, &options); /* has a file of its own */
	ask_well(&other, SP_ROW_FP32, 0);
	assert_int_equal(counters_of(other.tiers[0]).disk_hits, 0);
	close_scene(&other);
	fill_file(&s);
	say("FLUSHALL", "SYNC", NULL);
	choose(q, MANY, 0);
	for (int i = 0; i < 4000 && found != 0; i++) {
		assert_ok(ask(&s, q, MANY, 0), &err);
		found = 0;
		for (size_t k = 0; k < MANY; k++)
			found += q[0].found[k];
		usleep(10000);
	}
	assert_int_equal(found, 0);
	close_scene(&s);
}

/* ---- opening ---- */

static void a_version_that_is_not_there_is_refused(void **state)
{
	sp_redis_store_options options = options_of(SP_REDIS_VERSIONED);
	const sp_redis_version version = version_of(SP_ROW_FP32);
	sp_redis_table table = {.name = tables[1], .dim = DIM, .key_size = 8};
	sp_redis_store *store;
	sp_tier *none;

	(void)state;
	fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	options.full = 41;
	refuse(&options, SP_NOT_FOUND, "does not have version 41 of model 'm' yet");
	options.full = FULL;
	options.content++;
	refuse(&options, SP_NOT_FOUND, "another checkpoint");
	options.content--;
	say("DEL", sp_redis_hash_name(arena, "m", tables[1], &version, 1), NULL);
	assert_ok(sp_redis_store_open(&store, &options, &err), &err);
	assert_int_equal(sp_redis_tier_open(&none, store, &table, &err), SP_IO);
	assert_non_null(strstr(err.text, "does not have all of table 'item'"));
	sp_redis_store_release(store);
	say("SET", "m@42", "nonsense");
	refuse(&options, SP_CORRUPT, "not a record");

	options = options_of(SP_REDIS_DEEPREC);
	refuse(&options, SP_NOT_FOUND, "no database of Redis is active");
	fill(SP_REDIS_DEEPREC, SP_ROW_FP32);
	options.full = 41;
	refuse(&options, SP_NOT_FOUND, "Redis has version 42 and not 41");
	options.is_cluster = true;
	refuse(&options, SP_UNSUPPORTED, "databases");
}

static void deeprec_s_other_database_is_found(void **state)
{
	const sp_redis_store_options options = options_of(SP_REDIS_DEEPREC);
	sp_redis_batch *batch = sp_redis_batch_create(client);
	scene s;

	(void)state;
	fill(SP_REDIS_DEEPREC, SP_ROW_FP32);
	sp_redis_batch_begin(batch, NULL, 0, 3);
	sp_redis_batch_add_text(batch, "SWAPDB");
	sp_redis_batch_add_text(batch, "0");
	sp_redis_batch_add_text(batch, "1");
	run(batch);
	open_scene(&s, &options);
	ask_well(&s, SP_ROW_FP32, 2);
	close_scene(&s);
}

static int set_up(void **state)
{
	char text[SP_PATH_SIZE + 32];
	sp_redis_client_options options = {.address = &address, .silence_ms = LONG_MS};

	(void)state;
	sp_redis_start(&process, false, NULL);
	assert_ok(sp_redis_address_parse(&address, sp_redis_unix(&process, text), &err), &err);
	assert_ok(sp_redis_client_create(&client, &options, &err), &err);
	arena = sp_arena_create(1 << 16);
	sp_temp_make(folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	sp_redis_client_destroy(client);
	sp_redis_end(&process);
	sp_temp_remove(folder);
	return 0;
}

static void tables_that_are_not_counted_hold_as_many_rows(void **state)
{
	const sp_redis_store_options options = options_of(SP_REDIS_TFRA);
	sp_redis_table table = {.key_size = 8};
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
	assert_ok(sp_redis_store_divide(store, &err), &err);
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
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(calls_at_once_get_right_rows),
		cmocka_unit_test(a_silent_redis_costs_the_limit_only),
		cmocka_unit_test(a_request_s_own_deadline_counts),
		cmocka_unit_test(a_redis_that_is_down_is_used_when_it_is_back),
		cmocka_unit_test(what_is_not_there_any_more_is_not_absent),
		cmocka_unit_test(why_keys_are_defaulted_is_told),
		cmocka_unit_test(another_type_or_version_is_refused),
		cmocka_unit_test(rows_of_another_size_are_refused),
		cmocka_unit_test(rows_without_a_version_are_asked_for_again),
		cmocka_unit_test(what_hps_writes_and_evicts_is_seen_in_time),
		cmocka_unit_test(rows_on_the_disk_answer_without_redis),
		cmocka_unit_test(what_the_file_does_not_answer_redis_does),
		cmocka_unit_test(rows_on_the_disk_are_of_one_version),
		cmocka_unit_test(a_version_that_is_not_there_is_refused),
		cmocka_unit_test(deeprec_s_other_database_is_found),
		cmocka_unit_test(tables_that_are_not_counted_hold_as_many_rows),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis_tier", tests, set_up, tear_down);
}
