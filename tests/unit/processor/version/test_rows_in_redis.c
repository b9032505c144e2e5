#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "incremental/identity.h"
#include "processor/version/rows_in_redis.h"
#include "processor/version/rows_kept.h"
#include "processor/version/version.h"
#include "tests/support/paths.h"
#include "tests/support/redis_process.h"
#include "tests/support/wire.h"

/* Who publishes what a real redis-server lacks, with the model of tests/golden/ev-rows. */

static sp_redis_process process;
static sp_redis_client *client;
static char model_dir[SP_PATH_SIZE], prefix[SP_PATH_SIZE];
static uint64_t content;
static sp_error err;

/* Runs a command; its answer's text, or an integer's digits, is in `answer`. */
static char answer[256];

static void ask(const char *a, const char *b, const char *c, const char *d, const char *e)
{
	const char *const words[] = {a, b, c, d, e};
	const sp_redis_submit_options how = {.deadline_ns = sp_clock_now_ns() +
							    INT64_C(10000000000)};
	sp_redis_batch *batch = sp_redis_batch_create(client);
	const sp_redis_value *value;
	size_t count = 0;

	while (count < 5 && words[count] != NULL)
		count++;
	sp_redis_batch_begin(batch, NULL, 0, count);
	for (size_t i = 0; i < count; i++)
		sp_redis_batch_add_text(batch, words[i]);
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	value = sp_redis_batch_reply(batch, 0);
	if (value->kind == SP_REDIS_INTEGER)
		snprintf(answer, sizeof(answer), "%lld", (long long)value->integer);
	else
		snprintf(answer, sizeof(answer), "%.*s", (int)value->size,
			 value->kind == SP_REDIS_NIL ? "" : value->text);
	sp_redis_batch_release(batch);
}

static void configure(sp_config *config, const char *more)
{
	char json[4 * SP_PATH_SIZE], url[SP_PATH_SIZE + 32];

	snprintf(json, sizeof(json),
		 "{\"signature_name\": \"serving_default\", \"signature_fallback\": true, "
		 "\"model_store_type\": \"local\", \"serialize_protocol\": \"protobuf\", "
		 "\"feature_store_type\": \"redis\", \"redis_url\": \"%s\", "
		 "\"redis_model\": \"rows\", \"savedmodel_dir\": \"%s\", \"lock_timeout\": 1%s}",
		 sp_redis_unix(&process, url), model_dir, more);
	assert_ok(sp_config_parse(config, json, &err), &err);
}

/* What the loader of a version does before it reads weights. */
static sp_status find(const sp_config *config, sp_error *why)
{
	const sp_found_version found = {.full_prefix = prefix, .full_step = 1, .delta_step = -1};
	const sp_publish_source source = {
		.prefix = prefix, .content = content, .full_step = 1, .delta_step = -1};
	sp_redis_store *store = NULL;
	sp_model *model = NULL;
	sp_status status = sp_version_open_model(&model, config, &found, why);

	if (status == SP_OK)
		status = sp_rows_in_redis_find(&store, model, config, &source, why);
	assert_true((status == SP_OK) == (store != NULL));
	sp_redis_store_release(store);
	sp_model_destroy(model);
	return status;
}

static void rows_that_redis_lacks_are_published(void **state)
{
	sp_config config = {0};

	(void)state;
	configure(&config, ", \"redis_row_format\": \"fp16\"");
	assert_ok(find(&config, &err), &err);
	ask("GET", "rows.current", NULL, NULL, NULL);
	assert_non_null(strstr(answer, "full=1 "));
	assert_non_null(strstr(answer, "format=fp16"));
	assert_ok(find(&config, &err), &err);
	sp_config_fini(&config);
}

static void but_not_if_the_configuration_forbids_it(void **state)
{
	sp_config config = {0};

	(void)state;
	configure(&config, ", \"redis_publish\": false");
	assert_int_equal(find(&config, &err), SP_IO);
	assert_int_equal(err.status, SP_IO);
	assert_non_null(strstr(err.text, "rows@1"));
	ask("DBSIZE", NULL, NULL, NULL, NULL);
	assert_string_equal(answer, "0");
	sp_config_fini(&config);
}

static void *find_in_thread(void *context)
{
	sp_error why;

	return find(context, &why) == SP_OK ? context : NULL;
}

