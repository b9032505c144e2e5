#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "storage/table.h"
#include "storage/table_builder.h"

/*
 * The reference is a plain array of (key, row seed) pairs searched from its
 * end, or sorted and searched by halves where it is large.  A row's elements
 * follow from its seed, so that every element of every answer is known.
 */

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static float element(uint32_t seed, size_t d)
{
	return (float)(seed % 100003) + (float)d * 0.125f;
}

static void make_row(float *row, uint32_t seed, size_t dim)
{
	for (size_t d = 0; d < dim; d++)
		row[d] = element(seed, d);
}

static sp_table_builder *make_builder(const sp_table_options *options)
{
	sp_table_builder *builder;
	sp_error err;

	assert_ok(sp_table_builder_create(&builder, options, &err), &err);
	return builder;
}

static sp_table *freeze(sp_table_builder *builder)
{
	sp_table *table;
	sp_error err;

	assert_ok(sp_table_builder_freeze(builder, &table, &err), &err);
	sp_table_builder_destroy(builder);
	return table;
}

static void add(sp_table_builder *builder, int64_t key, uint32_t seed, size_t dim)
{
	float row[128];
	sp_error err;

	make_row(row, seed, dim);
	assert_ok(sp_table_builder_add(builder, &key, row, 1, &err), &err);
}

static void lookup(const sp_table *table, const int64_t *keys, size_t count, const float *fallback,
		   float *rows)
{
	sp_error err;

	assert_ok(sp_table_lookup(table, keys, count, fallback, rows, &err), &err);
}

static void check_row(const float *row, uint32_t seed, size_t dim)
{
	for (size_t d = 0; d < dim; d++)
		assert_true(row[d] == element(seed, d));
}

static void an_empty_table_answers_its_defaults(void **state)
{
	const float defaults[] = {1, 2, 3, 4, 5, 6};
	const int64_t keys[] = {0, 1, 2, 3, -1, -2, -3, -4, INT64_MAX, INT64_MIN};
	/* floor_mod(key, 3), by hand: -1 -> 2, -2 -> 1, -3 -> 0, -4 -> 2;
	 * 2^63 = 2 (mod 3), so 2^63 - 1 -> 1 and -2^63 -> 1. */
	const size_t want[] = {0, 1, 2, 0, 2, 1, 0, 2, 1, 1};
	sp_table_options options = {
		.name = "e", .dim = 2, .default_rows = defaults, .default_row_count = 3};
	sp_table *table = freeze(make_builder(&options));
	float rows[20];
	bool found[10];

	(void)state;
	assert_int_equal(sp_table_row_count(table), 0);
	assert_int_equal(sp_table_dim(table), 2);
	assert_string_equal(sp_table_name(table), "e");
	lookup(table, keys, 10, NULL, rows);
	for (size_t i = 0; i < 10; i++)
		assert_memory_equal(rows + 2 * i, defaults + 2 * want[i], 8);
	sp_table_contains(table, keys, 10, found);
	for (size_t i = 0; i < 10; i++)
		assert_false(found[i]);
	lookup(table, keys, 0, NULL, rows);
	sp_table_destroy(table);
}

static void without_a_default_matrix_absent_keys_answer_zeros(void **state)
{
	sp_table_options options = {.name = "z", .dim = 3};
	sp_table *table = freeze(make_builder(&options));
	const int64_t keys[] = {5, -7};
	float rows[6] = {9, 9, 9, 9, 9, 9};

	(void)state;
	lookup(table, keys, 2, NULL, rows);
	for (size_t i = 0; i < 6; i++)
		assert_true(rows[i] == 0.0f);
	sp_table_destroy(table);
}

static void with_a_filter_absent_keys_answer_no_permission(void **state)
{
	const sp_table_filter filters[] = {SP_TABLE_FILTER_COUNTER, SP_TABLE_FILTER_CBF};

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		sp_table_options options = {.name = "f",
					    .dim = 5,
					    .filter = filters[f],
					    .default_value_no_permission = 0.25f};
		sp_table_builder *builder = make_builder(&options);
		const int64_t keys[] = {7, 8, -1};
		float rows[15], fallback[15] = {0};
		sp_table *table;

		add(builder, 7, 70, 5);
		table = freeze(builder);
		assert_int_equal(sp_table_filter_kind(table), filters[f]);
		lookup(table, keys, 3, fallback, rows); /* the fallback is ignored */
		check_row(rows, 70, 5);
		for (size_t i = 5; i < 15; i++)
			assert_true(rows[i] == 0.25f);
		sp_table_destroy(table);
	}
}

