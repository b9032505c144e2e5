#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "model_loader/embedding/embedding_column.h"
#include "model_loader/embedding/embedding_variable.h"
#include "model_loader/embedding/ssd_record.h"
#include "tests/support/embeddings.h"
#include "tests/support/paths.h"

/* Over tests/golden/embeddings/ssd/, see make_ssd() in scripts/make_embedding_fixtures.py. */

enum { KEYS = 100, STEP = 37, IN_MEMORY = 60, ROWLESS = 999983 };

static sp_bundle *full;
static sp_arena *arena;
static sp_error err;

/*
 * Every test opens the checkpoint itself: cmocka puts signal handlers of its own
 * over that of mappings that are open already.
 */
static void begin(void)
{
	full = sp_embeddings_open("ssd/full");
	arena = sp_arena_create(64 << 10);
	assert_non_null(arena);
}

static void end(void)
{
	sp_bundle_close(full);
	sp_arena_destroy(arena);
}

static sp_embedding_spec spec_of(const char *name)
{
	return (sp_embedding_spec){.name = name,
				   .key_dtype = SP_INT64,
				   .dtype = SP_FLOAT,
				   .dim = 4,
				   .partition_num = 1};
}

static sp_status load(sp_table **out, const sp_bundle *bundle, const sp_embedding_spec *spec,
		      const sp_load_policy *policy)
{
	sp_embedding embedding;

	SP_TRY(sp_embedding_find(&embedding, spec, bundle, NULL, arena, &err));
	return sp_embedding_load(out, &embedding, spec, policy, NULL, &err);
}

static bool holds(const sp_table *table, int64_t key)
{
	bool found;

	assert_int_equal(sp_table_contains(table, &key, 1, &found, NULL), SP_OK);
	return found;
}

static void check_row(const sp_table *table, int64_t key)
{
	float row[8];

	assert_true(holds(table, key));
	assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	for (size_t d = 0; d < sp_table_dim(table); d++)
		assert_true(row[d] == sp_embeddings_element(key, d));
}

static void check_all(const sp_embedding_spec *spec, size_t threads)
{
	const sp_load_policy policy = {.threads = threads};
	sp_table *table;

	assert_ok(load(&table, full, spec, &policy), &err);
	assert_int_equal(sp_table_row_count(table), KEYS);
	for (int64_t key = 0; key < KEYS * STEP; key += STEP)
		check_row(table, key);
	sp_table_destroy(table);
}

static void records_of_every_generation_are_read(void **state)
{
	const struct {
		const char *name;
		size_t dim;
		sp_dtype key_dtype;
	} cases[] = {{"header", 4, SP_INT64},  {"scope/header3", 3, SP_INT64},
		     {"header5", 5, SP_INT64}, {"tail2", 4, SP_INT64},
		     {"tail1", 4, SP_INT64},   {"tail0", 6, SP_INT64},
		     {"counted", 4, SP_INT32}};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_embedding_spec spec = spec_of(cases[i].name);

		spec.dim = cases[i].dim;
		spec.key_dtype = cases[i].key_dtype;
		check_all(&spec, 1);
		check_all(&spec, 3);
	}
	end();
}

static void parts_have_records_of_their_own(void **state)
{
	sp_embedding_spec spec = spec_of("parts/part_1");

	(void)state;
	begin();
	spec.partition_id = 1;
	spec.partition_num = 4;
	check_all(&spec, 2);
	end();
}

static void a_record_without_the_row_is_no_row(void **state)
{
	sp_embedding_spec spec = spec_of("rowless");
	sp_table *table;

	(void)state;
	begin();
	check_all(&spec, 1);
	assert_ok(load(&table, full, &spec, NULL), &err);
	assert_false(holds(table, ROWLESS));
	sp_table_destroy(table);
	end();
}

/* It has come back from the SSD, and was trained since. */
static void a_row_in_the_bundle_is_newer(void **state)
{
	const int64_t last = (KEYS - 1) * STEP;
	sp_embedding_spec spec = spec_of("both");
	sp_table *table;
	float row[4];

	(void)state;
	begin();
	for (size_t threads = 1; threads < 3; threads++) {
		const sp_load_policy policy = {.threads = threads};

		assert_ok(load(&table, full, &spec, &policy), &err);
		assert_int_equal(sp_table_row_count(table), KEYS - IN_MEMORY);
		check_row(table, last - STEP);
		assert_ok(sp_table_lookup(table, &last, 1, NULL, row, &err), &err);
		assert_true(row[0] == 5.0f && row[3] == 5.0f);
		sp_table_destroy(table);
	}
	end();
}

