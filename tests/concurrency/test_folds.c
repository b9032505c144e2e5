/*
 * Deltas that are folded into their full checkpoint while requests are
 * answered: nobody notices, whatever comes next.  Meant for
 * --enable-sanitize=thread, too.
 *
 * SP_FOLDS in the environment says how many rounds of an update and a fold are
 * made to see that memory stays as it is; else it is a few seconds' worth.
 */
#include "tests/support/cmocka.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/support/row_model.h"
#include "tests/support/table_model.h"

enum { READERS = 4, KEYS = 2000, BATCH = 128, UPDATES = 14, PAUSE_US = 50000, ROW_DIM = 64 };

#define QUICK ", \"update_poll_interval_ms\": 20, \"update_fold_after_seconds\": 0.01"

static atomic_int folds;    /* of tables */
static atomic_int rereads;  /* of full checkpoints, because of a fold */
static atomic_int warnings; /* of folds */
static atomic_int obstacles;
static atomic_int too_large; /* for the memory that is allowed */

static void watch(void *context, int level, const char *line)
{
	(void)context;
	atomic_fetch_add(&folds, strstr(line, "are folded into") != NULL);
	atomic_fetch_add(&rereads, strstr(line, "is read again") != NULL);
	atomic_fetch_add(&obstacles,
			 strstr(line, "are not folded: its rows are mapped") != NULL ||
				 strstr(line, "are not folded: its rows are on") != NULL);
	atomic_fetch_add(&too_large, strstr(line, "are left of model_update_memory_mb") != NULL);
	atomic_fetch_add(&warnings, level >= 2 && strstr(line, "stays as it is") != NULL);
}

static void await_folds(int count)
{
	for (int i = 0; i < 2000 && atomic_load(&folds) < count; i++)
		usleep(5000);
	assert_true(atomic_load(&folds) >= count);
}

static int set_up(void **state)
{
	sp_row_model *rows = *state = calloc(1, sizeof(*rows));

	folds = rereads = warnings = obstacles = too_large = 0;
	sp_row_model_init(rows, KEYS);
	return 0;
}

static int tear_down(void **state)
{
	sp_row_model_fini(*state);
	free(*state);
	return 0;
}

static void open_model(sp_row_model *rows, const char *more)
{
	sp_row_model_open(rows, more);
	assert_non_null(rows->model);
}

/* A delta of these keys, with one value. */
static void write_delta(const sp_row_model *rows, int delta, const int64_t *keys, size_t count)
{
	char prefix[SP_PATH_SIZE];
	sp_rows_version version = {.prefix = prefix,
				   .keys = keys,
				   .count = count,
				   .value = 1000.0f + (float)delta,
				   .is_delta = 1};

	sp_row_model_prefix(rows, 1, delta, prefix);
	sp_checkpoint_write_rows(&version);
}

/* All elements of a key's row. */
static double value_of(const sp_row_model *rows, int64_t key)
{
	static const char *const outputs[] = {"rows"};
	const int64_t dims[] = {1};
	serving_processor_tensor input = {.name = "keys",
					  .dtype = SERVING_PROCESSOR_INT64,
					  .rank = 1,
					  .dims = dims,
					  .count = 1,
					  .data = &key};
	serving_processor_result *result;
	const float *row;
	double value;

	if (serving_processor_run(rows->model, NULL, &input, 1, outputs, 1, &result, NULL) !=
	    SERVING_PROCESSOR_OK)
		return -1;
	row = serving_processor_result_tensor(result, 0)->data;
	value = (double)row[0];
	for (int d = 1; d < ROW_DIM; d++)
		if ((double)row[d] != value)
			value = -2;
	serving_processor_result_free(result);
	return value;
}

static void assert_value(const sp_row_model *rows, int64_t key, double value)
{
	for (int i = 0; i < 1000 && value_of(rows, key) != value; i++)
		usleep(5000);
	assert_true(value_of(rows, key) == value);
}

static void check_every_row(const sp_row_model *rows, int every, double value)
{
	for (int64_t key = 0; key < KEYS; key++)
		assert_true(value_of(rows, key) == (key % every == 0 ? value : 1000));
}

/* ------------------------------------------------------------------ readers */

