#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "model_loader/embedding/embedding_variable.h"
#include "tests/support/embeddings.h"
#include "tests/support/paths.h"

/* Over tests/golden/embeddings/, see scripts/make_embedding_fixtures.py for the formulas. */

enum { KEYS = 100, STEP = 37 };

static const int64_t changed[] = {0, 37, 370, 3663};
static const int64_t added[] = {1, 5000, 123456789012345};

static sp_bundle *full, *delta, *broken, *broken_delta;
static sp_arena *arena;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	full = sp_embeddings_open("full");
	delta = sp_embeddings_open("delta");
	broken = sp_embeddings_open("broken");
	broken_delta = sp_embeddings_open("broken_delta");
	arena = sp_arena_create(64 << 10);
	return arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	sp_bundle_close(full);
	sp_bundle_close(delta);
	sp_bundle_close(broken);
	sp_bundle_close(broken_delta);
	sp_arena_destroy(arena);
	return 0;
}

static sp_embedding_spec spec_of(const char *name, int64_t part, int64_t parts)
{
	return (sp_embedding_spec){.name = name,
				   .key_dtype = SP_INT64,
				   .dtype = SP_FLOAT,
				   .dim = 4,
				   .partition_id = part,
				   .partition_num = parts};
}

static sp_table *load(const sp_embedding_spec *spec, const sp_bundle *with_delta, bool own,
		      bool want_whole)
{
	sp_embedding embedding;
	sp_table *table;

	assert_ok(sp_embedding_find(&embedding, spec, full, with_delta, arena, &err), &err);
	assert_int_equal(embedding.whole, want_whole);
	embedding.own_part = own;
	assert_ok(sp_embedding_load(&table, &embedding, spec, NULL, NULL, &err), &err);
	return table;
}

static bool holds(const sp_table *table, int64_t key)
{
	bool found;

	assert_int_equal(sp_table_contains(table, &key, 1, &found, NULL), SP_OK);
	return found;
}

static void check_row(const sp_table *table, int64_t key, float plus)
{
	float row[4];

	assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	for (size_t d = 0; d < sp_table_dim(table); d++)
		assert_true(row[d] == sp_embeddings_element(key, d) + plus);
}

static bool is_among(int64_t key, const int64_t *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (keys[i] == key)
			return true;
	return false;
}

/* The hundred keys and no others, changed and added ones as a delta leaves them. */
static void check_all(const sp_table *table, bool with_delta)
{
	assert_int_equal(sp_table_row_count(table), with_delta ? KEYS + 3 : KEYS);
	for (int64_t key = 0; key < KEYS * STEP + 10; key++) {
		bool new_key = with_delta && is_among(key, added, 3);

		assert_int_equal(holds(table, key),
				 (key % STEP == 0 && key < KEYS * STEP) || new_key);
		if (holds(table, key))
			check_row(table, key,
				  new_key || (with_delta && is_among(key, changed, 4)) ? 1000.0f
										       : 0.0f);
	}
	if (with_delta)
		check_row(table, added[2], 1000.0f);
	assert_false(holds(table, 999983)); /* in -keys_filtered */
}

static void a_variable_has_all_its_rows(void **state)
{
	sp_embedding_spec spec = spec_of("whole", 0, 1);
	sp_table *table = load(&spec, NULL, false, true);

	(void)state;
	assert_string_equal(sp_table_name(table), "whole");
	check_all(table, false);
	sp_table_destroy(table);
}

static void rows_come_no_faster_than_allowed(void **state)
{
	static atomic_bool serving = true;
	sp_load_policy policy = {.threads = 2, .rows_per_second = 1000, .serving = &serving};
	sp_embedding_spec spec = spec_of("whole", 0, 1);
	int64_t begin = sp_clock_now_ns();
	sp_embedding embedding;
	sp_table *table;

	(void)state;
	assert_ok(sp_embedding_find(&embedding, &spec, full, NULL, arena, &err), &err);
	assert_ok(sp_embedding_load(&table, &embedding, &spec, &policy, NULL, &err), &err);
	assert_true(sp_clock_now_ns() - begin >= KEYS * INT64_C(1000000));
	check_all(table, false);
	sp_table_destroy(table);
}