static void two_processors_do_it_once(void **state)
{
	sp_config configs[2];
	pthread_t threads[2];
	void *done;

	(void)state;
	for (int i = 0; i < 2; i++) {
		configure(&configs[i], ", \"redis_rows_per_second\": 200");
		assert_int_equal(pthread_create(&threads[i], NULL, find_in_thread, &configs[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &done);
		assert_non_null(done);
		sp_config_fini(&configs[i]);
	}
	ask("GET", "rows.lock", NULL, NULL, NULL);
	assert_string_equal(answer, "");
}

static void a_publisher_at_work_is_waited_for(void **state)
{
	sp_config config = {0};
	int64_t began = sp_clock_now_ns();

	(void)state;
	configure(&config, "");
	/* Longer than a lock lasts that nobody renews. */
	ask("SET", "rows.lock", "somebody", "PX", "2500");
	assert_ok(find(&config, &err), &err);
	assert_true(sp_clock_now_ns() - began > INT64_C(2000000000));
	sp_config_fini(&config);
}

static void *close_soon(void *closing)
{
	usleep(300000);
	atomic_store((atomic_bool *)closing, true);
	return NULL;
}

static void the_wait_ends_when_the_processor_closes(void **state)
{
	sp_config config = {0};
	atomic_bool closing = false;
	pthread_t thread;

	(void)state;
	configure(&config, "");
	config.embeddings.closing = &closing;
	ask("SET", "rows.lock", "somebody", "EX", "100");
	assert_int_equal(pthread_create(&thread, NULL, close_soon, &closing), 0);
	assert_int_equal(find(&config, &err), SP_BUSY);
	pthread_join(thread, NULL);
	sp_config_fini(&config);
}

static void in_deeprecs_layout_a_newer_version_stays(void **state)
{
	sp_config config = {0};

	(void)state;
	configure(&config, ", \"redis_layout\": \"deeprec\"");
	ask("SET", "active", "1", NULL, NULL);
	ask("SET", "model_version", "7,0", NULL, NULL);
	assert_int_equal(find(&config, &err), SP_IO);
	ask("GET", "model_version", NULL, NULL, NULL);
	assert_string_equal(answer, "7,0");
	ask("SET", "model_version", "0,0", NULL, NULL);
	assert_ok(find(&config, &err), &err);
	ask("GET", "active", NULL, NULL, NULL);
	assert_string_equal(answer, "0");
	sp_config_fini(&config);
}

static void rows_that_are_served_are_kept(void **state)
{
	sp_config config = {0};
	int64_t due = 0;

	(void)state;
	configure(&config, ", \"redis_keep_seconds\": 1000");
	assert_ok(find(&config, &err), &err);
	ask("EXPIRE", "rows@1", "30", NULL, NULL);
	sp_rows_kept(&due, &config, 1, content);
	ask("TTL", "rows@1", NULL, NULL, NULL);
	assert_true(atoi(answer) > 900);
	assert_true(due > sp_clock_now_ns() + INT64_C(100000000000));
	ask("EXPIRE", "rows@1", "30", NULL, NULL);
	sp_rows_kept(&due, &config, 1, content); /* not yet again */
	ask("TTL", "rows@1", NULL, NULL, NULL);
	assert_true(atoi(answer) <= 30);
	sp_config_fini(&config);
}

/* ---- a table that the default signature does not read ---- */

/* The model with one more signature, "dense", which reads no table, in a folder. */
static void write_with_dense(const char *folder)
{
	sp_buffer name = sp_wire_begin(), output = sp_wire_begin(), signature = sp_wire_begin(),
		  entry = sp_wire_begin(), graph = sp_wire_begin(), model = sp_wire_begin();
	char path[2 * SP_PATH_SIZE], *bytes;
	size_t size, start = 3;
	FILE *file;

	snprintf(path, sizeof(path), "%s/saved_model.pb", model_dir);
	assert_ok(sp_file_read(&bytes, &size, path, 1 << 20, &err), &err);
	while ((bytes[start] & 0x80) != 0)
		start++; /* behind the length of its only graph, which goes to the end */
	sp_buffer_append(&graph, bytes + start + 1, size - start - 1);
	sp_free(bytes);

	sp_wire_text(&name, 1, "dense_out:0");
	sp_wire_varint(&name, 2, 1); /* DT_FLOAT */
	sp_wire_text(&output, 1, "dense");
	sp_wire_message(&output, 2, &name);
	sp_wire_message(&signature, 2, &output);
	sp_wire_text(&signature, 3, "tensorflow/serving/predict");
	sp_wire_text(&entry, 1, "dense");
	sp_wire_message(&entry, 2, &signature);
	sp_wire_message(&graph, 5, &entry);
	sp_wire_varint(&model, 1, 1);
	sp_wire_message(&model, 2, &graph);
	snprintf(path, sizeof(path), "%s/saved_model.pb", folder);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(model.data, 1, model.size, file), model.size);
	assert_int_equal(fclose(file), 0);
	sp_buffer_fini(&model);
}

static sp_status open_version(sp_version **out, const sp_config *config)
{
	const sp_found_version found = {.full_prefix = prefix, .full_step = 1, .delta_step = -1};

	*out = NULL;
	return sp_version_open(out, NULL, config, &found, SIZE_MAX, &err);
}

/* What is lost for now must not cost a signature until the next start. */
static void rows_that_another_signature_lacks_are_waited_for(void **state)
{
	char folder[SP_PATH_SIZE], saved[SP_PATH_SIZE];
	sp_config config = {0};
	const sp_model *model;
	sp_version *version;

	(void)state;
	write_with_dense(sp_temp_make(folder));
	memcpy(saved, model_dir, sizeof(saved));
	memcpy(model_dir, folder, sizeof(saved));
	configure(&config, ", \"ev_storage_size\": [1000, 1000]");
	memcpy(model_dir, saved, sizeof(saved));
	config.signature_name = "dense";

	assert_ok(open_version(&version, &config), &err);
	sp_version_close(version);
	ask("EVAL", "return redis.call('del', unpack(redis.call('keys', ARGV[1])))", "0",
	    "rows.*{p1}", NULL);
	assert_int_not_equal(atoi(answer), 0);
	config.redis_publish = false;
	assert_int_equal(open_version(&version, &config), SP_IO);
	assert_non_null(strstr(err.text, "signature 'serving_default': "));
	assert_non_null(strstr(err.text, "Redis does not have all of table"));

	config.redis_publish = true;
	ask("FLUSHALL", NULL, NULL, NULL, NULL);
	assert_ok(open_version(&version, &config), &err);
	model = version->runtime->model;
	for (size_t i = 0; i < sp_model_signature_count(model); i++)
		assert_null(sp_model_signature_error(model, i));
	sp_version_close(version);
	sp_config_fini(&config);
	sp_temp_remove(folder);
}

/* ---------------------------------------------------------------- memory */

static sp_status open_parts(sp_version **out, const char *settings, size_t memory_limit)
{
	char parts[SP_PATH_SIZE], folder[SP_PATH_SIZE];
	const sp_found_version found = {.full_prefix = parts, .full_step = 10, .delta_step = -1};
	sp_config config = {0};
	sp_status status;

	sp_source_path(parts, "tests/golden/ev-parts/checkpoints/v1/model.ckpt-10");
	sp_source_path(folder, "tests/golden/ev-parts/model");
	configure(&config, settings);
	config.savedmodel_dir = folder;
	*out = NULL;
	status = sp_version_open(out, NULL, &config, &found, memory_limit, &err);
	sp_config_fini(&config);
	return status;
}

/* Of a model with six tables. */
static size_t memory_of_tables(const char *settings)
{
	sp_version *version;
	size_t sum = 0;

	assert_ok(open_parts(&version, settings, 0), &err);
	assert_int_equal(sp_weights_table_count(version->weights), 6);
	for (size_t t = 0; t < 6; t++)
		sum += sp_table_memory_of(sp_weights_table(version->weights, t)).tier;
	sp_version_close(version);
	return sum;
}

static void tables_without_a_number_of_rows_share_their_memory(void **state)
{
	enum { GIVEN = 1 << 20, OWN = 6 << 10 };
	const char *const all[] = {"hps", "tfra", "deeprec"};
	char settings[100];
	sp_version *version;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		snprintf(settings, sizeof(settings),
			 ", \"redis_layout\": \"%s\", \"ev_storage_size\": [%d]", all[i], GIVEN);
		assert_in_range(memory_of_tables(settings), GIVEN * 9 / 10, GIVEN + OWN);
	}
	/* It counts as a whole where a version must not take more. */
	assert_int_equal(open_parts(&version, settings, GIVEN), SP_NO_MEMORY);
	assert_ok(open_parts(&version, settings, 2 * GIVEN), &err);
	sp_version_close(version);
}