/* Of the keys on the SSD those seen `least` times, of the others all. */
static void check_admitted(const char *name, int64_t filter_freq, int64_t threshold, int64_t least)
{
	const sp_name_rule rule = {"*", threshold};
	const sp_load_policy policy = {.frequency_thresholds = {&rule, 1}};
	sp_embedding_spec spec = spec_of(name);
	sp_table *table;

	spec.filter = filter_freq != 0 ? SP_TABLE_FILTER_COUNTER : SP_TABLE_FILTER_NONE;
	spec.filter_freq = filter_freq;
	assert_ok(load(&table, full, &spec, &policy), &err);
	for (int64_t key = IN_MEMORY * STEP; key < KEYS * STEP; key += STEP)
		assert_int_equal(holds(table, key), sp_embeddings_seen(key) >= least);
	sp_table_destroy(table);
}

static void keys_on_the_ssd_may_not_be_admitted(void **state)
{
	const char *const names[] = {"header", "tail2", "tail1"};

	(void)state;
	begin();
	for (size_t i = 0; i < 3; i++) {
		check_admitted(names[i], 7, 0, 7);
		check_admitted(names[i], 4, 9, 9);
		check_admitted(names[i], 0, 0, 0);
	}
	check_admitted("header", 0, 4, 4);
	check_admitted("tail2", 0, 4, 4);
	/* One number, which without a filter may as well be a version. */
	check_admitted("tail1", 0, 4, 1 << 20);
	check_admitted("tail1", 0, 1, 0);
	end();
}

/* ----------------------------------------------------------------------- broken */

/* In what is expected before they are loaded. */
static void rows_of_a_record_count(void **state)
{
	const sp_embedding_spec spec = spec_of("both");
	const sp_load_policy policy = {.threads = 1};
	sp_embedding embedding;
	sp_table *table;
	size_t bytes;

	(void)state;
	begin();
	assert_ok(sp_embedding_find(&embedding, &spec, full, NULL, arena, &err), &err);
	assert_int_equal(embedding.full.parts[0].row_count, 1);
	assert_int_equal(embedding.full.parts[0].ssd_count, KEYS - IN_MEMORY);
	assert_ok(sp_embedding_load(&table, &embedding, &spec, &policy, NULL, &err), &err);
	bytes = sp_table_row_count(table) * (4 * sizeof(float) + sizeof(int64_t));
	assert_in_range(sp_embedding_expected_size(&embedding, &spec, &policy), bytes, 4 * bytes);
	assert_ok(sp_embedding_expect_column(&bytes, &embedding, &spec, &err), &err);
	assert_true(bytes >= sp_table_row_count(table) * 2 * sizeof(int64_t));
	sp_table_destroy(table);
	end();
}

static void what_cannot_be_is_refused(void **state)
{
	const struct {
		const char *name;
		sp_status status;
		const char *word;
	} cases[] = {
		{"zeros", SP_UNSUPPORTED, "header"},
		{"other_width", SP_UNSUPPORTED, "do not fit"},
		{"far_offset", SP_CORRUPT, "no record"},
		{"odd_offset", SP_CORRUPT, "no record"},
		{"negative_offset", SP_CORRUPT, "no record"},
		{"no_file", SP_CORRUPT, "file 1"},
		{"gone_file", SP_CORRUPT, "7.emb"},
		{"same_file", SP_CORRUPT, "file 0"},
		{"fewer_records", SP_CORRUPT, "file 3"},
		{"negative_records", SP_CORRUPT, "file 3"},
		{"fewer_offsets", SP_CORRUPT, "39 offsets"},
	};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_embedding_spec spec = spec_of(cases[i].name);
		sp_table *table;

		assert_int_equal(load(&table, full, &spec, NULL), cases[i].status);
		if (strstr(err.text, cases[i].word) == NULL ||
		    strstr(err.text, cases[i].name) == NULL)
			fail_msg("%s: %s", cases[i].name, err.text);
	}
	end();
}