/* However many parts the graph has, and however many the checkpoint. */
static void routed_parts_are_one_table(void **state)
{
	const struct {
		const char *name, *base;
		int64_t part, parts;
	} cases[] = {
		{"four/part_0", "four", 0, 4},
		{"four/part_3", "four", 3, 4},
		{"four", "four", 0, 1},
		{"four/part_1", "four", 1, 2},
		{"four/part_6", "four", 6, 7},
		{"scope/three/part_2", "scope/three", 2, 3},
		{"scope/three/part_0", "scope/three", 0, 4},
		{"scope/three", "scope/three", 0, 1},
		{"whole/part_1", "whole", 1, 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_embedding_spec spec = spec_of(cases[i].name, cases[i].part, cases[i].parts);
		sp_table *table = load(&spec, NULL, false, true);

		assert_string_equal(sp_table_name(table), cases[i].base);
		check_all(table, false);
		sp_table_destroy(table);
	}
}

static void a_handle_can_have_its_own_part_alone(void **state)
{
	const struct {
		const char *name;
		int64_t part, parts;
	} cases[] = {{"four/part_1", 1, 4}, {"four/part_1", 1, 3}, {"whole/part_0", 0, 2}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		sp_embedding_spec spec = spec_of(cases[i].name, cases[i].part, cases[i].parts);
		sp_table *table = load(&spec, NULL, true, true);

		assert_string_equal(sp_table_name(table), cases[i].name);
		for (int64_t key = 0; key < KEYS * STEP; key += STEP) {
			bool mine = key % 1000 % cases[i].parts == cases[i].part;

			assert_int_equal(holds(table, key), mine);
			if (mine)
				check_row(table, key, 0);
		}
		sp_table_destroy(table);
	}
}

static void int32_keys_are_widened(void **state)
{
	sp_embedding_spec spec = spec_of("narrow", 0, 1);
	sp_table *table;

	(void)state;
	spec.key_dtype = SP_INT32;
	spec.dim = 3;
	table = load(&spec, NULL, false, true);
	check_all(table, false);
	sp_table_destroy(table);
}

static void an_empty_variable_has_no_rows(void **state)
{
	const float defaults[] = {1, 2, 3, 4};
	const int64_t key = 12;
	sp_embedding_spec spec = spec_of("empty", 0, 1);
	sp_table *table;
	float row[4];

	(void)state;
	spec.default_rows = defaults;
	spec.default_row_count = 1;
	table = load(&spec, NULL, false, true);
	assert_int_equal(sp_table_row_count(table), 0);
	assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	assert_memory_equal(row, defaults, sizeof(row));
	sp_table_destroy(table);
}

static void a_filter_decides_what_absent_keys_answer(void **state)
{
	const int64_t key = 999983;
	sp_embedding_spec spec = spec_of("whole", 0, 1);
	sp_table *table;
	float row[4];

	(void)state;
	spec.filter = SP_TABLE_FILTER_COUNTER;
	spec.default_value_no_permission = 0.25f;
	table = load(&spec, NULL, false, true);
	assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	for (size_t d = 0; d < 4; d++)
		assert_true(row[d] == 0.25f);
	sp_table_destroy(table);
}

/* id -> part id % 3, key id / 3: the numbers of different parts mean different ids. */
static void parts_with_numbers_of_their_own_stay_apart(void **state)
{
	(void)state;
	for (int64_t part = 0; part < 3; part++) {
		char name[16];
		sp_embedding_spec spec;
		sp_table *table;
		size_t count = 0;

		snprintf(name, sizeof(name), "mod/part_%d", (int)part);
		spec = spec_of(name, part, 3);
		table = load(&spec, NULL, false, false);
		assert_string_equal(sp_table_name(table), name);
		for (int64_t id = 0; id < KEYS * STEP; id += STEP)
			if (id % 3 == part) {
				check_row(table, id / 3, (float)part);
				count++;
			}
		assert_int_equal(sp_table_row_count(table), count);
		sp_table_destroy(table);
	}
}

/* Each row is in one of the slices, so that what they answer can be added. */
static void parts_that_are_apart_are_sliced_by_their_own_keys(void **state)
{
	sp_embedding_spec spec = spec_of("mod/part_1", 1, 3);
	size_t count = 0;

	(void)state;
	for (size_t slice = 0; slice < 2; slice++) {
		const sp_load_policy policy = {
			.sharded_names = "mod", .slice = (int64_t)slice, .slice_count = 2};
		sp_embedding embedding;
		sp_table *table;

		assert_ok(sp_embedding_find(&embedding, &spec, full, NULL, arena, &err), &err);
		assert_false(embedding.whole);
		assert_ok(sp_embedding_load(&table, &embedding, &spec, &policy, NULL, &err), &err);
		for (int64_t id = STEP; id < KEYS * STEP; id += 3 * STEP)
			assert_int_equal(holds(table, id / 3), id / 3 % 1000 % 2 == (int64_t)slice);
		count += sp_table_row_count(table);
		sp_table_destroy(table);
	}
	assert_int_equal(count, (KEYS + 1) / 3);
}

static void parts_that_are_apart_cannot_be_dealt_anew(void **state)
{
	const struct {
		const char *name;
		int64_t part, parts;
	} cases[] = {
		{"mod", 0, 1}, {"mod/part_1", 1, 4}, {"mod/part_1", 1, 2}, {"mod/part_1", 2, 3}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		sp_embedding_spec spec = spec_of(cases[i].name, cases[i].part, cases[i].parts);
		sp_embedding embedding;

		assert_int_equal(sp_embedding_find(&embedding, &spec, full, NULL, arena, &err),
				 SP_UNSUPPORTED);
		assert_non_null(strstr(err.text, cases[i].name));
	}
}

static void few_rows_that_obey_by_chance_stay_apart(void **state)
{
	sp_embedding_spec spec = spec_of("chance/part_1", 1, 2);
	sp_table *table = load(&spec, NULL, false, false);

	(void)state;
	assert_int_equal(sp_table_row_count(table), 1);
	assert_true(holds(table, 11));
	sp_table_destroy(table);
	spec = spec_of("offsets/part_1", 1, 2); /* writers leave these for either kind of graph */
	table = load(&spec, NULL, false, false);
	assert_int_equal(sp_table_row_count(table), 2);
	sp_table_destroy(table);
	/* A graph of other parts can only be of the kind that routes. */
	spec = spec_of("chance/part_1", 1, 4);
	table = load(&spec, NULL, false, true);
	assert_int_equal(sp_table_row_count(table), 2);
	sp_table_destroy(table);
}

static void of_a_key_that_is_there_twice_the_later_row_counts(void **state)
{
	const int64_t keys[] = {5, 6};
	sp_embedding_spec spec = spec_of("twice", 0, 1);
	sp_table *table;
	float rows[4];

	(void)state;
	spec.dim = 2;
	table = load(&spec, NULL, false, true);
	assert_int_equal(sp_table_row_count(table), 2);
	assert_ok(sp_table_lookup(table, keys, 2, NULL, rows, &err), &err);
	assert_true(rows[0] == 3.0f && rows[1] == 3.0f && rows[2] == 2.0f && rows[3] == 2.0f);
	sp_table_destroy(table);
}

static void a_delta_overwrites_and_adds(void **state)
{
	sp_embedding_spec specs[] = {spec_of("whole", 0, 1), spec_of("four/part_2", 2, 4),
				     spec_of("four/part_2", 2, 3), spec_of("four", 0, 1)};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		sp_table *table = load(&specs[i], delta, false, true);

		check_all(table, true);
		sp_table_destroy(table);
	}
}

