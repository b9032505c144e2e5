#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "storage/rows/rows_builder.h"
#include "storage/table/table.h"
#include "storage/table/table_builder.h"

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

/* Rows in the order in which they come; the table is made of them at once. */
typedef struct pile {
	sp_table_options options;
	int64_t *keys;
	float *rows;
	size_t count, capacity;
} pile;

static void add(pile *p, int64_t key, uint32_t seed)
{
	size_t dim = p->options.dim;

	if (p->count == p->capacity) {
		p->capacity = 2 * p->capacity + 16;
		p->keys = realloc(p->keys, p->capacity * sizeof(*p->keys));
		p->rows = realloc(p->rows, p->capacity * dim * sizeof(*p->rows));
	}
	p->keys[p->count] = key;
	make_row(p->rows + p->count * dim, seed, dim);
	p->count++;
}

/* The pile is empty after. */
static sp_table *make(pile *p)
{
	sp_table *table;
	sp_error err;

	assert_ok(sp_table_from_rows(&table, &p->options, p->keys, p->rows, p->count, &err), &err);
	free(p->keys);
	free(p->rows);
	*p = (pile){.options = p->options};
	return table;
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
	pile p = {.options = {
			  .name = "e", .dim = 2, .default_rows = defaults, .default_row_count = 3}};
	sp_table *table = make(&p);
	float rows[20];
	bool found[10];

	(void)state;
	assert_int_equal(sp_table_row_count(table), 0);
	assert_int_equal(sp_table_dim(table), 2);
	assert_string_equal(sp_table_name(table), "e");
	lookup(table, keys, 10, NULL, rows);
	for (size_t i = 0; i < 10; i++)
		assert_memory_equal(rows + 2 * i, defaults + 2 * want[i], 8);
	assert_int_equal(sp_table_contains(table, keys, 10, found, NULL), SP_OK);
	for (size_t i = 0; i < 10; i++)
		assert_false(found[i]);
	lookup(table, keys, 0, NULL, rows);
	sp_table_destroy(table);
}

static void without_a_default_matrix_absent_keys_answer_zeros(void **state)
{
	pile p = {.options = {.name = "z", .dim = 3}};
	sp_table *table = make(&p);
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
		pile p = {.options = {.name = "f",
				      .dim = 5,
				      .filter = filters[f],
				      .default_value_no_permission = 0.25f}};
		const int64_t keys[] = {7, 8, -1};
		float rows[15], fallback[15] = {0};
		sp_table *table;

		add(&p, 7, 70);
		table = make(&p);
		lookup(table, keys, 3, fallback, rows); /* the fallback is ignored */
		check_row(rows, 70, 5);
		for (size_t i = 5; i < 15; i++)
			assert_true(rows[i] == 0.25f);
		sp_table_destroy(table);
	}
}

static void a_fallback_answers_for_its_own_absent_key(void **state)
{
	pile p = {.options = {.name = "f", .dim = 2}};
	int64_t keys[70];
	float fallback[140], rows[140];
	sp_table *table;

	(void)state;
	for (int64_t key = 0; key < 70; key += 3)
		add(&p, key, (uint32_t)key);
	table = make(&p);
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
	pile p = {.options = {.name = "m", .dim = 1}};
	sp_table *table;
	bool found[4];

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		add(&p, keys[i], 10 + i);
	table = make(&p);
	assert_int_equal(sp_table_row_count(table), 2);
	assert_int_equal(sp_table_contains(table, asked, 4, found, NULL), SP_OK);
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
	const int64_t keys[] = {1, 2, 1, -1, 3, 3, 4, 2, 4};
	const int64_t asked[] = {1, 2, 3, 4};
	const uint32_t want[] = {102, 107, 105, 108};
	float rows[4 * 7];
	pile p = {.options = {.name = "o", .dim = 7}};
	sp_table *table;

	(void)state;
	for (uint32_t i = 0; i < 9; i++)
		add(&p, keys[i], 100 + i);
	table = make(&p);
	assert_int_equal(sp_table_row_count(table), 4);
	lookup(table, asked, 4, NULL, rows);
	for (size_t i = 0; i < 4; i++)
		check_row(rows + i * 7, want[i], 7);
	sp_table_destroy(table);
}