static sp_status open_record(sp_ssd_record **out, const char *prefix)
{
	const sp_ssd_record_options options = {.prefix = prefix,
					       .checkpoint = full,
					       .name = "header",
					       .key_dtype = SP_INT64,
					       .dim = 4};

	return sp_ssd_record_open(out, &options, &err);
}

/* A copy of the record of "header" that may be changed. */
static const char *copy_record(char folder[SP_PATH_SIZE], char prefix[SP_PATH_SIZE + 64])
{
	char from[SP_PATH_SIZE], command[3 * SP_PATH_SIZE];

	sp_source_path(from, "tests/golden/embeddings/ssd");
	snprintf(command, sizeof(command), "cp -r %s/full-header-* %s && chmod -R u+w %s", from,
		 sp_temp_make(folder), folder);
	assert_int_equal(system(command), 0);
	snprintf(prefix, SP_PATH_SIZE + 64, "%s/full-header-ssd_record", folder);
	return prefix;
}

static void change_byte(const char *path, long at)
{
	FILE *file = fopen(path, "r+b");
	int byte;

	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	byte = fgetc(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	assert_int_equal(fputc(byte ^ 0x10, file), byte ^ 0x10);
	fclose(file);
}

static void every_byte_of_the_bundle_is_checked(void **state)
{
	char folder[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 64], data[SP_PATH_SIZE + 96];
	sp_ssd_record *record;

	(void)state;
	begin();
	copy_record(folder, prefix);
	snprintf(data, sizeof(data), "%s.data-00000-of-00001", prefix);
	assert_ok(open_record(&record, prefix), &err);
	sp_ssd_record_close(record);
	for (long at = 0; at < 2 * 8 + 2 * 8 + 3 * 40 * 8; at++) {
		sp_status status;

		change_byte(data, at);
		status = open_record(&record, prefix);
		if (status == SP_OK) /* of invalid_record_count, which is not read */
			sp_ssd_record_close(record);
		else
			assert_true(status == SP_CORRUPT || status == SP_UNSUPPORTED);
		assert_true(status != SP_OK || (at >= 16 && at < 32));
		change_byte(data, at);
	}
	sp_temp_remove(folder);
	end();
}

static void files_that_get_shorter_are_no_crash(void **state)
{
	const char *const victims[] = {"full-header-emb_files/0.emb",
				       "full-header-ssd_record.data-00000-of-00001"};

	(void)state;
	begin();
	for (size_t i = 0; i < 2; i++) {
		char folder[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 64], path[SP_PATH_SIZE + 96];
		int64_t keys[40], freqs[40];
		float rows[40 * 4];
		sp_ssd_record *record;
		sp_status status;

		copy_record(folder, prefix);
		assert_ok(open_record(&record, prefix), &err);
		snprintf(path, sizeof(path), "%s/%s", folder, victims[i]);
		assert_int_equal(truncate(path, 0), 0);
		status = sp_ssd_record_keys(record, 0, 40, keys, freqs, &err);
		if (status == SP_OK)
			status = sp_ssd_record_rows(record, 0, 40, rows, &err);
		if (status == SP_OK)
			status = sp_ssd_record_check(record, &err);
		assert_true(status == SP_IO || status == SP_CORRUPT);
		sp_ssd_record_close(record);
		assert_int_equal(open_record(&record, prefix), SP_CORRUPT);
		sp_temp_remove(folder);
	}
	end();
}

static void every_failed_allocation_is_reported(void **state)
{
	sp_embedding_spec spec = spec_of("header");
	int64_t successes = 0;
	sp_status status;

	(void)state;
	begin();
	do {
		sp_table *table = NULL;

		sp_alloc_fail_after(successes++);
		status = load(&table, full, &spec, NULL);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		sp_table_destroy(table);
	} while (status != SP_OK);
	assert_true(successes > 10);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_every_generation_are_read),
		cmocka_unit_test(parts_have_records_of_their_own),
		cmocka_unit_test(a_record_without_the_row_is_no_row),
		cmocka_unit_test(a_row_in_the_bundle_is_newer),
		cmocka_unit_test(keys_on_the_ssd_may_not_be_admitted),
		cmocka_unit_test(rows_of_a_record_count),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(every_byte_of_the_bundle_is_checked),
		cmocka_unit_test(files_that_get_shorter_are_no_crash),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("ssd_record", tests, NULL, NULL);
}