static void an_own_part_takes_its_own_of_a_delta(void **state)
{
	sp_embedding_spec spec = spec_of("four/part_1", 1, 4);
	sp_table *table = load(&spec, delta, true, true);

	(void)state;
	check_row(table, 37, 1000.0f);
	check_row(table, 1, 1000.0f);
	check_row(table, 185, 0.0f);
	assert_false(holds(table, 0));
	assert_false(holds(table, 5000));
	assert_true(holds(table, 123456789012345));
	sp_table_destroy(table);
}

static void a_delta_without_the_variable_changes_nothing(void **state)
{
	sp_embedding_spec spec = spec_of("scope/three/part_0", 0, 3);
	sp_table *table = load(&spec, delta, false, true);

	(void)state;
	check_all(table, false);
	sp_table_destroy(table);
}

static void check_refused(const sp_bundle *base, const sp_bundle *with_delta,
			  const sp_embedding_spec *spec, sp_status status, const char *word)
{
	sp_embedding embedding;

	assert_int_equal(sp_embedding_find(&embedding, spec, base, with_delta, arena, &err),
			 status);
	assert_non_null(strstr(err.text, word));
}

static void a_missing_variable_is_named(void **state)
{
	sp_embedding_spec spec = spec_of("user/part_0", 0, 2);

	(void)state;
	check_refused(full, delta, &spec, SP_NOT_FOUND, "user/part_0");
	spec = spec_of("wholesome", 0, 1);
	check_refused(full, delta, &spec, SP_NOT_FOUND, "wholesome");
	spec = spec_of("whol", 0, 1);
	check_refused(full, delta, &spec, SP_NOT_FOUND, "whol");
}

