#include "tests/support/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "model_loader/embedding/embedding_variable.h"
#include "tests/support/embeddings.h"
#include "tests/support/paths.h"

/*
 * Tables on the SSD tier beside the same in memory, over
 * tests/golden/embeddings/ (scripts/make_embedding_fixtures.py).
 */

enum { MAX_KEY = 4000 };

static char temp[SP_PATH_SIZE], ssd[SP_PATH_SIZE + 16];
static sp_bundle *formats;
static sp_arena *arena;
static sp_ssd_store *store;
static sp_error err;

static sp_ssd_store *open_store(size_t cache_bytes)
{
	const sp_ssd_store_options options = {.path = ssd,
					      .model = "m",
					      .version = "v",
					      .cache_bytes = cache_bytes,
					      .readers = 2};
	sp_ssd_store *opened;

	assert_ok(sp_ssd_store_open(&opened, &options, &err), &err);
	return opened;
}

static int set_up(void **state)
{
	(void)state;
	sp_log_set_level(SP_LOG_ERROR);
	sp_temp_make(temp);
	snprintf(ssd, sizeof(ssd), "%s/ssd", temp);
	formats = sp_embeddings_open("formats");
	arena = sp_arena_create(64 << 10);
	store = open_store(1);
	return arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	sp_ssd_store_release(store);
	sp_arena_destroy(arena);
	sp_bundle_close(formats);
	sp_temp_remove(temp);
	return 0;
}

static sp_embedding_spec spec_of(const char *name, size_t dim)
{
	return (sp_embedding_spec){.name = name,
				   .key_dtype = SP_INT64,
				   .dtype = SP_FLOAT,
				   .dim = dim,
				   .partition_num = 1};
}

static sp_table *load(const sp_bundle *bundle, const sp_bundle *delta,
		      const sp_embedding_spec *spec, sp_load_policy policy, sp_ssd_store *where)
{
	sp_embedding embedding;
	sp_table *table;

	policy.ssd = where;
	policy.threads = 2;
	assert_ok(sp_embedding_find(&embedding, spec, bundle, delta, arena, &err), &err);
	assert_ok(sp_embedding_load(&table, &embedding, spec, &policy, NULL, &err), &err);
	return table;
}

/* Every key in reach answers the same bits in both. */
static void check_same(const sp_table *a, const sp_table *b)
{
	size_t dim = sp_table_dim(a), held = 0;
	const float absent[16] = {-77};

	assert_int_equal(sp_table_dim(b), dim);
	assert_true(dim <= 16);
	for (int64_t key = -50; key < MAX_KEY; key++) {
		float left[16], right[16];

		assert_ok(sp_table_lookup(a, &key, 1, absent, left, &err), &err);
		assert_ok(sp_table_lookup(b, &key, 1, absent, right, &err), &err);
		assert_memory_equal(left, right, dim * sizeof(float));
		held += left[0] != -77;
	}
	assert_true(held != 0);
}

static size_t count_folders(void)
{
	DIR *entries = opendir(ssd);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(entries);
	while ((entry = readdir(entries)) != NULL)
		count += strncmp(entry->d_name, "sp-ssd-", strlen("sp-ssd-")) == 0;
	closedir(entries);
	return count;
}

/* In memory and on the SSD, twice: made, and found again. */
static void compare(const sp_embedding_spec *spec, sp_load_policy policy)
{
	sp_table *memory = load(formats, NULL, spec, policy, NULL);

	for (int again = 0; again < 2; again++) {
		sp_table *table = load(formats, NULL, spec, policy, store);

		assert_int_equal(count_folders(), 1);
		assert_int_equal(sp_table_row_count(table), sp_table_row_count(memory));
		check_same(memory, table);
		sp_table_destroy(table);
	}
	sp_table_destroy(memory);
}

static void rows_are_those_in_memory(void **state)
{
	const sp_embedding_spec spec = spec_of("seen", 4);

	(void)state;
	compare(&spec, (sp_load_policy){0});
}

static void of_a_key_in_two_pieces_the_later_row_counts(void **state)
{
	const sp_embedding_spec spec = spec_of("many", 2);

	(void)state;
	compare(&spec, (sp_load_policy){0});
}

