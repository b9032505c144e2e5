#include "tests/support/redis_scene.h"

#include <string.h>

#include "base/clock.h"
#include "tests/support/cmocka.h"

enum { KEYS = 900, STEP = 3, PARTITIONS = 4 };

#define CONTENT UINT64_C(0x1234)

sp_redis_process sp_redis_scene_process;
sp_redis_client *sp_redis_scene_client;
sp_arena *sp_redis_scene_arena;
char sp_redis_scene_folder[SP_PATH_SIZE];
const char *const sp_redis_scene_tables[2] = {"user/emb", "item"};

static sp_redis_address address;
static sp_error err;

static const uint64_t features[2][2] = {{5, 9}, {7}};
static const size_t feature_counts[2] = {2, 1};

/* ---- what is in Redis ---- */

void sp_redis_scene_make_row(int64_t key, size_t table, float row[SP_REDIS_SCENE_DIM])
{
	for (size_t d = 0; d < SP_REDIS_SCENE_DIM; d++)
		row[d] = (float)(key % 251 + (int64_t)table * 1000) + (float)d / 8;
}

sp_redis_version sp_redis_scene_version(sp_row_format format)
{
	return (sp_redis_version){.full = SP_REDIS_SCENE_FULL,
				  .checksum = sp_redis_checksum(CONTENT, PARTITIONS, format),
				  .partitions = PARTITIONS,
				  .format = format,
				  .former = -1};
}

void sp_redis_scene_begin(sp_redis_batch *batch, size_t count, const char *command, const char *key)
{
	sp_redis_batch_begin(batch, key, strlen(key), count);
	sp_redis_batch_add_text(batch, command);
	sp_redis_batch_add_text(batch, key);
}

void sp_redis_scene_run(sp_redis_batch *batch)
{
	const sp_redis_submit_options how = {
		.deadline_ns = sp_clock_now_ns() + (int64_t)SP_REDIS_SCENE_LONG_MS * 1000000};

	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	sp_redis_batch_release(batch);
}

void sp_redis_scene_tell_words(size_t count, const char *const *words)
{
	sp_redis_batch *batch = sp_redis_batch_create(sp_redis_scene_client);

	sp_redis_batch_begin(batch, NULL, 0, count);
	for (size_t i = 0; i < count; i++)
		sp_redis_batch_add_text(batch, words[i]);
	sp_redis_scene_run(batch);
}

void sp_redis_scene_put_field(sp_redis_batch *batch, const char *hash, const void *field,
			      size_t field_size, const void *value, size_t size)
{
	sp_redis_scene_begin(batch, 4, "HSET", hash);
	sp_redis_batch_add(batch, field, field_size);
	sp_redis_batch_add(batch, value, size);
}

const char *sp_redis_scene_hash(sp_redis_layout layout, size_t table, int64_t key,
				const sp_redis_version *version)
{
	if (layout == SP_REDIS_VERSIONED)
		return sp_redis_hash_name(sp_redis_scene_arena, "m", sp_redis_scene_tables[table],
					  version, sp_redis_partition((uint64_t)key, PARTITIONS));
	if (layout == SP_REDIS_HPS)
		return sp_redis_hps_name(sp_redis_scene_arena, "m", sp_redis_scene_tables[table],
					 sp_redis_partition((uint64_t)key, PARTITIONS));
	return sp_redis_tfra_name(sp_redis_scene_arena, "m", sp_redis_scene_tables[table],
				  sp_redis_tfra_slice(key, PARTITIONS), PARTITIONS);
}

static void fill_row(sp_redis_batch *batch, sp_redis_layout layout, size_t table, int64_t key,
		     const sp_redis_version *version)
{
	char stored[SP_REDIS_SCENE_DIM * sizeof(float)], name[SP_REDIS_DEEPREC_KEY_MAX];
	size_t size = sp_row_format_size(version->format, SP_REDIS_SCENE_DIM);
	size_t part = (size_t)(key % 1000) % feature_counts[table];
	float row[SP_REDIS_SCENE_DIM];

	sp_redis_scene_make_row(key, table, row);
	sp_row_codec_find(version->format)->encode(SP_REDIS_SCENE_DIM, row, stored);
	if (layout != SP_REDIS_DEEPREC) {
		sp_redis_scene_put_field(batch, sp_redis_scene_hash(layout, table, key, version),
					 &key, sizeof(key), stored, size);
		return;
	}
	sp_redis_deeprec_key(name, SP_REDIS_SCENE_FULL, features[table][part], key, sizeof(key));
	sp_redis_batch_begin(batch, name, sizeof(name), 3);
	sp_redis_batch_add_text(batch, "SET");
	sp_redis_batch_add(batch, name, sizeof(name));
	sp_redis_batch_add(batch, stored, size);
}

