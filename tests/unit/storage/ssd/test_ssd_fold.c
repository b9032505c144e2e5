#include "tests/support/cmocka.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "storage/table/layers_fold.h"
#include "storage/rows/rows_builder.h"
#include "tests/support/ssd_tables.h"

/*
 * A table on an SSD with a layer of rows over it, folded: it answers as before.
 * Keys 0, 3, 6 ... are in the tier.  A layer has every `every`th key of them, and as
 * many new ones, which are one more.
 */
enum { DIM = SP_SSD_TEST_DIM, ROWS = 20000, LAYER = 2000, STEP = 1000 };

static sp_error err;

static sp_rows *make_layer(size_t count, int64_t every, int generation, sp_row_format format)
{
	const sp_rows_options options = {.name = "t", .dim = DIM, .format = format};
	int64_t *keys = malloc(2 * count * sizeof(*keys));
	float *rows = malloc(2 * count * DIM * sizeof(*rows));
	sp_rows *layer;

	assert_true(keys != NULL && rows != NULL);
	for (size_t i = 0; i < count; i++) {
		keys[2 * i] = 3 * every * (int64_t)i;
		keys[2 * i + 1] = keys[2 * i] + 1;
	}
	keys[1] = INT64_MIN; /* these, too, are keys */
	keys[3] = INT64_MAX;
	for (size_t i = 0; i < 2 * count; i++)
		sp_ssd_test_make_row(keys[i], generation, rows + i * DIM);
	assert_ok(sp_rows_create(&layer, &options, keys, rows, 2 * count, &err), &err);
	free(keys);
	free(rows);
	return layer;
}

/* The tier with the layer over it. */
static sp_table *lay_over(const sp_table *full, size_t count, int64_t every, int generation)
{
	sp_rows *layer = make_layer(count, every, generation, SP_ROW_FP32);
	sp_table *table;

	assert_ok(sp_table_with_overlay(&table, full, layer, &err), &err);
	sp_rows_release(layer);
	return table;
}

static sp_table *make_full(sp_ssd_store *store)
{
	const float defaults[DIM] = {-7, -7, -7, -7, -7, -7};
	const sp_table_options options = {
		.name = "t", .dim = DIM, .default_rows = defaults, .default_row_count = 1};
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);
	sp_table *table;

	assert_ok(sp_table_create(&table, &options, NULL, tier, &err), &err);
	sp_tier_release(tier);
	return table;
}

/* `every` 0: there is no layer. */
static void check_row(const sp_table *table, int64_t key, int64_t every, int generation)
{
	static const float absent[DIM] = {-7, -7, -7, -7, -7, -7};
	bool both_ends = key == INT64_MIN || key == INT64_MAX;
	bool is_old = key >= 0 && key % 3 == 0 && key < 3 * ROWS;
	bool in_layer = every != 0 && (both_ends || (key >= 0 && key % (3 * every) <= 1 &&
						     key / (3 * every) < LAYER && key != 1 &&
						     key != 3 * every + 1));
	float row[DIM], want[DIM];

	assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	if (in_layer || is_old)
		sp_ssd_test_make_row(key, in_layer ? generation : 0, want);
	else
		memcpy(want, absent, sizeof(want));
	assert_memory_equal(row, want, sizeof(row));
}

/* Every key that is anywhere, one after the other, and some that are not. */
static void check_all(const sp_table *table, int64_t every, int generation)
{
	check_row(table, INT64_MIN, every, generation);
	check_row(table, INT64_MAX, every, generation);
	for (int64_t key = -50; key < 3 * ROWS + 50; key += key % 30 < 27 ? 1 : 28)
		check_row(table, key, every, generation);
}

/* What it takes until *out answers in place of `table`. */
static sp_status try_fold(sp_table **out, const sp_table *table)
{
	const sp_layers_fold_options options = {.threads = 1};
	sp_layers_fold *fold;
	bool done = false;
	sp_status status = SP_OK;

	SP_TRY(sp_layers_fold_create(&fold, table, &options, &err));
	while (status == SP_OK && !done) {
		status = sp_layers_fold_step(fold, STEP, &done, &err);
		usleep(done ? 0 : 200);
	}
	if (status == SP_OK)
		status = sp_layers_fold_freeze(fold, out, &err);
	if (status == SP_OK)
		sp_layers_fold_adopt(fold);
	sp_layers_fold_destroy(fold);
	return status;
}