/* ---------------------------------------------------------------- what Redis loses */

static sp_version *open_lost(const sp_config *config)
{
	sp_version *version;

	assert_ok(open_version(&version, config), &err);
	return version;
}

/* Whether all rows are there, which are not in memory. */
static bool has_rows(const sp_version *version)
{
	static float rows[42 * 64], nothing[64];
	int64_t keys[42];

	for (int i = 0; i < 42; i++)
		keys[i] = i;
	return sp_table_lookup(sp_weights_table(version->weights, 0), keys, 42, nothing, rows,
			       &err) == SP_OK;
}

static const char lost[] = ", \"ev_storage_size\": [1], \"redis_on_timeout\": \"fail\", "
			   "\"redis_timeout_ms\": 20000";

static void what_redis_has_lost_is_published_again(void **state)
{
	sp_config config = {0};
	sp_version *version;

	(void)state;
	configure(&config, lost);
	version = open_lost(&config);
	assert_true(has_rows(version));
	sp_rows_restored(version, &config, prefix, false);
	ask("FLUSHALL", NULL, NULL, NULL, NULL);
	sp_rows_restored(version, &config, prefix, false); /* no request has met it yet */
	ask("DBSIZE", NULL, NULL, NULL, NULL);
	assert_string_equal(answer, "0");
	assert_false(has_rows(version));
	sp_rows_restored(version, &config, prefix, false);
	assert_true(has_rows(version));
	ask("GET", "rows.current", NULL, NULL, NULL);
	assert_non_null(strstr(answer, "full=1 "));

	ask("FLUSHALL", NULL, NULL, NULL, NULL);
	assert_false(has_rows(version));
	sp_rows_restored(version, &config, prefix, false); /* not yet again */
	assert_false(has_rows(version));
	version->restore_ns = 0;
	sp_rows_restored(version, &config, model_dir, false); /* other files */
	assert_false(has_rows(version));
	version->restore_ns = 0;
	sp_rows_restored(version, &config, prefix, false);
	assert_true(has_rows(version));
	sp_version_close(version);
	sp_config_fini(&config);
}