static void tensors_that_contradict_are_refused(void **state)
{
	const char *const names[] = {"no_values", "wide",  "short", "double",
				     "matrix",    "int32", "flat",  "gap/part_0"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sp_embedding_spec spec = spec_of(names[i], 0, 1);
		char word[8];

		snprintf(word, sizeof(word), "%.3s", names[i]);
		check_refused(broken, NULL, &spec, SP_CORRUPT, word);
	}
}

/* Fewer keys are no fewer parts: else the rows of the last one would be gone, and nobody told. */
static void a_part_that_has_lost_its_keys_is_refused(void **state)
{
	sp_embedding_spec whole = spec_of("lost", 0, 1), part = spec_of("lost/part_0", 0, 2);

	(void)state;
	check_refused(broken, NULL, &whole, SP_CORRUPT, "lost/part_1-keys");
	check_refused(broken, NULL, &part, SP_CORRUPT, "lost/part_1-keys");
}

static char said[SP_ERROR_TEXT_SIZE];

static void note_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	assert_string_equal(said, ""); /* one line, at most */
	snprintf(said, sizeof(said), "%s", line);
}

/* What is said while part `part` of `parts` is found and loaded. */
static const char *hear(const char *name, int64_t part, int64_t parts, size_t row_count)
{
	sp_embedding_spec spec = spec_of(name, part, parts);
	sp_embedding found;
	sp_table *table;

	said[0] = '\0';
	sp_log_set_sink(note_line, NULL);
	assert_ok(sp_embedding_find(&found, &spec, broken, NULL, arena, &err), &err);
	sp_log_set_sink(NULL, NULL);
	assert_true(found.whole);
	assert_ok(sp_embedding_load(&table, &found, &spec, NULL, NULL, &err), &err);
	assert_int_equal(sp_table_row_count(table), row_count);
	sp_table_destroy(table);
	return said;
}

static void check_missed(const char *base, int64_t parts, const char *why)
{
	for (int64_t part = 0; part < parts; part++) {
		char name[16];
		sp_embedding_spec spec;

		snprintf(name, sizeof(name), "%s/part_%d", base, (int)part);
		spec = spec_of(name, part, parts);
		check_refused(broken, NULL, &spec, SP_CORRUPT, why);
	}
}