static void rules_about_rows_hold_on_the_ssd_too(void **state)
{
	const sp_name_rule threshold = {"*", 4}, format = {"*", SP_ROW_INT8};
	const sp_embedding_spec spec = spec_of("seen", 4);

	(void)state;
	compare(&spec, (sp_load_policy){.frequency_thresholds = {&threshold, 1},
					.row_formats = {&format, 1}});
}

static void a_slice_is_a_slice_on_the_ssd_too(void **state)
{
	const sp_embedding_spec spec = spec_of("seen", 4);

	(void)state;
	compare(&spec, (sp_load_policy){.sharded_names = "seen", .slice = 1, .slice_count = 3});
}

static void a_delta_lies_over_rows_on_the_ssd(void **state)
{
	sp_bundle *full = sp_embeddings_open("full"), *delta = sp_embeddings_open("delta");
	const sp_embedding_spec spec = spec_of("whole", 4);
	sp_table *memory = load(full, delta, &spec, (sp_load_policy){0}, NULL);
	sp_table *table = load(full, delta, &spec, (sp_load_policy){0}, store);

	(void)state;
	assert_int_equal(count_folders(), 1);
	check_same(memory, table);
	sp_table_destroy(memory);
	sp_table_destroy(table);
	sp_bundle_close(full);
	sp_bundle_close(delta);
}

static sp_status try_delta(sp_table **out, sp_bundle *full, sp_bundle *delta, sp_load_policy policy,
			   sp_ssd_store *where)
{
	const sp_embedding_spec spec = spec_of("whole", 4);
	sp_embedding embedding;

	policy.ssd = where;
	policy.threads = 2;
	assert_ok(sp_embedding_find(&embedding, &spec, full, delta, arena, &err), &err);
	return sp_embedding_load(out, &embedding, &spec, &policy, NULL, &err);
}

/* As with the full checkpoint in memory: the same bits, or the same words. */
static void a_delta_is_merged_and_guarded_on_the_ssd_too(void **state)
{
	static const sp_load_policy policies[] = {
		{.old_percent = 25},
		{.only_finite = true, .old_percent = 60, .max_drift_percent = 1000000},
		{.ignore_new_keys = true},
		{.max_drift_percent = 1},
		{.max_new_percent = 1},
	};
	sp_bundle *full = sp_embeddings_open("full"), *delta = sp_embeddings_open("delta");
	size_t refused = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		sp_table *memory, *table;
		char words[sizeof(err.text)];
		sp_status want = try_delta(&memory, full, delta, policies[i], NULL);

		snprintf(words, sizeof(words), "%s", want == SP_OK ? "" : err.text);
		assert_int_equal(try_delta(&table, full, delta, policies[i], store), want);
		if (want != SP_OK) {
			assert_string_equal(err.text, words);
			refused++;
			continue;
		}
		check_same(memory, table);
		sp_table_destroy(memory);
		sp_table_destroy(table);
	}
	assert_in_range(refused, 1, 2);
	sp_bundle_close(full);
	sp_bundle_close(delta);
}

static void a_table_that_fits_stays_in_memory(void **state)
{
	const sp_embedding_spec spec = spec_of("seen", 4);
	sp_ssd_store *roomy = open_store(1 << 20);
	sp_table *memory = load(formats, NULL, &spec, (sp_load_policy){0}, NULL);
	sp_table *table = load(formats, NULL, &spec, (sp_load_policy){0}, roomy);

	(void)state;
	assert_int_equal(count_folders(), 0);
	check_same(memory, table);
	sp_table_destroy(memory);
	sp_table_destroy(table);
	sp_ssd_store_release(roomy);
}

static void an_empty_table_stays_in_memory(void **state)
{
	sp_bundle *full = sp_embeddings_open("full");
	const sp_embedding_spec spec = spec_of("empty", 4);
	sp_table *table = load(full, NULL, &spec, (sp_load_policy){0}, store);

	(void)state;
	assert_int_equal(count_folders(), 0);
	assert_int_equal(sp_table_row_count(table), 0);
	sp_table_destroy(table);
	sp_bundle_close(full);
}