static void a_fallback_answers_for_its_own_absent_key(void **state)
{
	sp_table_options options = {.name = "f", .dim = 2};
	sp_table_builder *builder = make_builder(&options);
	int64_t keys[70];
	float fallback[140], rows[140];
	sp_table *table;

	(void)state;
	for (int64_t key = 0; key < 70; key += 3)
		add(builder, key, (uint32_t)key, 2);
	table = freeze(builder);
	for (int i = 0; i < 70; i++) {
		keys[i] = i;
		make_row(fallback + 2 * i, 1000 + (uint32_t)i, 2);
	}
	lookup(table, keys, 70, fallback, rows);
	for (uint32_t i = 0; i < 70; i++)
		check_row(rows + 2 * i, i % 3 == 0 ? i : 1000 + i, 2);
	sp_table_destroy(table);
}

static void marks_are_dropped_and_never_found(void **state)
{
	const int64_t keys[] = {-1, 4, -2, 5, -1};
	const int64_t asked[] = {-1, -2, 4, 5};
	float rows[5];
	sp_table_options options = {.name = "m", .dim = 1};
	sp_table_builder *builder = make_builder(&options);
	sp_table *table;
	bool found[4];
	sp_error err;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		make_row(rows + i, 10 + i, 1);
	assert_ok(sp_table_builder_add(builder, keys, rows, 5, &err), &err);
	assert_int_equal(sp_table_builder_dropped(builder), 3);
	table = freeze(builder);
	assert_int_equal(sp_table_row_count(table), 2);
	sp_table_contains(table, asked, 4, found);
	assert_false(found[0] || found[1]);
	assert_true(found[2] && found[3]);
	lookup(table, asked, 4, NULL, rows);
	assert_true(rows[0] == 0.0f && rows[1] == 0.0f);
	check_row(rows + 2, 11, 1);
	check_row(rows + 3, 13, 1);
	sp_table_destroy(table);
}

static void a_later_row_overwrites_an_earlier_one(void **state)
{
	/* Within one commit, across commits, and with a dropped key between. */
	const int64_t first[] = {1, 2, 1, -1, 3}, second[] = {3, 4, 2, 4};
	const int64_t asked[] = {1, 2, 3, 4};
	const uint32_t want[] = {102, 202, 200, 203};
	float rows[5 * 7];
	sp_table_options options = {.name = "o", .dim = 7};
	sp_table_builder *builder = make_builder(&options);
	sp_table *table;
	sp_error err;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		make_row(rows + 7 * i, 100 + i, 7);
	assert_ok(sp_table_builder_add(builder, first, rows, 5, &err), &err);
	for (uint32_t i = 0; i < 4; i++)
		make_row(rows + 7 * i, 200 + i, 7);
	assert_ok(sp_table_builder_add(builder, second, rows, 4, &err), &err);
	table = freeze(builder);
	assert_int_equal(sp_table_row_count(table), 4);
	lookup(table, asked, 4, NULL, rows);
	for (size_t i = 0; i < 4; i++)
		check_row(rows + 7 * i, want[i], 7);
	sp_table_destroy(table);
}

static void only_committed_rows_count(void **state)
{
	sp_table_options options = {.name = "c", .dim = 2, .expected_rows = 1};
	sp_table_builder *builder = make_builder(&options);
	const int64_t asked[] = {0, 1, 2, 3};
	sp_table *table;
	int64_t *keys;
	float *rows, got[8];
	bool found[4];
	sp_error err;

	(void)state;
	for (int64_t round = 0; round < 2; round++) {
		assert_ok(sp_table_builder_reserve(builder, 10, &keys, &rows, &err), &err);
		for (uint32_t i = 0; i < 10; i++) {
			keys[i] = 2 * round + i;
			make_row(rows + 2 * i, (uint32_t)keys[i], 2);
		}
		assert_ok(sp_table_builder_commit(builder, round == 0 ? 2 : 1, &err), &err);
	}
	table = freeze(builder);
	assert_int_equal(sp_table_row_count(table), 3);
	sp_table_contains(table, asked, 4, found);
	assert_true(found[0] && found[1] && found[2] && !found[3]);
	lookup(table, asked, 3, NULL, got);
	for (uint32_t i = 0; i < 3; i++)
		check_row(got + 2 * i, i, 2);
	sp_table_destroy(table);
}