static sp_table *fold(const sp_table *table)
{
	const sp_table_layers layers = sp_table_get_layers(table);
	sp_table *folded;

	assert_null(sp_layers_fold_obstacle(&layers, &(sp_layers_fold_options){0}));
	assert_ok(try_fold(&folded, table), &err);
	assert_null(sp_table_get_layers(folded).overlay);
	assert_true(sp_table_is_folded(folded));
	assert_int_equal(sp_table_row_count(folded), sp_table_row_count(table));
	return folded;
}

/* What is in the one folder there is, the names of its files with their sizes and bytes. */
static uint64_t trace_folder(const char *folder)
{
	DIR *list = opendir(folder);
	const struct dirent *entry;
	uint64_t trace = 0;

	assert_non_null(list);
	while ((entry = readdir(list)) != NULL) {
		char path[3 * SP_PATH_SIZE], *bytes;
		struct stat info;
		size_t size;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		assert_int_equal(stat(path, &info), 0);
		if (entry->d_name[0] == '.')
			continue;
		trace += sp_fingerprint64(entry->d_name, strlen(entry->d_name));
		if (S_ISDIR(info.st_mode)) {
			trace += trace_folder(path);
			continue;
		}
		assert_ok(sp_file_read(&bytes, &size, path, (size_t)1 << 30, &err), &err);
		trace += sp_fingerprint64(bytes, size);
		assert_int_equal(info.st_nlink, 1); /* whatever had a link to it is gone */
		sp_free(bytes);
	}
	closedir(list);
	return trace;
}

static void a_fold_changes_no_answer(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered = lay_over(full, LAYER, 2, 5), *folded;
	uint64_t before = trace_folder(sp_ssd_test_root);

	(void)state;
	check_all(full, 0, 0);
	check_all(layered, 2, 5);
	folded = fold(layered);
	check_all(folded, 2, 5);
	/* The one before, whose requests go on for a while, shares the cache with it. */
	check_all(layered, 2, 5);
	check_all(folded, 2, 5);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	check_all(folded, 2, 5);
	/* There is nothing of it that a later start could find. */
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	assert_int_equal(trace_folder(sp_ssd_test_root), before);
	sp_table_destroy(folded);
	sp_ssd_store_release(store);
}

/* Looks for keys 2 ... 599, one by one; how many of them the cache had. */
static uint64_t count_hot(const sp_table *table, int64_t every, int generation)
{
	sp_table_counters before = sp_table_count(table), after;

	for (int64_t key = 2; key < 600; key++)
		check_row(table, key, every, generation);
	after = sp_table_count(table);
	assert_int_equal(after.keys - before.keys, 598);
	return after.cached - before.cached;
}

/* The cache has rows of the full checkpoint, and knows of keys that they are absent. */
static void what_is_cached_is_not_stale(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered, *folded;
	uint64_t before = 0, after;

	(void)state;
	for (int round = 0; round < 10; round++)
		before = count_hot(full, 0, 0);
	assert_true(before > 150);
	layered = lay_over(full, LAYER, 1, 9);
	folded = fold(layered);
	/* What was hot is hot, though it is another row. */
	after = count_hot(folded, 1, 9);
	print_message("%d of 598 keys hot before, %d after\n", (int)before, (int)after);
	assert_true(after + 20 > before);
	sp_table_destroy(folded);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	sp_ssd_store_release(store);
}

static void one_fold_upon_the_other(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *folded = make_full(store), *layered;

	(void)state;
	for (int generation = 1; generation < 5; generation++) {
		layered = lay_over(folded, LAYER, 3, generation);
		sp_table_destroy(folded);
		folded = fold(layered);
		sp_table_destroy(layered);
		check_all(folded, 3, generation);
		assert_int_equal(sp_ssd_test_count_folders(), 1);
		/* Runs do not pile up. */
		assert_int_equal(sp_table_row_count(folded), ROWS + 2 * LAYER);
	}
	assert_true(sp_table_footprint(folded) < SP_SSD_TEST_CACHE + 2 * LAYER * (8 + 4) + 65536);
	sp_table_destroy(folded);
	sp_ssd_store_release(store);
}

