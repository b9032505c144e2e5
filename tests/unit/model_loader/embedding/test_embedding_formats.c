#include "tests/support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "model_loader/embedding/embedding_variable.h"
#include "tests/support/embeddings.h"
#include "tests/support/paths.h"

/* Over tests/golden/embeddings/, see scripts/make_embedding_fixtures.py for the formulas. */

enum { KEYS = 100, STEP = 37 };

static sp_bundle *formats, *shards;
static sp_arena *arena;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	formats = sp_embeddings_open("formats");
	shards = sp_embeddings_open("shards");
	arena = sp_arena_create(64 << 10);
	return arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	sp_bundle_close(formats);
	sp_bundle_close(shards);
	sp_arena_destroy(arena);
	return 0;
}

static sp_embedding_spec spec_of(const char *name)
{
	return (sp_embedding_spec){.name = name,
				   .key_dtype = SP_INT64,
				   .dtype = SP_FLOAT,
				   .dim = 4,
				   .partition_num = 1};
}

static sp_table *load(const sp_bundle *bundle, const sp_embedding_spec *spec,
		      const sp_load_policy *policy)
{
	sp_embedding embedding;
	sp_table *table;

	assert_ok(sp_embedding_find(&embedding, spec, bundle, NULL, arena, &err), &err);
	assert_ok(sp_embedding_load(&table, &embedding, spec, policy, NULL, &err), &err);
	return table;
}

static bool holds(const sp_table *table, int64_t key)
{
	bool found;

	assert_int_equal(sp_table_contains(table, &key, 1, &found, NULL), SP_OK);
	return found;
}

static void check_row(const sp_table *table, int64_t key, const float *want)
{
	float row[4];

	assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	assert_memory_equal(row, want, sp_table_dim(table) * sizeof(float));
}

/* Of the hundred keys those that `wanted` says, with their rows, and no others. */
static void check_keys(const sp_table *table, bool (*wanted)(int64_t key))
{
	size_t count = 0;

	for (int64_t key = 0; key < KEYS * STEP; key += STEP) {
		const float row[] = {sp_embeddings_element(key, 0), sp_embeddings_element(key, 1),
				     sp_embeddings_element(key, 2), sp_embeddings_element(key, 3)};

		assert_int_equal(holds(table, key), wanted(key));
		if (!wanted(key))
			continue;
		check_row(table, key, row);
		count++;
	}
	assert_int_equal(sp_table_row_count(table), count);
}

static bool all(int64_t key)
{
	(void)key;
	return true;
}

/* ------------------------------------------------------------------- writers */

static void what_has_no_bearing_may_be_missing(void **state)
{
	const char *const names[] = {"seen", "no_freqs", "bare", "beyond"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		sp_embedding_spec spec = spec_of(names[i]);
		sp_table *table = load(formats, &spec, NULL);

		check_keys(table, all);
		sp_table_destroy(table);
	}
}

static void keys_and_rows_may_lie_in_different_shards(void **state)
{
	sp_embedding_spec spec = spec_of("whole");
	sp_table *table = load(shards, &spec, NULL);

	(void)state;
	check_keys(table, all);
	sp_table_destroy(table);
}

static void keys_of_32_bits_are_widened(void **state)
{
	sp_embedding_spec spec = spec_of("seen32");
	sp_table *table;

	(void)state;
	spec.key_dtype = SP_INT32;
	table = load(formats, &spec, NULL);
	check_keys(table, all);
	sp_table_destroy(table);
}

static bool in_two_of_ten(int64_t key)
{
	return key % 1000 % 10 == 0 || key % 1000 % 10 == 7;
}

static bool none(int64_t key)
{
	(void)key;
	return false;
}

/* A graph of as many parts as the checkpoint has each part's own, as long as some have few rows. */
static void parts_may_be_empty(void **state)
{
	const int64_t part_counts[] = {1, 2, 7, 10, 1000};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		sp_embedding_spec spec = spec_of(part_counts[i] == 1 ? "ten" : "ten/part_1");
		sp_table *table;

		spec.partition_num = part_counts[i];
		spec.partition_id = part_counts[i] > 1;
		table = load(formats, &spec, NULL);
		check_keys(table, part_counts[i] == 10 ? none : in_two_of_ten);
		sp_table_destroy(table);
	}
}