/* Every width that has its own copy, their neighbours, and rows of many cache lines. */
static void every_width_copies_whole_rows(void **state)
{
	const size_t dims[] = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128};
	enum { KEYS = 100 };

	(void)state;
	for (size_t n = 0; n < sizeof(dims) / sizeof(dims[0]); n++) {
		size_t dim = dims[n];
		sp_table_options options = {.name = "w", .dim = dim};
		sp_table_builder *builder = make_builder(&options);
		float *rows = malloc((2 * KEYS * dim + 1) * sizeof(float));
		int64_t keys[2 * KEYS];
		sp_table *table;

		for (int64_t i = 0; i < 2 * KEYS; i++) {
			keys[i] = i * 1000;
			if (i % 2 == 0)
				add(builder, keys[i], (uint32_t)i, dim);
		}
		table = freeze(builder);
		for (size_t count = 0; count < 2 * KEYS; count += 13) {
			rows[count * dim] = 42.0f; /* a sentinel one past the end */
			lookup(table, keys, count, NULL, rows);
			assert_true(rows[count * dim] == 42.0f);
			for (size_t i = 0; i < count; i++)
				for (size_t d = 0; d < dim; d++)
					assert_true(rows[i * dim + d] ==
						    (i % 2 == 0 ? element((uint32_t)i, d) : 0.0f));
		}
		free(rows);
		sp_table_destroy(table);
	}
}

typedef struct pair {
	int64_t key;
	uint32_t seed;
	uint32_t order;
} pair;

static int by_key_then_order(const void *a, const void *b)
{
	const pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* The last pair of that key in a sorted array; NULL when there is none. */
static const pair *search(const pair *pairs, size_t count, int64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pairs[middle].key <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low != 0 && pairs[low - 1].key == key ? &pairs[low - 1] : NULL;
}

static int64_t draw_key(int kind)
{
	switch (kind) {
	case 0: /* dense, with many repeats and some negatives */
		return (int64_t)(next_random() % 60000) - 10000;
	case 1: /* all of int64 */
		return (int64_t)next_random();
	case 2: /* low bits all equal: what weak hashes trip over */
		return (int64_t)(next_random() % 60000) << 40;
	default: /* a multiple of a power of two and a large prime */
		return (int64_t)((next_random() % 60000) * 1024 * 1000003);
	}
}

static void random_keys_agree_with_a_sorted_array(void **state)
{
	enum { PAIRS = 50000, ASKED = 20000, DIM = 3 };
	pair *pairs = malloc(PAIRS * sizeof(*pairs));
	int64_t *keys = malloc(ASKED * sizeof(*keys));
	float *rows = malloc(ASKED * DIM * sizeof(*rows));

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		sp_table_options options = {.name = "r", .dim = DIM};
		sp_table_builder *builder = make_builder(&options);
		sp_table *table;
		size_t distinct = 0;

		for (uint32_t i = 0; i < PAIRS; i++) {
			pairs[i] = (pair){draw_key(kind), (uint32_t)next_random(), i};
			add(builder, pairs[i].key, pairs[i].seed, DIM);
		}
		table = freeze(builder);
		qsort(pairs, PAIRS, sizeof(*pairs), by_key_then_order);
		for (size_t i = 0; i < PAIRS; i++)
			if ((i == 0 || pairs[i].key != pairs[i - 1].key) && pairs[i].key != -1 &&
			    pairs[i].key != -2)
				distinct++;
		assert_int_equal(sp_table_row_count(table), distinct);
		for (size_t i = 0; i < ASKED; i++)
			keys[i] = i % 2 == 0 ? draw_key(kind) : pairs[next_random() % PAIRS].key;
		lookup(table, keys, ASKED, NULL, rows);
		for (size_t i = 0; i < ASKED; i++) {
			const pair *want = search(pairs, PAIRS, keys[i]);

			if (want != NULL && keys[i] != -1 && keys[i] != -2)
				check_row(rows + i * DIM, want->seed, DIM);
			else
				assert_true(rows[i * DIM] == 0.0f && rows[i * DIM + 1] == 0.0f);
		}
		sp_table_destroy(table);
	}
	free(pairs);
	free(keys);
	free(rows);
}