typedef struct scene {
	const sp_row_model *rows;
	atomic_uint failed, mixed, backwards, seeds;
	atomic_ullong read;
	atomic_bool done;
	pthread_t threads[READERS];
} scene;

static void *read_on(void *argument)
{
	scene *s = argument;
	unsigned seed = atomic_fetch_add(&s->seeds, 1);
	int64_t keys[BATCH];
	double last = 0;

	while (!atomic_load(&s->done)) {
		double value;

		for (int i = 0; i < BATCH; i++)
			keys[i] = rand_r(&seed) % KEYS;
		value = sp_row_model_ask(s->rows, keys, BATCH);
		s->failed += value == -1;
		s->mixed += value == -2;
		s->backwards += value >= 0 && value < last;
		last = value >= 0 ? value : last;
		s->read += BATCH;
	}
	return NULL;
}

static void start_readers(scene *s, const sp_row_model *rows)
{
	s->rows = rows;
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&s->threads[i], NULL, read_on, s), 0);
}

static void end_readers(scene *s)
{
	atomic_store(&s->done, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(s->threads[i], NULL);
	print_message("%llu rows read, %d folds\n", atomic_load(&s->read), atomic_load(&folds));
	assert_int_equal(atomic_load(&s->failed), 0);
	assert_int_equal(atomic_load(&s->mixed), 0);
	assert_int_equal(atomic_load(&s->backwards), 0);
	assert_true(atomic_load(&s->read) > 0);
}

/* Four deltas, then the next full checkpoint. */
static void update_and_fold(sp_row_model *rows, const char *more, int updates)
{
	scene s = {.done = false};
	int full = 1, delta = 0;

	open_model(rows, more);
	start_readers(&s, rows);
	for (int i = 0; i < updates; i++) {
		int before = atomic_load(&folds);

		usleep(PAUSE_US);
		if (delta == 4) {
			sp_row_model_write_full(rows, ++full);
			for (; delta > 0; delta--)
				sp_row_model_remove(rows, full - 1, delta);
			continue;
		}
		sp_row_model_write_delta(rows, full, ++delta);
		if (i % 2 == 0) /* else the next one comes at any time */
			await_folds(before + 1);
	}
	assert_true(sp_row_model_await(rows, 1000.0 * full + delta));
	end_readers(&s);
	assert_int_equal(rereads, 0); /* each delta had the keys of the one before */
	assert_int_equal(warnings, 0);
	assert_int_equal(obstacles, 0);
}

static void no_request_notices(void **state)
{
	update_and_fold(*state, ", \"session_num\": 3" QUICK, UPDATES);
}

/* The configuration that keeps rows in a folder of the test's; `format` has its path. */
static const char *with_folder(const sp_row_model *rows, const char *format)
{
	static char more[2 * SP_PATH_SIZE];
	char folder[SP_PATH_SIZE + 16];
	size_t size;

	snprintf(folder, sizeof(folder), "%.480s/kept", rows->work);
	size = (size_t)snprintf(more, sizeof(more), "%s", ", \"session_num\": 3" QUICK);
	snprintf(more + size, sizeof(more) - size, format, folder);
	return more;
}

/* The table takes three times as much. */
#define ON_SSD                                                                                    \
	", \"ev_storage_type\": 12, \"ev_storage_size\": [262144], \"ev_storage_path\": \"%s\", " \
	"\"ev_storage_read_threads\": 4"
#define IN_IMAGE ", \"ev_image_path\": \"%s\""

static void no_request_notices_on_an_ssd(void **state)
{
	update_and_fold(*state, with_folder(*state, ON_SSD), UPDATES / 2);
}

static void no_request_notices_where_an_image_is_left(void **state)
{
	update_and_fold(*state, with_folder(*state, IN_IMAGE ", \"update_fold_image\": true"),
			UPDATES / 2);
}

static void assert_all_tables_are(const sp_table_model *tables, float value)
{
	sp_table_model_answer answer = sp_table_model_ask(tables);

	assert_true(answer.answered && answer.consistent && answer.dense == value);
	for (int i = 0; i < SP_TABLE_MODEL_TABLES; i++)
		assert_true(answer.tables[i] == value);
}

/* Every one is published by itself, and the version stays the same. */
static void tables_are_folded_one_after_the_other(void **state)
{
	static const size_t counts[] = {300, 600, 900};
	sp_table_model_version version = {.full = 100, .value = 1};
	sp_table_model tables;

	(void)state;
	sp_table_model_init(&tables, counts);
	sp_table_model_write(&tables, &version);
	sp_table_model_open(&tables, QUICK);
	assert_non_null(tables.model);
	for (int i = 1; i < 4; i++) {
		version.delta = 100 + i;
		version.value = 1 + (float)i;
		sp_table_model_write(&tables, &version);
		assert_true(sp_table_model_await(&tables, version.value));
		for (int k = 0; k < 100000 && folds < i * SP_TABLE_MODEL_TABLES; k++)
			assert_all_tables_are(&tables, version.value);
		await_folds(i * SP_TABLE_MODEL_TABLES);
		assert_all_tables_are(&tables, version.value);
	}
	assert_int_equal(rereads, 0);
	assert_int_equal(serving_processor_give_order(tables.model, SERVING_PROCESSOR_ROLLBACK, -1,
						      -1, NULL, NULL),
			 SERVING_PROCESSOR_OK);
	assert_all_tables_are(&tables, 3);
	sp_table_model_fini(&tables);
}

/* ------------------------------------------------------------ what comes next */

static void new_keys_are_folded_in(void **state)
{
	static const int64_t keys[] = {4, 5, -7, INT64_MAX, 100000, 100001};
	sp_row_model *rows = *state;

	open_model(rows, ", \"update_fold_min_percent\": 0" QUICK);
	write_delta(rows, 1, keys, 6);
	await_folds(1);
	for (int i = 0; i < 6; i++)
		assert_value(rows, keys[i], 1001);
	assert_value(rows, 6, 1000);
	assert_value(rows, 100002, value_of(rows, 100004)); /* a default row, as before */
	write_delta(rows, 2, keys, 6);
	await_folds(2);
	assert_value(rows, INT64_MAX, 1002);
	assert_value(rows, 7, 1000);
	assert_int_equal(rereads, 0);
}

static void what_is_small_is_left_alone(void **state)
{
	sp_row_model *rows = *state;

	open_model(rows, QUICK);
	write_delta(rows, 1, rows->keys, KEYS / 100 - 1);
	assert_value(rows, 0, 1001);
	usleep(200000);
	assert_int_equal(folds, 0);
	write_delta(rows, 2, rows->keys, KEYS / 100);
	await_folds(1);
}

/* Its keys are of the version before no more: the full checkpoint's rows are wanted again. */
static void a_delta_may_lack_what_was_folded(void **state)
{
	sp_row_model *rows = *state;
	int64_t keys[KEYS / 4];

	for (int i = 0; i < KEYS / 4; i++)
		keys[i] = 4 * i;
	open_model(rows, QUICK);
	sp_row_model_write_delta(rows, 1, 1);
	await_folds(1);
	assert_value(rows, 2, 1001);
	write_delta(rows, 2, keys, KEYS / 4);
	assert_value(rows, 4, 1002);
	for (int64_t key = 0; key < KEYS; key++)
		assert_true(value_of(rows, key) == (key % 4 == 0 ? 1002 : 1000));
	assert_int_equal(rereads, 1);
	await_folds(2);
	for (int64_t key = 0; key < KEYS; key++)
		assert_true(value_of(rows, key) == (key % 4 == 0 ? 1002 : 1000));
}

static void without_the_full_checkpoint_such_a_delta_is_refused(void **state)
{
	sp_row_model *rows = *state;
	char prefix[SP_PATH_SIZE], path[SP_PATH_SIZE + 64], *json = NULL;

	open_model(rows, QUICK);
	sp_row_model_write_delta(rows, 1, 1);
	await_folds(1);
	sp_row_model_prefix(rows, 1, 0, prefix);
	snprintf(path, sizeof(path), "%s.data-00000-of-00001", prefix);
	assert_int_equal(unlink(path), 0);
	write_delta(rows, 2, rows->keys, 10);
	for (int i = 0; i < 1000 && (json == NULL || strstr(json, "\"state\":\"refused\"") == NULL);
	     i++) {
		serving_processor_free(json);
		json = serving_processor_versions(rows->model);
		assert_non_null(json);
		usleep(5000);
	}
	assert_non_null(strstr(json, "\"state\":\"refused\""));
	assert_non_null(strstr(json, "data-00000-of-00001"));
	serving_processor_free(json);
	assert_true(value_of(rows, 2) == 1001);
	sp_row_model_write_delta(rows, 1, 3); /* it needs nothing of the files */
	assert_true(sp_row_model_await(rows, 1003));
}

static void roll_back(const sp_row_model *rows)
{
	assert_int_equal(serving_processor_give_order(rows->model, SERVING_PROCESSOR_ROLLBACK, -1,
						      -1, NULL, NULL),
			 SERVING_PROCESSOR_OK);
}

static void a_rollback_reads_the_files(void **state)
{
	sp_row_model *rows = *state;

	open_model(rows, QUICK);
	sp_row_model_write_delta(rows, 1, 1);
	await_folds(1);
	roll_back(rows);
	assert_true(sp_row_model_ask(rows, rows->keys, BATCH) == 1000);
	assert_int_equal(rereads, 1);

	write_delta(rows, 2, rows->keys, KEYS / 2);
	await_folds(2);
	sp_row_model_write_delta(rows, 1, 3);
	assert_value(rows, 0, 1003);
	await_folds(3);
	assert_int_equal(rereads, 2);
	roll_back(rows);
	for (int64_t key = 0; key < KEYS; key++)
		assert_true(value_of(rows, key) == (key < KEYS / 2 ? 1002 : 1000));
}

/* ------------------------------------------------------------------ interrupted */

/* At this pace it takes eight seconds. */
#define SLOW QUICK ", \"model_update_rows_per_second\": 4000"

static void a_newer_version_comes_first(void **state)
{
	sp_row_model *rows = *state;

	open_model(rows, SLOW);
	for (int delta = 1; delta < 4; delta++) {
		int64_t start = sp_clock_now_ns();

		sp_row_model_write_delta(rows, 1, delta);
		assert_true(sp_row_model_await(rows, 1000 + delta));
		/* As long as its rows take, a quarter of a second, also where all are busy. */
		assert_true(sp_clock_now_ns() - start < 5000 * 1000000ll);
		usleep(100000);
	}
	assert_int_equal(folds, 0);
	roll_back(rows);
	assert_true(sp_row_model_ask(rows, rows->keys, BATCH) == 1002);
}

static void closing_does_not_wait(void **state)
{
	sp_row_model *rows = *state;
	int64_t start;

	open_model(rows, SLOW);
	sp_row_model_write_delta(rows, 1, 1);
	assert_true(sp_row_model_await(rows, 1001));
	usleep(300000);
	start = sp_clock_now_ns();
	serving_processor_destroy(rows->model);
	rows->model = NULL;
	assert_true(sp_clock_now_ns() - start < 2000 * 1000000ll);
	assert_int_equal(folds, 0);
}

/* ------------------------------------------------------------- what is not folded */

static void what_compares_rows_needs_those_of_the_full_checkpoint(void **state)
{
	sp_row_model *rows = *state;

	open_model(rows, ", \"update_max_drift_percent\": 50" QUICK);
	sp_row_model_write_delta(rows, 1, 1);
	assert_true(sp_row_model_await(rows, 1001));
	usleep(300000);
	assert_int_equal(folds, 0);
}

static void what_does_not_fit_is_not_folded(void **state)
{
	sp_row_model *rows = *state;

	open_model(rows, ", \"model_update_memory_mb\": 1" QUICK);
	sp_row_model_write_delta(rows, 1, 1);
	assert_true(sp_row_model_await(rows, 1001));
	usleep(200000);
	assert_int_equal(folds, 0);
	assert_int_equal(too_large, 1);
	roll_back(rows); /* nothing of it was given up */
	assert_int_equal(rereads, 0);
	serving_processor_destroy(rows->model);
	open_model(rows, ", \"model_update_memory_mb\": 100" QUICK);
	await_folds(1);
	assert_int_equal(too_large, 1);
}

static void nothing_is_folded_with_0_seconds(void **state)
{
	sp_row_model *rows = *state;

	open_model(rows, ", \"update_fold_after_seconds\": 0, \"update_poll_interval_ms\": 20");
	sp_row_model_write_delta(rows, 1, 1);
	assert_true(sp_row_model_await(rows, 1001));
	usleep(300000);
	assert_int_equal(folds, 0);
}

/* The one image of a folder. */
static char *read_image(const char *folder, size_t *size)
{
	DIR *list = opendir(folder);
	const struct dirent *file;
	char path[2 * SP_PATH_SIZE], *bytes = NULL;

	assert_non_null(list);
	while ((file = readdir(list)) != NULL) {
		size_t length = strlen(file->d_name);

		if (length < 6 || strcmp(file->d_name + length - 6, ".image") != 0)
			continue;
		assert_null(bytes);
		snprintf(path, sizeof(path), "%s/%s", folder, file->d_name);
		assert_int_equal(sp_file_read(&bytes, size, path, (size_t)1 << 30, NULL), SP_OK);
	}
	closedir(list);
	assert_non_null(bytes);
	return bytes;
}

/* Rows that other processes share stay where they are, and the image stays what it is. */
static void an_image_is_left_alone(void **state)
{
	sp_row_model *rows = *state;
	char folder[SP_PATH_SIZE + 16], *before, *after;
	size_t size, size_after;

	snprintf(folder, sizeof(folder), "%.480s/kept", rows->work);
	open_model(rows, with_folder(rows, IN_IMAGE));
	before = read_image(folder, &size);
	sp_row_model_write_delta(rows, 1, 1);
	assert_true(sp_row_model_await(rows, 1001));
	usleep(300000);
	assert_int_equal(folds, 0);
	sp_row_model_write_delta(rows, 1, 2);
	assert_true(sp_row_model_await(rows, 1002));
	usleep(100000);
	assert_int_equal(obstacles, 1); /* told once */
	after = read_image(folder, &size_after);
	assert_int_equal(size, size_after);
	assert_memory_equal(before, after, size);
	sp_free(before);
	sp_free(after);
	roll_back(rows);
	assert_true(sp_row_model_ask(rows, rows->keys, BATCH) == 1001);
}

/* Folded into memory of its own where that is wanted; the image stays what it is all the same. */
static void an_image_is_left_for_memory(void **state)
{
	sp_row_model *rows = *state;
	const char *more = with_folder(rows, IN_IMAGE ", \"update_fold_image\": true");
	char folder[SP_PATH_SIZE + 16], *before, *after;
	size_t size, size_after;

	snprintf(folder, sizeof(folder), "%.480s/kept", rows->work);
	open_model(rows, more);
	before = read_image(folder, &size);
	for (int delta = 1; delta < 4; delta++) {
		sp_row_model_write_delta(rows, 1, delta);
		await_folds(delta);
		check_every_row(rows, 2, 1000 + delta);
		if (delta > 1)
			continue;
		roll_back(rows); /* to what the image has */
		check_every_row(rows, 1, 1000);
		assert_int_equal(rereads, 1);
	}
	assert_int_equal(rereads, 1);
	assert_int_equal(obstacles, 0);
	after = read_image(folder, &size_after);
	assert_int_equal(size, size_after);
	assert_memory_equal(before, after, size);
	sp_free(before);
	sp_free(after);
	serving_processor_destroy(rows->model);
	open_model(rows, more);
	check_every_row(rows, 2, 1003);
}

static int count_ssd_folders(const sp_row_model *rows)
{
	char folder[SP_PATH_SIZE + 16];
	const struct dirent *entry;
	int count = 0;
	DIR *list;

	snprintf(folder, sizeof(folder), "%.480s/kept", rows->work);
	list = opendir(folder);
	assert_non_null(list);
	while ((entry = readdir(list)) != NULL)
		count += strncmp(entry->d_name, "sp-ssd-", 7) == 0;
	closedir(list);
	return count;
}

static void a_table_on_an_ssd_is_folded(void **state)
{
	sp_row_model *rows = *state;
	const char *more = with_folder(rows, ON_SSD);
	int64_t keys[KEYS / 4];

	for (int i = 0; i < KEYS / 4; i++)
		keys[i] = 4 * i;
	open_model(rows, more);
	check_every_row(rows, 1, 1000); /* the cache is full of these */
	for (int delta = 1; delta < 4; delta++) {
		sp_row_model_write_delta(rows, 1, delta);
		await_folds(delta);
		check_every_row(rows, 2, 1000 + delta);
		assert_int_equal(count_ssd_folders(rows), 1);
		if (delta > 1)
			continue;
		roll_back(rows); /* to what is in the folder that was there first */
		check_every_row(rows, 1, 1000);
		assert_int_equal(rereads, 1);
	}
	assert_int_equal(rereads, 1);
	/* So are the full checkpoint's rows of keys that the next delta lacks. */
	write_delta(rows, 4, keys, KEYS / 4);
	assert_value(rows, 4, 1004);
	check_every_row(rows, 4, 1004);
	assert_int_equal(rereads, 2);
	await_folds(4);
	check_every_row(rows, 4, 1004);
	roll_back(rows);
	check_every_row(rows, 2, 1003);
	assert_int_equal(rereads, 2); /* all of its keys were in that one */
	/* A start knows nothing of it. */
	serving_processor_destroy(rows->model);
	open_model(rows, more);
	check_every_row(rows, 4, 1004);
	sp_row_model_remove(rows, 1, 4);
	serving_processor_destroy(rows->model);
	open_model(rows, more);
	check_every_row(rows, 2, 1003);
	for (int delta = 1; delta < 4; delta++)
		sp_row_model_remove(rows, 1, delta);
	serving_processor_destroy(rows->model);
	open_model(rows, more);
	check_every_row(rows, 1, 1000);
}

/* ------------------------------------------------------------------ many rounds */

static long resident_kb(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size, resident;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
	fclose(file);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void many_rounds_leave_nothing_behind(void **state)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	enum { COUNT = 40, SLACK_KB = 1 << 30 };
#else
	enum { COUNT = 80, SLACK_KB = 8192 /* a fold that stays is 500 */ };
#endif
	const char *wanted = getenv("SP_FOLDS");
	int count = wanted != NULL ? atoi(wanted) : COUNT, full = 1, delta = 0;
	sp_row_model *rows = *state;
	long kb = 0;

	open_model(rows, QUICK);
	for (int i = 1; i <= count; i++) {
		if (i == count / 2)
			kb = resident_kb();
		if (i % 10 == 0) {
			sp_row_model_write_full(rows, ++full);
			sp_row_model_remove(rows, full - 1, delta);
			delta = 0;
			continue;
		}
		sp_row_model_write_delta(rows, full, ++delta);
		if (delta > 1)
			sp_row_model_remove(rows, full, delta - 1);
		await_folds(i - i / 10);
		assert_true(sp_row_model_await(rows, 1000.0 * full + delta));
	}
	print_message("%ld KB after %d rounds, %ld KB after %d\n", kb, count / 2, resident_kb(),
		      count);
	assert_true(resident_kb() <= kb + SLACK_KB);
	assert_int_equal(rereads, 0);
	assert_int_equal(warnings, 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(no_request_notices),
		CASE(no_request_notices_on_an_ssd),
		CASE(no_request_notices_where_an_image_is_left),
		CASE(tables_are_folded_one_after_the_other),
		CASE(new_keys_are_folded_in),
		CASE(what_is_small_is_left_alone),
		CASE(a_delta_may_lack_what_was_folded),
		CASE(without_the_full_checkpoint_such_a_delta_is_refused),
		CASE(a_rollback_reads_the_files),
		CASE(a_newer_version_comes_first),
		CASE(closing_does_not_wait),
		CASE(what_compares_rows_needs_those_of_the_full_checkpoint),
		CASE(what_does_not_fit_is_not_folded),
		CASE(nothing_is_folded_with_0_seconds),
		CASE(an_image_is_left_alone),
		CASE(an_image_is_left_for_memory),
		CASE(a_table_on_an_ssd_is_folded),
		CASE(many_rounds_leave_nothing_behind),
	};

	serving_processor_set_log(watch, NULL);
	/* One heap for all threads: what several keep for later depends on which of them frees
	 * what. */
	mallopt(M_ARENA_MAX, 1);
	return cmocka_run_group_tests_name("folds", tests, NULL, NULL);
}