static void a_version_with_holes_is_published_again_before_it_is_opened(void **state)
{
	sp_config config = {0};
	sp_version *version;

	(void)state;
	configure(&config, lost);
	assert_ok(find(&config, &err), &err);
	ask("EVAL", "return redis.call('DEL', unpack(redis.call('KEYS', '*{p1*}')))", "0", NULL,
	    NULL);
	assert_string_equal(answer, "7"); /* 1, 10 ... 15 */
	version = open_lost(&config);
	assert_true(has_rows(version));
	sp_version_close(version);
	sp_config_fini(&config);
}

static void nothing_is_published_again_if_the_configuration_forbids_it(void **state)
{
	const sp_found_version found = {.full_prefix = prefix, .full_step = 1, .delta_step = -1};
	sp_config config = {0}, reader = {0};
	sp_version *version;

	(void)state;
	configure(&config, lost);
	configure(&reader, ", \"redis_publish\": false");
	version = open_lost(&config);
	ask("DEL", "rows@1", NULL, NULL, NULL);
	ask("EVAL", "return redis.call('DEL', unpack(redis.call('KEYS', '*{p1*}')))", "0", NULL,
	    NULL);
	assert_false(has_rows(version));
	sp_rows_restored(version, &reader, prefix, false);
	assert_false(has_rows(version));
	sp_version_close(version);
	version = NULL;
	assert_int_equal(sp_version_open(&version, NULL, &reader, &found, 0, &err), SP_IO);
	sp_config_fini(&config);
	sp_config_fini(&reader);
}

static int start(void **state)
{
	sp_arena *arena = sp_arena_create(4096);
	char text[SP_PATH_SIZE + 32];
	sp_redis_address address;

	(void)state;
	sp_source_path(model_dir, "tests/golden/ev-rows/model");
	sp_source_path(prefix, "tests/golden/ev-rows/checkpoints/v1/model.ckpt-1");
	content = sp_identity_of_rows(prefix, arena);
	sp_arena_destroy(arena);
	sp_redis_start(&process, false, NULL);
	if (sp_redis_address_parse(&address, sp_redis_unix(&process, text), &err) != SP_OK)
		return -1;
	return sp_redis_client_create(&client, &(sp_redis_client_options){.address = &address},
				      &err) == SP_OK
		       ? 0
		       : -1;
}

static int end(void **state)
{
	(void)state;
	sp_redis_client_destroy(client);
	sp_redis_end(&process);
	return 0;
}

static int clear(void **state)
{
	(void)state;
	ask("FLUSHALL", NULL, NULL, NULL, NULL);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(rows_that_redis_lacks_are_published, clear),
		cmocka_unit_test_setup(but_not_if_the_configuration_forbids_it, clear),
		cmocka_unit_test_setup(two_processors_do_it_once, clear),
		cmocka_unit_test_setup(a_publisher_at_work_is_waited_for, clear),
		cmocka_unit_test_setup(the_wait_ends_when_the_processor_closes, clear),
		cmocka_unit_test_setup(rows_that_are_served_are_kept, clear),
		cmocka_unit_test_setup(what_redis_has_lost_is_published_again, clear),
		cmocka_unit_test_setup(a_version_with_holes_is_published_again_before_it_is_opened,
				       clear),
		cmocka_unit_test_setup(nothing_is_published_again_if_the_configuration_forbids_it,
				       clear),
		cmocka_unit_test_setup(in_deeprecs_layout_a_newer_version_stays, clear),
		cmocka_unit_test_setup(rows_that_another_signature_lacks_are_waited_for, clear),
		cmocka_unit_test_setup(tables_without_a_number_of_rows_share_their_memory, clear),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("rows in Redis", tests, start, end);
}