static void rows_stay_what_they_are_in_every_format(void **state)
{
	(void)state;
	for (int format = 0; format < SP_ROW_FORMATS; format++) {
		const sp_ssd_table name = {"t", DIM, (sp_row_format)format, NULL};
		const sp_table_options options = {.name = "t", .dim = DIM};
		sp_ssd_store *store = sp_ssd_test_open_store("1");
		sp_rows *layer = make_layer(500, 7, 3, (sp_row_format)format);
		sp_table *full, *layered, *folded;
		sp_ssd_builder *builder;
		sp_tier *tier;

		assert_ok(sp_ssd_builder_create(&builder, store, &name, 1000, &err), &err);
		assert_ok(sp_ssd_test_put_range(builder, 0, 3, 1000, 0, &err), &err);
		assert_ok(sp_ssd_builder_freeze(builder, &tier, &err), &err);
		sp_ssd_builder_destroy(builder);
		assert_ok(sp_table_create(&full, &options, NULL, tier, &err), &err);
		assert_ok(sp_table_with_overlay(&layered, full, layer, &err), &err);
		folded = fold(layered);
		for (int64_t key = 0; key < 4000; key++) {
			float row[DIM], want[DIM];

			assert_ok(sp_table_lookup(layered, &key, 1, NULL, want, &err), &err);
			assert_ok(sp_table_lookup(folded, &key, 1, NULL, row, &err), &err);
			assert_memory_equal(row, want, sizeof(row));
		}
		sp_table_destroy(folded);
		sp_table_destroy(layered);
		sp_table_destroy(full);
		sp_tier_release(tier);
		sp_rows_release(layer);
		sp_ssd_store_release(store);
	}
}

static void a_delta_must_have_what_was_folded(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered = lay_over(full, LAYER, 2, 5);
	sp_table *folded = fold(layered), *next;
	sp_rows *fewer = make_layer(LAYER - 1, 2, 6, SP_ROW_FP32);

	(void)state;
	assert_int_equal(sp_table_with_overlay(&next, folded, fewer, &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "2 of the 4000 keys"));
	next = lay_over(folded, LAYER, 2, 6);
	check_all(next, 2, 6);
	sp_table_destroy(next);
	sp_rows_release(fewer);
	sp_table_destroy(folded);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	sp_ssd_store_release(store);
}

/* ------------------------------------------------------------------- what goes wrong */

static void what_is_given_up_leaves_nothing(void **state)
{
	const sp_layers_fold_options slow = {.threads = 1, .rows_per_second = 1000};
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered = lay_over(full, LAYER, 2, 5);

	(void)state;
	for (int ms = 0; ms < 40; ms += ms < 10 ? 1 : 10) {
		sp_layers_fold *f;
		bool done;

		assert_ok(sp_layers_fold_create(&f, layered, &slow, &err), &err);
		assert_ok(sp_layers_fold_step(f, STEP, &done, &err), &err);
		usleep((useconds_t)ms * 1000);
		assert_ok(sp_layers_fold_step(f, STEP, &done, &err), &err);
		assert_false(done);
		assert_true(sp_layers_fold_is_busy(f));
		sp_layers_fold_destroy(f);
		assert_int_equal(sp_ssd_test_count_folders(), 1);
	}
	check_all(layered, 2, 5);
	check_all(full, 0, 0);
	sp_layers_fold_destroy(NULL);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	sp_ssd_store_release(store);
}

static void without_its_folder_a_table_is_not_folded(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered = lay_over(full, LAYER, 2, 5), *folded;
	char path[2 * SP_PATH_SIZE];

	(void)state;
	/* What was found to be corrupt is not, either. */
	sp_ssd_test_find_file(sp_ssd_test_root, "label", path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(try_fold(&folded, layered), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "table 't', SSD tier"));
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	check_all(layered, 2, 5);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	sp_ssd_store_release(store);
}

/* A write that fails is one as on a full disk. */
static void what_cannot_be_written_leaves_nothing(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered = lay_over(full, LAYER, 2, 5), *folded;
	size_t failed = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t most = 0; most <= 512 << 10; most = most == 0 ? 64 : 2 * most) {
		struct rlimit limit;
		sp_status status;

		assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){most, limit.rlim_max}),
				 0);
		status = try_fold(&folded, layered);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_true(status == SP_OK || status == SP_IO || status == SP_CORRUPT);
		if (status == SP_OK) {
			check_all(folded, 2, 5);
			sp_table_destroy(folded);
			sp_table_destroy(layered);
			layered = lay_over(full, LAYER, 2, 5);
		}
		failed += status != SP_OK;
		assert_int_equal(sp_ssd_test_count_folders(), 1);
	}
	assert_true(failed > 8);
	check_all(layered, 2, 5);
	folded = fold(layered);
	check_all(folded, 2, 5);
	sp_table_destroy(folded);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	sp_ssd_store_release(store);
}