static sp_table *load_part(const sp_bundle *full, int64_t parts, sp_ssd_store *where)
{
	const sp_load_policy policy = {.ssd = where, .threads = 2};
	sp_embedding_spec spec = spec_of("four/part_1", 4);
	sp_embedding embedding;
	sp_table *table;

	spec.partition_id = 1;
	spec.partition_num = parts;
	assert_ok(sp_embedding_find(&embedding, &spec, full, NULL, arena, &err), &err);
	embedding.own_part = true;
	assert_ok(sp_embedding_load(&table, &embedding, &spec, &policy, NULL, &err), &err);
	return table;
}

/* The same checkpoint, under graphs that divide it into different numbers of parts. */
static void rows_of_another_graphs_part_are_not_found_again(void **state)
{
	sp_bundle *full = sp_embeddings_open("full");

	(void)state;
	for (int64_t parts = 4; parts >= 2; parts--) {
		sp_table *memory = load_part(full, parts, NULL);
		sp_table *table = load_part(full, parts, store);

		check_same(memory, table);
		sp_table_destroy(memory);
		sp_table_destroy(table);
	}
	assert_int_equal(count_folders(), 3);
	sp_bundle_close(full);
}

/* ---- checkpoints that may be changed ---- */

static char prefix[SP_PATH_SIZE + 16];

static sp_bundle *open_copy(void)
{
	char from[SP_PATH_SIZE], command[4 * SP_PATH_SIZE];
	sp_bundle *bundle;

	snprintf(prefix, sizeof(prefix), "%s/copy", temp);
	sp_source_path(from, "tests/golden/embeddings/formats");
	snprintf(command, sizeof(command),
		 "for f in '%s'.*; do cp \"$f\" '%s'.\"${f##*formats.}\"; done && chmod u+w '%s'.*",
		 from, prefix, prefix);
	assert_int_equal(system(command), 0);
	assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
	return bundle;
}

/* All that is in the shard becomes other bytes. */
static void spoil_copy(void)
{
	char path[2 * SP_PATH_SIZE];
	struct stat info;
	int fd;

	snprintf(path, sizeof(path), "%s.data-00000-of-00001", prefix);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &info), 0);
	for (off_t at = 0; at < info.st_size; at += 64)
		assert_int_equal(pwrite(fd, "spoilt", 6, at), 6);
	close(fd);
}

static void what_is_found_again_is_not_read_again(void **state)
{
	const sp_embedding_spec spec = spec_of("seen", 4);
	sp_bundle *copy = open_copy();
	sp_table *memory = load(copy, NULL, &spec, (sp_load_policy){0}, NULL), *table;

	(void)state;
	sp_table_destroy(load(copy, NULL, &spec, (sp_load_policy){0}, store));
	spoil_copy();
	table = load(copy, NULL, &spec, (sp_load_policy){0}, store);
	check_same(memory, table);
	sp_table_destroy(table);
	sp_table_destroy(memory);
	sp_bundle_close(copy);
}

static void a_checkpoint_that_fails_its_check_leaves_nothing(void **state)
{
	const sp_embedding_spec spec = spec_of("seen", 4);
	sp_load_policy policy = {.threads = 1, .ssd = store};
	sp_bundle *copy = open_copy();
	sp_embedding embedding;
	sp_table *table;

	(void)state;
	spoil_copy();
	assert_ok(sp_embedding_find(&embedding, &spec, copy, NULL, arena, &err), &err);
	assert_int_equal(sp_embedding_load(&table, &embedding, &spec, &policy, NULL, &err),
			 SP_CORRUPT);
	assert_int_equal(count_folders(), 0);
	sp_bundle_close(copy);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(rows_are_those_in_memory),
		ON_DISK(of_a_key_in_two_pieces_the_later_row_counts),
		ON_DISK(rules_about_rows_hold_on_the_ssd_too),
		ON_DISK(a_slice_is_a_slice_on_the_ssd_too),
		ON_DISK(a_delta_lies_over_rows_on_the_ssd),
		ON_DISK(a_delta_is_merged_and_guarded_on_the_ssd_too),
		ON_DISK(a_table_that_fits_stays_in_memory),
		ON_DISK(an_empty_table_stays_in_memory),
		ON_DISK(rows_of_another_graphs_part_are_not_found_again),
		ON_DISK(what_is_found_again_is_not_read_again),
		ON_DISK(a_checkpoint_that_fails_its_check_leaves_nothing),
	};
	return cmocka_run_group_tests_name("embedding_ssd", tests, NULL, NULL);
}