/* Widths around powers of two, and rows of many cache lines. */
static void every_width_copies_whole_rows(void **state)
{
	const size_t dims[] = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128};
	enum { KEYS = 100 };

	(void)state;
	for (size_t n = 0; n < sizeof(dims) / sizeof(dims[0]); n++) {
		size_t dim = dims[n];
		pile p = {.options = {.name = "w", .dim = dim}};
		float *rows = malloc((2 * KEYS * dim + 1) * sizeof(float));
		int64_t keys[2 * KEYS];
		sp_table *table;

		for (int64_t i = 0; i < 2 * KEYS; i++) {
			keys[i] = i * 1000;
			if (i % 2 == 0)
				add(&p, keys[i], (uint32_t)i);
		}
		table = make(&p);
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
		pile p = {.options = {.name = "r", .dim = DIM}};
		sp_table *table;
		size_t distinct = 0;

		for (uint32_t i = 0; i < PAIRS; i++) {
			pairs[i] = (pair){draw_key(kind), (uint32_t)next_random(), i};
			add(&p, pairs[i].key, pairs[i].seed);
		}
		table = make(&p);
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

static void a_million_rows_take_ten_bytes_each_beside_the_row(void **state)
{
	enum { KEYS = 1000000, DIM = 4, PIECE = 10000 };
	pile p = {.options = {.name = "big", .dim = DIM}};
	static float rows[PIECE * DIM];
	int64_t keys[PIECE];
	sp_table *table;

	(void)state;
	for (uint32_t i = 0; i < KEYS; i++)
		add(&p, (int64_t)i * 7, i);
	table = make(&p);
	assert_int_equal(sp_table_row_count(table), KEYS);
	/* Two regions, the larger one rounded up to a huge page. */
	assert_true(sp_table_footprint(table) <= KEYS * (DIM * sizeof(float) + 10) + (2 << 20));
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

static void an_overlay_answers_first(void **state)
{
	const float defaults[] = {-1, -2};
	pile p = {.options = {
			  .name = "b", .dim = 2, .default_rows = defaults, .default_row_count = 1}};
	sp_rows_options options = {.name = "b", .dim = 2};
	const int64_t changed[] = {2, 9}, asked[] = {1, 2, 3, 9, -1};
	float newer[4], rows[10];
	sp_table *old, *new;
	sp_rows *overlay;
	sp_error err;

	(void)state;
	for (uint32_t key = 1; key < 4; key++)
		add(&p, key, key);
	old = make(&p);
	make_row(newer, 102, 2);
	make_row(newer + 2, 109, 2);
	assert_ok(sp_rows_create(&overlay, &options, changed, newer, 2, &err), &err);
	assert_ok(sp_table_with_overlay(&new, old, overlay, &err), &err);
	sp_rows_release(overlay);
	lookup(old, asked, 5, NULL, rows);
	check_row(rows + 2, 2, 2);
	assert_true(rows[6] == -1.0f);
	assert_int_equal(sp_table_row_count(old), 3);

	sp_table_destroy(old); /* the new one keeps what it shares */
	assert_int_equal(sp_table_row_count(new), 4);
	assert_string_equal(sp_table_name(new), "b");
	lookup(new, asked, 5, NULL, rows);
	check_row(rows, 1, 2);
	check_row(rows + 2, 102, 2);
	check_row(rows + 4, 3, 2);
	check_row(rows + 6, 109, 2);
	assert_true(rows[8] == -1.0f && rows[9] == -2.0f);
	sp_table_destroy(new);
}

/* An overlay is replaced, not stacked; and without one the base answers again. */
static void a_newer_overlay_takes_the_place_of_an_older_one(void **state)
{
	pile p = {.options = {.name = "b", .dim = 1}};
	sp_rows_options options = {.name = "b", .dim = 1};
	const int64_t keys[] = {1, 2};
	const float first[] = {11, 12}, second[] = {21};
	sp_table *base, *one, *two, *none;
	sp_rows *overlay;
	float rows[2];
	sp_error err;

	(void)state;
	add(&p, 1, 5);
	base = make(&p);
	assert_ok(sp_rows_create(&overlay, &options, keys, first, 2, &err), &err);
	assert_ok(sp_table_with_overlay(&one, base, overlay, &err), &err);
	sp_rows_release(overlay);
	assert_ok(sp_rows_create(&overlay, &options, keys, second, 1, &err), &err);
	assert_ok(sp_table_with_overlay(&two, one, overlay, &err), &err);
	sp_rows_release(overlay);
	assert_ok(sp_table_with_overlay(&none, two, NULL, &err), &err);
	lookup(two, keys, 2, NULL, rows);
	assert_true(rows[0] == 21.0f && rows[1] == 0.0f);
	lookup(one, keys, 2, NULL, rows);
	assert_true(rows[0] == 11.0f && rows[1] == 12.0f);
	lookup(none, keys, 2, NULL, rows);
	assert_true(rows[0] == 5.0f && rows[1] == 0.0f);
	sp_table_destroy(base);
	sp_table_destroy(one);
	sp_table_destroy(two);
	sp_table_destroy(none);
}

static void impossible_options_are_refused(void **state)
{
	sp_table_options options = {.name = "bad", .dim = 0};
	sp_rows_options row_options = {.name = "bad", .dim = 3};
	const float row[3] = {0};
	const int64_t key = 1;
	sp_table *table;
	sp_rows *rows;
	sp_error err;

	(void)state;
	assert_int_equal(sp_table_create(&table, &options, NULL, NULL, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "bad"));
	options.dim = SIZE_MAX / 2;
	assert_int_equal(sp_table_create(&table, &options, NULL, NULL, &err), SP_INVALID);
	options.dim = 1;
	options.default_rows = row;
	assert_int_equal(sp_table_create(&table, &options, NULL, NULL, &err), SP_INVALID);
	options.default_row_count = SIZE_MAX / 2;
	assert_int_equal(sp_table_create(&table, &options, NULL, NULL, &err), SP_NO_MEMORY);
	options.default_row_count = 1;
	assert_ok(sp_rows_create(&rows, &row_options, &key, row, 1, &err), &err);
	assert_int_equal(sp_table_create(&table, &options, rows, NULL, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "3"));
	sp_rows_release(rows);
	sp_table_destroy(NULL);
}

static sp_status build_some(sp_table **out)
{
	const float defaults[] = {1, 2, 3}, rows[3 * 40] = {0};
	sp_table_options options = {
		.name = "m", .dim = 3, .default_rows = defaults, .default_row_count = 1};
	sp_rows_options row_options = {.name = "m", .dim = 3};
	sp_rows *overlay = NULL;
	sp_table *table = NULL;
	int64_t keys[40];
	sp_status status;

	for (int64_t i = 0; i < 40; i++)
		keys[i] = i * i;
	status = sp_table_from_rows(&table, &options, keys, rows, 40, NULL);
	if (status == SP_OK)
		status = sp_rows_create(&overlay, &row_options, keys + 20, rows, 20, NULL);
	if (status == SP_OK)
		status = sp_table_with_overlay(out, table, overlay, NULL);
	sp_rows_release(overlay);
	sp_table_destroy(table);
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
	assert_true(successes > 20);
	assert_int_equal(sp_table_row_count(table), 40);
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
		cmocka_unit_test(every_width_copies_whole_rows),
		cmocka_unit_test(random_keys_agree_with_a_sorted_array),
		cmocka_unit_test(a_million_rows_take_ten_bytes_each_beside_the_row),
		cmocka_unit_test(an_overlay_answers_first),
		cmocka_unit_test(a_newer_overlay_takes_the_place_of_an_older_one),
		cmocka_unit_test(impossible_options_are_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