static void rows_of_another_format_are_refused(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered, *folded;
	sp_rows *layer = make_layer(100, 2, 5, SP_ROW_BF16);

	(void)state;
	assert_ok(sp_table_with_overlay(&layered, full, layer, &err), &err);
	assert_int_equal(try_fold(&folded, layered), SP_INVALID);
	assert_non_null(strstr(err.text, "bf16"));
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	sp_rows_release(layer);
	sp_ssd_store_release(store);
}

/* A block of the full checkpoint's turns out to be wrong when the fold reads it. */
static void the_next_start_does_not_use_a_corrupt_folder(void **state)
{
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered = lay_over(full, LAYER, 2, 5), *folded;
	size_t failed = 0;
	sp_tier *tier;

	(void)state;
	folded = fold(layered);
	sp_ssd_test_change_bytes(".sst", 50, 500);
	for (int64_t key = 2; key < 3 * ROWS; key += 61) {
		sp_status status;
		float row[DIM];

		status = sp_table_lookup(folded, &key, 1, NULL, row, &err);
		assert_true(status == SP_OK || status == SP_CORRUPT);
		failed += status == SP_CORRUPT;
		if (status == SP_OK)
			check_row(folded, key, 2, 5);
	}
	assert_true(failed > 50);
	sp_table_destroy(folded);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	assert_int_equal(sp_ssd_tier_open(&tier, store, &table, &err), SP_NOT_FOUND);
	sp_ssd_store_release(store);
}

static void without_memory_all_is_as_it_was(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store), *layered = lay_over(full, LAYER, 2, 5);
	sp_table *folded = NULL;
	sp_status status = SP_NO_MEMORY;
	int allowed = 0;

	(void)state;
	for (; status != SP_OK; allowed++) {
		sp_alloc_fail_after(allowed);
		status = try_fold(&folded, layered);
		sp_alloc_fail_after(-1);
		/* A label that cannot be read is none. */
		assert_true(status == SP_OK || status == SP_NO_MEMORY || status == SP_NOT_FOUND);
		assert_true((status == SP_OK) == (folded != NULL));
		assert_int_equal(sp_ssd_test_count_folders(), 1);
		assert_true(allowed < 200);
	}
	assert_true(allowed > 15);
	check_all(layered, 2, 5);
	check_all(folded, 2, 5);
	sp_table_destroy(folded);
	sp_table_destroy(layered);
	sp_table_destroy(full);
	sp_ssd_store_release(store);
}

/* ------------------------------------------------------------------------- threads */

typedef struct crowd {
	const sp_table *layered;
	sp_table *folded;
	atomic_bool done;
} crowd;

static sp_status read_or_fold(void *context, size_t piece, sp_error *error)
{
	crowd *all = context;
	uint64_t seed = piece * 77 + 1;

	(void)error;
	if (piece == 0) {
		sp_status status = try_fold(&all->folded, all->layered);

		atomic_store(&all->done, true);
		return status;
	}
	while (!atomic_load(&all->done)) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		check_row(all->layered, (int64_t)((seed >> 33) % (4 * ROWS)), 2, 5);
	}
	return SP_OK;
}

/* While it is folded, and its cache goes over to the table that is made. */
static void nobody_who_reads_notices(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_table *full = make_full(store);
	crowd all = {.layered = lay_over(full, LAYER, 2, 5)};

	(void)state;
	assert_ok(sp_parallel_run(5, 5, read_or_fold, &all, &err), &err);
	check_all(all.folded, 2, 5);
	check_all(all.layered, 2, 5);
	sp_table_destroy(all.folded);
	sp_table_destroy((sp_table *)all.layered);
	sp_table_destroy(full);
	sp_ssd_store_release(store);
}

#define ON_DISK(test) \
	cmocka_unit_test_setup_teardown(test, sp_ssd_test_set_up, sp_ssd_test_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(a_fold_changes_no_answer),
		ON_DISK(what_is_cached_is_not_stale),
		ON_DISK(one_fold_upon_the_other),
		ON_DISK(rows_stay_what_they_are_in_every_format),
		ON_DISK(a_delta_must_have_what_was_folded),
		ON_DISK(what_is_given_up_leaves_nothing),
		ON_DISK(without_its_folder_a_table_is_not_folded),
		ON_DISK(what_cannot_be_written_leaves_nothing),
		ON_DISK(rows_of_another_format_are_refused),
		ON_DISK(the_next_start_does_not_use_a_corrupt_folder),
		ON_DISK(without_memory_all_is_as_it_was),
		ON_DISK(nobody_who_reads_notices),
	};

	/* Folders are made durable again and again, which a busy disk takes long for. */
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests_name("ssd_fold", tests, NULL, NULL);
}