/* What makes the version ours, or DeepRec's. */
static void finish(sp_redis_layout layout, const sp_redis_version *version)
{
	char record[SP_REDIS_MAX_RECORD], mark[SP_REDIS_MARK_SIZE + 1];
	sp_redis_batch *batch = sp_redis_batch_create(sp_redis_scene_client);

	if (layout == SP_REDIS_DEEPREC) {
		sp_redis_scene_begin(batch, 3, "SET", SP_REDIS_DEEPREC_ACTIVE);
		sp_redis_batch_add_text(batch, "1");
		sp_redis_scene_begin(batch, 3, "SET", SP_REDIS_DEEPREC_VERSION);
		sp_redis_batch_add_text(batch, "42,50");
	} else if (layout == SP_REDIS_VERSIONED) {
		sp_redis_record_write(record, version);
		sp_redis_mark(mark, version);
		sp_redis_scene_begin(
			batch, 3, "SET",
			sp_redis_version_name(sp_redis_scene_arena, "m", SP_REDIS_SCENE_FULL));
		sp_redis_batch_add_text(batch, record);
		for (size_t t = 0; t < 2; t++)
			for (size_t p = 0; p < PARTITIONS; p++) {
				const char *hash = sp_redis_hash_name(sp_redis_scene_arena, "m",
								      sp_redis_scene_tables[t],
								      version, p);

				sp_redis_scene_put_field(batch, hash, SP_REDIS_MARK_FIELD, 1, mark,
							 strlen(mark));
				sp_redis_scene_put_field(batch, hash, SP_REDIS_ROWS_FIELD, 5, "75",
							 2);
			}
	}
	sp_redis_scene_run(batch);
}

void sp_redis_scene_fill(sp_redis_layout layout, sp_row_format format)
{
	const sp_redis_version version = sp_redis_scene_version(format);
	sp_redis_batch *batch = sp_redis_batch_create(sp_redis_scene_client);

	sp_redis_scene_tell("FLUSHALL");
	for (size_t t = 0; t < 2; t++)
		for (int64_t key = 0; key < KEYS; key += STEP)
			fill_row(batch, layout, t, key, &version);
	sp_redis_scene_run(batch);
	finish(layout, &version);
	sp_arena_reset(sp_redis_scene_arena);
}

/* ---- what is read ---- */

sp_redis_store_options sp_redis_scene_options(sp_redis_layout layout)
{
	return (sp_redis_store_options){.address = &address,
					.layout = layout,
					.model = "m",
					.full = SP_REDIS_SCENE_FULL,
					.content = CONTENT,
					.partitions = PARTITIONS,
					.timeout_ms = SP_REDIS_SCENE_LONG_MS,
					.open_timeout_ms = SP_REDIS_SCENE_LONG_MS,
					.cache_bytes = 1 << 20};
}

sp_redis_store_options sp_redis_scene_file_options(sp_redis_layout layout)
{
	sp_redis_store_options options = sp_redis_scene_options(layout);

	options.cache_bytes = 1; /* sixteen rows */
	options.file = (sp_row_file_options){
		.folder = sp_redis_scene_folder, .cap_bytes = 4 << 20, .readers = 4};
	return options;
}

void sp_redis_scene_open(sp_redis_scene *s, const sp_redis_store_options *options)
{
	assert_ok(sp_redis_store_open(&s->store, options, &err), &err);
	for (size_t t = 0; t < 2; t++) {
		const sp_redis_table_options table = {.name = sp_redis_scene_tables[t],
						      .dim = SP_REDIS_SCENE_DIM,
						      .key_size = 8,
						      .features = features[t],
						      .feature_count = feature_counts[t]};

		assert_ok(sp_redis_tier_open(&s->tiers[t], s->store, &table, &err), &err);
	}
	assert_ok(sp_redis_store_divide_cache(s->store, &err), &err);
}