/* Rows of several parts that lie as those of more do have lost the others. */
static void parts_that_are_gone_are_missed(void **state)
{
	(void)state;
	check_missed("away", 3, "lacks parts 2 to 2");
	check_missed("half", 4, "lacks parts 2 to 3");
}

/* A trainer of one part can have left such rows as well as one of more. */
static void parts_that_may_be_gone_are_told_of(void **state)
{
	(void)state;
	assert_string_equal(hear("gone/part_0", 0, 2, KEYS / 2), "");
	assert_non_null(strstr(hear("gone/part_1", 1, 2, KEYS / 2),
			       "has rows of embedding 'gone' in one part alone"));
	/* No part of these. */
	assert_string_equal(hear("gone/part_1", 1, 3, KEYS / 2), "");
	assert_string_equal(hear("half/part_2", 2, 3, KEYS / 2), "");
}

static void a_variable_without_parts_has_lost_none(void **state)
{
	(void)state;
	assert_string_equal(hear("even/part_0", 0, 2, KEYS / 2), "");
	assert_string_equal(hear("even/part_1", 1, 2, KEYS / 2), "");
}

static void specs_that_cannot_be_are_refused(void **state)
{
	sp_embedding_spec spec = spec_of("double", 0, 1);

	(void)state;
	spec.dtype = SP_DOUBLE;
	check_refused(broken, NULL, &spec, SP_UNSUPPORTED, "DT_DOUBLE");
	spec = spec_of("whole", 0, 1);
	spec.key_dtype = SP_STRING;
	check_refused(full, NULL, &spec, SP_UNSUPPORTED, "DT_STRING");
	spec = spec_of("whole", 2, 2);
	check_refused(full, NULL, &spec, SP_INVALID, "part 2 of 2");
	spec = spec_of("whole", 0, 0);
	check_refused(full, NULL, &spec, SP_INVALID, "part 0 of 0");
}

static void a_broken_delta_is_refused(void **state)
{
	sp_embedding_spec spec = spec_of("whole", 0, 1);

	(void)state;
	check_refused(full, broken_delta, &spec, SP_CORRUPT, "whole-sparse_incr_values");
	spec = spec_of("four/part_0", 0, 4);
	check_refused(full, broken_delta, &spec, SP_UNSUPPORTED, "four/part_0");
}

/* Copies tests/golden/embeddings/full to `folder`. */
static void copy_full(const char *folder)
{
	const char *const files[] = {"full.index", "full.data-00000-of-00001"};

	for (size_t i = 0; i < 2; i++) {
		char relative[128], from[SP_PATH_SIZE], to[SP_PATH_SIZE + 64];
		char *bytes;
		size_t size;
		FILE *file;

		snprintf(relative, sizeof(relative), "tests/golden/embeddings/%s", files[i]);
		snprintf(to, sizeof(to), "%s/%s", folder, files[i]);
		assert_ok(
			sp_file_read(&bytes, &size, sp_source_path(from, relative), 1 << 20, &err),
			&err);
		file = fopen(to, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(bytes, 1, size, file), size);
		fclose(file);
		sp_free(bytes);
	}
}

/* Flips a bit in every copy of key 3663's row. */
static void damage(const char *folder)
{
	char path[SP_PATH_SIZE + 64];
	float row[4];
	char *bytes, *at;
	size_t size;
	FILE *file;

	for (size_t d = 0; d < 4; d++)
		row[d] = sp_embeddings_element(3663, d);
	snprintf(path, sizeof(path), "%s/full.data-00000-of-00001", folder);
	assert_ok(sp_file_read(&bytes, &size, path, 1 << 20, &err), &err);
	at = memmem(bytes, size, row, sizeof(row));
	assert_non_null(at);
	for (; at != NULL; at = memmem(at, size - (size_t)(at - bytes), row, sizeof(row)))
		*at ^= 1;
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
	sp_free(bytes);
}