/* Known rows, grown from no hint and from the right one: both end compact. */
static void a_million_keys_take_sixteen_bytes_each(void **state)
{
	enum { KEYS = 1000000, DIM = 4, PIECE = 10000 };
	int64_t keys[PIECE];
	static float rows[PIECE * DIM];

	(void)state;
	for (size_t hint = 0; hint <= KEYS; hint += KEYS) {
		sp_table_options options = {.name = "big", .dim = DIM, .expected_rows = hint};
		sp_table_builder *builder = make_builder(&options);
		sp_table *table;
		sp_error err;

		for (int64_t first = 0; first < KEYS; first += PIECE) {
			for (int64_t i = 0; i < PIECE; i++) {
				keys[i] = (first + i) * 7;
				make_row(rows + i * DIM, (uint32_t)(first + i), DIM);
			}
			assert_ok(sp_table_builder_add(builder, keys, rows, PIECE, &err), &err);
		}
		table = freeze(builder);
		assert_int_equal(sp_table_row_count(table), KEYS);
		/* 4 MiB: two regions, each rounded up to a huge page. */
		assert_true(sp_table_footprint(table) <=
			    KEYS * (DIM * sizeof(float) + 16) + (4 << 20));
		for (int64_t first = 0; first < 7 * KEYS; first += PIECE) {
			for (int64_t i = 0; i < PIECE; i++)
				keys[i] = first + i;
			lookup(table, keys, PIECE, NULL, rows);
			for (int64_t i = 0; i < PIECE; i++)
				if (keys[i] % 7 == 0)
					check_row(rows + i * DIM, (uint32_t)(keys[i] / 7), DIM);
				else
					assert_true(rows[i * DIM] == 0.0f);
		}
		sp_table_destroy(table);
	}
}

static void impossible_options_are_refused(void **state)
{
	sp_table_builder *builder;
	sp_table_options options = {.name = "bad", .dim = 0};
	const float row = 0.0f;
	sp_error err;

	(void)state;
	assert_int_equal(sp_table_builder_create(&builder, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "bad"));
	options.dim = SIZE_MAX / 2;
	assert_int_equal(sp_table_builder_create(&builder, &options, &err), SP_INVALID);
	options.dim = 1;
	options.default_rows = &row;
	assert_int_equal(sp_table_builder_create(&builder, &options, &err), SP_INVALID);
	options.default_row_count = SIZE_MAX / 2;
	assert_int_equal(sp_table_builder_create(&builder, &options, &err), SP_NO_MEMORY);
	options.default_row_count = 1;
	options.expected_rows = SIZE_MAX / 2;
	assert_int_equal(sp_table_builder_create(&builder, &options, &err), SP_UNSUPPORTED);
	options.expected_rows = 0;
	builder = make_builder(&options);
	{
		int64_t *keys;
		float *rows;

		assert_int_equal(sp_table_builder_reserve(builder, SIZE_MAX, &keys, &rows, &err),
				 SP_UNSUPPORTED);
	}
	sp_table_builder_destroy(builder);
	sp_table_builder_destroy(NULL);
	sp_table_destroy(NULL);
}

/* A few commits with growth in between, as far as memory lasts. */
static sp_status build_some(sp_table **out)
{
	const float defaults[] = {1, 2, 3};
	sp_table_options options = {
		.name = "m", .dim = 3, .default_rows = defaults, .default_row_count = 1};
	sp_table_builder *builder = NULL;
	sp_error err;
	sp_status status = sp_table_builder_create(&builder, &options, &err);

	for (int64_t i = 0; i < 40 && status == SP_OK; i++) {
		const int64_t keys[] = {i, i + 100};
		const float rows[6] = {0};

		status = sp_table_builder_add(builder, keys, rows, 2, &err);
	}
	if (status == SP_OK)
		status = sp_table_builder_freeze(builder, out, &err);
	sp_table_builder_destroy(builder);
	return status;
}

static void every_failed_allocation_is_reported(void **state)
{
	sp_table *table = NULL;
	int64_t successes = 0;
	sp_status status;

	(void)state;
	do {
		sp_alloc_fail_after(successes++);
		status = build_some(&table);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
	} while (status != SP_OK);
	assert_true(successes > 8);
	assert_int_equal(sp_table_row_count(table), 80);
	sp_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_answers_its_defaults),
		cmocka_unit_test(without_a_default_matrix_absent_keys_answer_zeros),
		cmocka_unit_test(with_a_filter_absent_keys_answer_no_permission),
		cmocka_unit_test(a_fallback_answers_for_its_own_absent_key),
		cmocka_unit_test(marks_are_dropped_and_never_found),
		cmocka_unit_test(a_later_row_overwrites_an_earlier_one),
		cmocka_unit_test(only_committed_rows_count),
		cmocka_unit_test(every_width_copies_whole_rows),
		cmocka_unit_test(random_keys_agree_with_a_sorted_array),
		cmocka_unit_test(a_million_keys_take_sixteen_bytes_each),
		cmocka_unit_test(impossible_options_are_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