void sp_redis_scene_close(sp_redis_scene *s)
{
	sp_tier_release(s->tiers[0]);
	sp_tier_release(s->tiers[1]);
	sp_redis_store_release(s->store);
}

sp_status sp_redis_scene_ask(const sp_redis_scene *s, sp_redis_scene_lookup q[2], size_t count,
			     int64_t deadline_ns, sp_error *why)
{
	sp_tier_read reads[2];

	for (size_t t = 0; t < 2; t++) {
		for (size_t i = 0; i < count; i++) {
			q[t].places[i] = q[t].rows[i];
			memset(q[t].rows[i], 0xee, sizeof(q[t].rows[i]));
		}
		reads[t] = (sp_tier_read){s->tiers[t], q[t].keys, count, q[t].places, q[t].found};
	}
	return sp_test_tier_read(reads, 2, deadline_ns, why);
}

void sp_redis_scene_choose(sp_redis_scene_lookup q[2], size_t count, unsigned seed)
{
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < count; i++)
			q[t].keys[i] = (int64_t)((i * 7 + seed * 13 + t * 5) % (KEYS + 100)) -
				       (i % 50 == 0 ? 2000 : 0);
}

bool sp_redis_scene_is_there(int64_t key)
{
	return key >= 0 && key < KEYS && key % STEP == 0;
}

sp_status sp_redis_scene_check(const sp_redis_scene_lookup q[2], size_t count, sp_row_format format,
			       sp_error *why)
{
	const sp_row_codec *codec = sp_row_codec_find(format);
	char stored[SP_REDIS_SCENE_DIM * sizeof(float)];
	float row[SP_REDIS_SCENE_DIM];

	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < count; i++) {
			int64_t key = q[t].keys[i];

			if (q[t].found[i] != sp_redis_scene_is_there(key))
				return sp_error_set(why, SP_CORRUPT, "key %lld of table %zu: %d",
						    (long long)key, t, q[t].found[i]);
			if (!q[t].found[i])
				continue;
			sp_redis_scene_make_row(key, t, row);
			codec->encode(SP_REDIS_SCENE_DIM, row, stored);
			codec->decode(SP_REDIS_SCENE_DIM, stored, row);
			if (memcmp(row, q[t].rows[i], sizeof(row)) != 0)
				return sp_error_set(why, SP_CORRUPT, "row of key %lld of table %zu",
						    (long long)key, t);
		}
	return SP_OK;
}

void sp_redis_scene_ask_well(const sp_redis_scene *s, sp_row_format format, unsigned seed)
{
	static sp_redis_scene_lookup q[2];

	sp_redis_scene_choose(q, SP_REDIS_SCENE_MANY, seed);
	assert_ok(sp_redis_scene_ask(s, q, SP_REDIS_SCENE_MANY, 0, &err), &err);
	assert_ok(sp_redis_scene_check(q, SP_REDIS_SCENE_MANY, format, &err), &err);
}

void sp_redis_scene_refuse(const sp_redis_store_options *options, sp_status status,
			   const char *reason)
{
	sp_redis_store *none;

	assert_int_equal(sp_redis_store_open(&none, options, &err), status);
	if (strstr(err.text, reason) == NULL)
		fail_msg("%s", err.text);
}

/* ---- life ---- */

int sp_redis_scene_set_up(void **state)
{
	char text[SP_PATH_SIZE + 32];
	sp_redis_client_options options = {.address = &address,
					   .silence_ms = SP_REDIS_SCENE_LONG_MS};

	(void)state;
	sp_redis_start(&sp_redis_scene_process, false, NULL);
	assert_ok(sp_redis_address_parse(&address, sp_redis_unix(&sp_redis_scene_process, text),
					 &err),
		  &err);
	assert_ok(sp_redis_client_create(&sp_redis_scene_client, &options, &err), &err);
	sp_redis_scene_arena = sp_arena_create(1 << 16);
	sp_temp_make(sp_redis_scene_folder);
	return 0;
}

int sp_redis_scene_tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(sp_redis_scene_arena);
	sp_redis_client_destroy(sp_redis_scene_client);
	sp_redis_end(&sp_redis_scene_process);
	sp_temp_remove(sp_redis_scene_folder);
	return 0;
}