static void a_flipped_bit_is_noticed(void **state)
{
	char folder[SP_PATH_SIZE], path[SP_PATH_SIZE + 64];
	const char *const names[] = {"whole", "four/part_3"};
	sp_bundle *bundle;

	(void)state;
	copy_full(sp_temp_make(folder));
	damage(folder);
	snprintf(path, sizeof(path), "%s/full", folder);
	assert_ok(sp_bundle_open(&bundle, path, &err), &err);
	for (int64_t i = 0; i < 2; i++) {
		sp_embedding_spec spec = spec_of(names[i], 3 * i, 1 + 3 * i);
		sp_embedding embedding;
		sp_table *table;

		assert_ok(sp_embedding_find(&embedding, &spec, bundle, NULL, arena, &err), &err);
		assert_int_equal(sp_embedding_load(&table, &embedding, &spec, NULL, NULL, &err),
				 SP_CORRUPT);
		assert_non_null(strstr(err.text, names[i]));
	}
	sp_bundle_close(bundle);
	sp_temp_remove(folder);
}

static sp_status find_and_load(const sp_embedding_spec *spec, sp_table **out)
{
	sp_arena *scratch = sp_arena_create(64);
	sp_embedding embedding;
	sp_status status = SP_NO_MEMORY;

	if (scratch != NULL)
		status = sp_embedding_find(&embedding, spec, full, delta, scratch, &err);
	if (status == SP_OK)
		status = sp_embedding_load(out, &embedding, spec, NULL, NULL, &err);
	sp_arena_destroy(scratch);
	return status;
}

static void every_failed_allocation_is_reported(void **state)
{
	sp_embedding_spec spec = spec_of("four/part_1", 1, 4);
	sp_table *table = NULL;
	int64_t successes = 0;
	sp_status status;

	(void)state;
	do {
		sp_alloc_fail_after(successes++);
		status = find_and_load(&spec, &table);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
	} while (status != SP_OK);
	assert_true(successes > 10);
	check_all(table, true);
	sp_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_has_all_its_rows),
		cmocka_unit_test(rows_come_no_faster_than_allowed),
		cmocka_unit_test(routed_parts_are_one_table),
		cmocka_unit_test(a_handle_can_have_its_own_part_alone),
		cmocka_unit_test(int32_keys_are_widened),
		cmocka_unit_test(an_empty_variable_has_no_rows),
		cmocka_unit_test(a_filter_decides_what_absent_keys_answer),
		cmocka_unit_test(parts_with_numbers_of_their_own_stay_apart),
		cmocka_unit_test(parts_that_are_apart_are_sliced_by_their_own_keys),
		cmocka_unit_test(parts_that_are_apart_cannot_be_dealt_anew),
		cmocka_unit_test(few_rows_that_obey_by_chance_stay_apart),
		cmocka_unit_test(of_a_key_that_is_there_twice_the_later_row_counts),
		cmocka_unit_test(a_delta_overwrites_and_adds),
		cmocka_unit_test(an_own_part_takes_its_own_of_a_delta),
		cmocka_unit_test(a_delta_without_the_variable_changes_nothing),
		cmocka_unit_test(a_missing_variable_is_named),
		cmocka_unit_test(tensors_that_contradict_are_refused),
		cmocka_unit_test(a_part_that_has_lost_its_keys_is_refused),
		cmocka_unit_test(parts_that_are_gone_are_missed),
		cmocka_unit_test(parts_that_may_be_gone_are_told_of),
		cmocka_unit_test(a_variable_without_parts_has_lost_none),
		cmocka_unit_test(specs_that_cannot_be_are_refused),
		cmocka_unit_test(a_broken_delta_is_refused),
		cmocka_unit_test(a_flipped_bit_is_noticed),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("embedding", tests, set_up, tear_down);
}