/* Negative keys are held as any other; only the two marks are not. */
static void marks_are_no_keys(void **state)
{
	const int64_t keys[] = {5, -37, INT64_MIN, INT64_MAX};
	const float zeros[4] = {0};
	sp_embedding_spec spec = spec_of("signed");
	sp_table *table = load(formats, &spec, NULL);

	(void)state;
	assert_int_equal(sp_table_row_count(table), 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(holds(table, keys[i]));
	assert_false(holds(table, -1));
	assert_false(holds(table, -2));
	check_row(table, -1, zeros);
	sp_table_destroy(table);
}

static void check_many(size_t threads)
{
	sp_load_policy policy = {.threads = threads};
	sp_embedding_spec spec = spec_of("many");
	const float last[] = {-1, -2};
	sp_table *table;

	spec.dim = 2;
	table = load(formats, &spec, &policy);
	assert_int_equal(sp_table_row_count(table), 9999);
	for (int64_t i = 0; i < 9999; i++) {
		const float row[] = {sp_embeddings_element(i * 3, 0),
				     sp_embeddings_element(i * 3, 1)};

		check_row(table, i * 3, i == 10 ? last : row);
	}
	sp_table_destroy(table);
}

static void of_a_key_in_two_pieces_the_later_row_counts(void **state)
{
	(void)state;
	for (size_t threads = 1; threads <= 4; threads++)
		check_many(threads);
}

/* Codes of a byte are off by half a step at most, and a step is a 127th of the largest. */
static void rows_are_held_as_the_first_rule_for_their_name_says(void **state)
{
	const sp_name_rule rules[] = {{"se*", SP_ROW_INT8}, {"*", SP_ROW_FP32}};
	const sp_load_policy policy = {.row_formats = {rules, 2}, .threads = 2};
	sp_embedding_spec spec = spec_of("seen"), other = spec_of("bare");
	sp_table *table = load(formats, &spec, &policy), *exact = load(formats, &other, &policy);
	bool rounded = false;

	(void)state;
	check_keys(exact, all);
	assert_true(sp_table_footprint(table) < sp_table_footprint(exact));
	for (int64_t key = 0; key < KEYS * STEP; key += STEP) {
		float row[4], step = sp_embeddings_element(key, 3) / 127;

		assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
		for (size_t d = 0; d < 4; d++) {
			float off = row[d] - sp_embeddings_element(key, d);

			assert_true(off <= 0.501f * step && off >= -0.501f * step);
			rounded = rounded || off != 0.0f;
		}
	}
	assert_true(rounded);
	sp_table_destroy(exact);
	sp_table_destroy(table);
}

static void frequencies_that_cannot_be_are_refused(void **state)
{
	const char *const names[] = {"long_freqs", "float_freqs"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		sp_embedding_spec spec = spec_of(names[i]);
		sp_embedding embedding;

		assert_int_equal(sp_embedding_find(&embedding, &spec, formats, NULL, arena, &err),
				 SP_CORRUPT);
		assert_non_null(strstr(err.text, names[i]));
	}
}

/* ----------------------------------------------------------------- admission */

static bool at_least_four(int64_t key)
{
	return sp_embeddings_seen(key) >= 4;
}

static bool at_least_four_or_last(int64_t key)
{
	return sp_embeddings_seen(key) >= 4 && key < 80 * STEP;
}

static sp_table *load_seen(const char *name, int64_t filter_freq, int64_t threshold)
{
	static const float defaults[] = {1, 2, 3, 4};
	const sp_name_rule rule = {name, threshold};
	const sp_load_policy policy = {.frequency_thresholds = {&rule, 1}};
	sp_embedding_spec spec = spec_of(name);

	spec.default_rows = defaults;
	spec.default_row_count = 1;
	spec.filter_freq = filter_freq;
	spec.filter = filter_freq > 0 ? SP_TABLE_FILTER_COUNTER : SP_TABLE_FILTER_NONE;
	spec.default_value_no_permission = 0.25f;
	return load(formats, &spec, &policy);
}

static void keys_below_the_threshold_are_absent(void **state)
{
	const float defaults[] = {1, 2, 3, 4}, refused[] = {0.25f, 0.25f, 0.25f, 0.25f};
	sp_table *table = load_seen("seen", 0, 4);

	(void)state;
	check_keys(table, at_least_four);
	check_row(table, 0, defaults); /* seen once */
	sp_table_destroy(table);

	table = load_seen("seen", 2, 4);
	check_keys(table, at_least_four);
	check_row(table, 0, refused);
	sp_table_destroy(table);
}

/* What training has admitted has been seen as often as its filter asks for. */
static void a_threshold_within_the_filter_changes_nothing(void **state)
{
	const struct {
		const char *name;
		int64_t filter_freq, threshold;
	} cases[] = {{"seen", 4, 4}, {"seen", 9, 4}, {"seen", 0, 1},
		     {"seen", 0, 0}, {"bare", 4, 4}, {"no_freqs", 0, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_table *table = load_seen(cases[i].name, cases[i].filter_freq,
					    cases[i].threshold);

		check_keys(table, all);
		sp_table_destroy(table);
	}
}

static void check_updated(const sp_table *table, int64_t key)
{
	const float row[] = {
		sp_embeddings_element(key, 0) + 1000, sp_embeddings_element(key, 1) + 1000,
		sp_embeddings_element(key, 2) + 1000, sp_embeddings_element(key, 3) + 1000};

	assert_true(holds(table, key));
	check_row(table, key, row);
}

/* An update of a row that is held must not be lost, and a new key may be too rare. */
static void the_threshold_is_for_deltas_that_have_frequencies(void **state)
{
	const int64_t updated[] = {0, 37, 370, 3663}, added[] = {1, 5000, 123456789012345};
	const sp_name_rule rule = {"*", 4};
	const sp_load_policy policy = {.frequency_thresholds = {&rule, 1}};
	sp_bundle *delta = sp_embeddings_open("formats_delta");

	(void)state;
	for (size_t without = 0; without < 2; without++) {
		sp_embedding_spec spec = spec_of(without ? "seen" : "beyond");
		sp_embedding embedding;
		sp_table *table;

		assert_ok(sp_embedding_find(&embedding, &spec, formats, delta, arena, &err), &err);
		assert_ok(sp_embedding_load(&table, &embedding, &spec, &policy, NULL, &err), &err);
		for (size_t i = 0; i < 4; i++)
			check_updated(table, updated[i]);
		check_updated(table, added[1]);
		assert_int_equal(holds(table, added[0]), without);
		assert_int_equal(holds(table, added[2]), without);
		sp_table_destroy(table);
	}
	sp_bundle_close(delta);
}

static void without_frequencies_nothing_passes_more(void **state)
{
	sp_table *table = load_seen("bare", 3, 4);

	(void)state;
	check_keys(table, none);
	sp_table_destroy(table);
	table = load_seen("no_freqs", 0, 2);
	check_keys(table, none);
	sp_table_destroy(table);
	/* The last twenty are rows of a slower tier. */
	table = load_seen("beyond", 0, 4);
	check_keys(table, at_least_four_or_last);
	sp_table_destroy(table);
}

/* --------------------------------------------------------- defaults and slices */

static void unseen_keys_may_answer_zeros(void **state)
{
	const float defaults[] = {1, 2, 3, 4}, zeros[4] = {0};
	const sp_load_policy policy = {.absent_keys_are_zeros = true};
	sp_embedding_spec spec = spec_of("seen");
	sp_table *table;

	(void)state;
	spec.default_rows = defaults;
	spec.default_row_count = 1;
	table = load(formats, &spec, &policy);
	check_keys(table, all);
	check_row(table, 1, zeros);
	sp_table_destroy(table);
}

static bool in_slice(int64_t key)
{
	return key % 1000 % 3 == 2;
}

static void a_slice_answers_zeros_for_the_rest(void **state)
{
	const float defaults[] = {1, 2, 3, 4}, zeros[4] = {0};
	const sp_load_policy policy = {.sharded_names = "x;seen", .slice = 2, .slice_count = 3};
	sp_embedding_spec spec = spec_of("seen"), other = spec_of("bare");
	sp_table *table;

	(void)state;
	spec.default_rows = other.default_rows = defaults;
	spec.default_row_count = other.default_row_count = 1;
	table = load(formats, &spec, &policy);
	check_keys(table, in_slice);
	check_row(table, 0, zeros); /* of another slice */
	check_row(table, 5, zeros); /* of ours, but unseen */
	sp_table_destroy(table);

	table = load(formats, &other, &policy);
	check_keys(table, all);
	check_row(table, 1, defaults);
	sp_table_destroy(table);
}

/* ---------------------------------------------------------------------- sinks */

typedef struct counter {
	atomic_size_t keys;
	atomic_size_t rows;
	atomic_size_t frequency; /* sum over the rows */
	bool started;
	sp_status first_failure, second_failure;
} counter;

static sp_status count_keys(void *context, const sp_row_piece *piece, sp_error *error)
{
	counter *c = context;

	assert_false(c->started);
	assert_null(piece->rows);
	atomic_fetch_add(&c->keys, piece->count);
	return c->first_failure == SP_OK ? SP_OK : sp_error_set(error, c->first_failure, "keys");
}

static sp_status start(void *context, bool *in_order, sp_error *error)
{
	counter *c = context;

	(void)error;
	assert_false(*in_order);
	c->started = true;
	return SP_OK;
}

static sp_status count_rows(void *context, const sp_row_piece *piece, sp_error *error)
{
	counter *c = context;

	for (size_t i = 0; i < piece->count; i++) {
		const float want[] = {sp_embeddings_element(piece->keys[i], 0),
				      sp_embeddings_element(piece->keys[i], 1)};
		const char *row = (const char *)piece->rows + i * sizeof(want);

		if (memcmp(row, want, sizeof(want)) == 0) /* all but the last */
			atomic_fetch_add(&c->rows, 1);
		atomic_fetch_add(&c->frequency, (size_t)piece->freqs[i]);
	}
	return c->second_failure == SP_OK ? SP_OK : sp_error_set(error, c->second_failure, "rows");
}

static sp_status read_many(counter *c, size_t threads)
{
	const sp_row_selection selection = {
		.part_count = 1, .slice_count = 1, .frequency_floor = 2};
	const sp_row_sink sink = {.context = c,
				  .wants_freqs = true,
				  .add_keys = count_keys,
				  .start_rows = start,
				  .put_rows = count_rows};
	sp_embedding_spec spec = spec_of("many");
	sp_embedding embedding;

	spec.dim = 2;
	assert_ok(sp_embedding_find(&embedding, &spec, formats, NULL, arena, &err), &err);
	return sp_embedding_read(&embedding.full, 2, &selection, &sink, threads, &err);
}

static void a_sink_is_given_all_rows_and_frequencies(void **state)
{
	(void)state;
	for (size_t threads = 1; threads <= 3; threads++) {
		counter c = {.keys = 0};

		assert_ok(read_many(&c, threads), &err);
		assert_int_equal(c.keys, 10000);
		assert_int_equal(c.rows, 9999);
		assert_int_equal(c.frequency, 2000 * (2 + 2 + 2 + 3 + 4));
	}
}

static void a_sink_may_fail(void **state)
{
	counter c = {.first_failure = SP_BUSY};

	(void)state;
	assert_int_equal(read_many(&c, 2), SP_BUSY);
	assert_string_equal(err.text, "keys");
	assert_false(c.started);
	c = (counter){.second_failure = SP_IO};
	assert_int_equal(read_many(&c, 2), SP_IO);
	assert_string_equal(err.text, "rows");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_bearing_may_be_missing),
		cmocka_unit_test(keys_and_rows_may_lie_in_different_shards),
		cmocka_unit_test(keys_of_32_bits_are_widened),
		cmocka_unit_test(parts_may_be_empty),
		cmocka_unit_test(marks_are_no_keys),
		cmocka_unit_test(of_a_key_in_two_pieces_the_later_row_counts),
		cmocka_unit_test(rows_are_held_as_the_first_rule_for_their_name_says),
		cmocka_unit_test(frequencies_that_cannot_be_are_refused),
		cmocka_unit_test(keys_below_the_threshold_are_absent),
		cmocka_unit_test(a_threshold_within_the_filter_changes_nothing),
		cmocka_unit_test(without_frequencies_nothing_passes_more),
		cmocka_unit_test(the_threshold_is_for_deltas_that_have_frequencies),
		cmocka_unit_test(unseen_keys_may_answer_zeros),
		cmocka_unit_test(a_slice_answers_zeros_for_the_rest),
		cmocka_unit_test(a_sink_is_given_all_rows_and_frequencies),
		cmocka_unit_test(a_sink_may_fail),
	};

	return cmocka_run_group_tests_name("embedding_formats", tests, set_up, tear_down);
}
