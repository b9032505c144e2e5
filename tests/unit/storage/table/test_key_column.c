#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
#include "storage/table/key_column.h"
#include "storage/rows/rows_builder.h"
#include "storage/table/table_builder.h"

/* What is fed: `count` pairs, `piece` at a time. */
typedef struct pairs {
	const int64_t *keys;
	const int64_t *numbers;
	size_t count;
	size_t piece;
	int fails_in_pass; /* 0: never */
	int pass;
} pairs;

static sp_key_column *column, *over;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	column = over = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_key_column_release(over);
	sp_key_column_release(column);
	return 0;
}

static sp_status feed(void *context, sp_key_column_take *take, void *to, sp_error *e)
{
	pairs *p = context;

	if (++p->pass == p->fails_in_pass)
		return sp_error_set(e, SP_IO, "it fails");
	for (size_t i = 0; i < p->count; i += p->piece) {
		size_t left = p->count - i;

		SP_TRY(take(to, p->keys + i, p->numbers + i, left < p->piece ? left : p->piece, e));
	}
	return SP_OK;
}

static sp_status create(sp_key_column **out, pairs *p, int64_t absent, sp_key_column *below)
{
	sp_key_column_options options = {
		.absent = absent, .below = below, .threads = 2, .feed = feed, .context = p};

	return sp_key_column_create(out, &options, &err);
}

static void check(const sp_key_column *of, const int64_t *keys, const int64_t *want, size_t count)
{
	int64_t have[64];

	sp_key_column_read(of, keys, count, have);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(have[i], want[i]);
}

static void each_key_has_its_number(void **state)
{
	static const int64_t keys[] = {7, INT64_MIN, 0, INT64_MAX, 9, -3};
	static const int64_t numbers[] = {100, 200, 300, UINT32_MAX, 0, 1};
	static const int64_t asked[] = {-3, 8, 0, 0, INT64_MAX, 1, INT64_MIN, 9, 7};
	static const int64_t want[] = {1, 0, 300, 300, UINT32_MAX, 0, 200, 0, 100};
	pairs p = {keys, numbers, 6, 4, 0, 0};

	(void)state;
	assert_ok(create(&column, &p, 0, NULL), &err);
	check(column, asked, want, 9);
}

/* The marks of DeepRec's map are no keys, whatever is said of them. */
static void marks_are_absent(void **state)
{
	static const int64_t keys[] = {-1, 5, -2};
	static const int64_t numbers[] = {11, 12, 13};
	static const int64_t want[] = {-1, 12, -1};
	pairs p = {keys, numbers, 3, 3, 0, 0};

	(void)state;
	assert_ok(create(&column, &p, -1, NULL), &err);
	check(column, keys, want, 3);
}

static void of_a_key_that_is_there_twice_the_later_counts(void **state)
{
	static const int64_t keys[] = {1, 2, 1};
	static const int64_t numbers[] = {30, 20, 10};
	static const int64_t want[] = {10, 20, 10};
	pairs p = {keys, numbers, 3, 2, 0, 0};

	(void)state;
	assert_ok(create(&column, &p, 0, NULL), &err);
	check(column, keys, want, 3);
}

static void no_number_is_less_than_that_of_absent_keys(void **state)
{
	static const int64_t keys[] = {1, 2, 3};
	static const int64_t numbers[] = {-2, INT64_MIN, -1};
	static const int64_t want[] = {-1, -1, -1};
	pairs p = {keys, numbers, 3, 3, 0, 0};

	(void)state;
	assert_ok(create(&column, &p, -1, NULL), &err);
	check(column, keys, want, 3);
}

/* They take four bytes more a key then. */
static void numbers_may_be_beyond_32_bits(void **state)
{
	static const int64_t keys[] = {1, 2, 3};
	static const int64_t least[] = {UINT32_MAX, 0, -1};
	static const int64_t most[] = {INT64_MAX, INT64_C(5000000000), 3};
	pairs p = {keys, least, 3, 3, 0, 0};

	(void)state;
	assert_ok(create(&column, &p, -1, NULL), &err);
	check(column, keys, least, 3);
	sp_key_column_release(column);
	column = NULL;
	p.numbers = most;
	assert_ok(create(&column, &p, -1, NULL), &err);
	check(column, keys, most, 3);
}

static void without_keys_all_are_absent(void **state)
{
	static const int64_t keys[] = {1, -1, 0};
	static const int64_t want[] = {-1, -1, -1};
	pairs p = {NULL, NULL, 0, 1, 0, 0};

	(void)state;
	assert_ok(create(&column, &p, -1, NULL), &err);
	check(column, keys, want, 3);
	check(column, keys, want, 0);
}

static void what_lies_over_it_comes_first(void **state)
{
	static const int64_t low_keys[] = {1, 2}, high_keys[] = {2, 3};
	static const int64_t low[] = {10, 20}, high[] = {21, 31};
	static const int64_t asked[] = {1, 2, 3, 4};
	static const int64_t want[] = {10, 21, 31, 0}, before[] = {10, 20, 0, 0};
	pairs p = {low_keys, low, 2, 2, 0, 0}, q = {high_keys, high, 2, 2, 0, 0};
	sp_key_column *bottom;

	(void)state;
	assert_ok(create(&column, &p, 0, NULL), &err);
	assert_ok(create(&over, &q, 0, column), &err);
	check(over, asked, want, 4);
	check(column, asked, before, 4);
	assert_true(sp_key_column_footprint(over) > sp_key_column_footprint(column));
	assert_ptr_equal(sp_key_column_bottom(over), column);
	assert_ptr_equal(sp_key_column_bottom(column), column);
	bottom = column;
	column = NULL;
	sp_key_column_release(bottom); /* kept by what lies over it */
	check(over, asked, want, 4);
}

/* Against a list of as many; and no more memory than was said to be expected. */
static void many_keys(void **state)
{
	enum { MANY = 200000, LARGE_PAGE = 2 << 20 };
	int64_t *keys = test_calloc(MANY, sizeof(*keys)),
		*numbers = test_calloc(MANY, sizeof(*keys));
	int64_t *have = test_calloc(MANY, sizeof(*have));
	pairs p = {keys, numbers, MANY, 5000, 0, 0};

	(void)state;
	for (int64_t i = 0; i < MANY; i++) {
		keys[i] = i * INT64_C(7919) - 1000003;
		numbers[i] = i % 1000;
	}
	assert_ok(create(&column, &p, 0, NULL), &err);
	sp_key_column_read(column, keys, MANY, have);
	assert_memory_equal(have, numbers, MANY * sizeof(*have));
	for (int64_t i = 0; i < MANY; i++)
		keys[i]++;
	sp_key_column_read(column, keys, MANY, have);
	for (int64_t i = 0; i < MANY; i++)
		assert_int_equal(have[i], 0);
	/* 8 for the key, 4 for the number, and what finds them; in whole large pages. */
	assert_true(sp_key_column_footprint(column) < 13 * MANY + LARGE_PAGE);
	assert_true(sp_key_column_footprint(column) <=
		    sp_key_column_expected_size(MANY) + LARGE_PAGE);
	test_free(keys);
	test_free(numbers);
	test_free(have);
}

static void failures_are_passed_on(void **state)
{
	static const int64_t keys[] = {1}, numbers[] = {2};

	(void)state;
	for (int pass = 1; pass <= 2; pass++) {
		pairs p = {keys, numbers, 1, 1, pass, 0};

		assert_int_equal(create(&column, &p, 0, NULL), SP_IO);
		assert_string_equal(err.text, "it fails");
	}
}

static void every_allocation_may_fail(void **state)
{
	static const int64_t keys[] = {1, 2, 3}, numbers[] = {2, 3, 4};
	sp_status status = SP_NO_MEMORY;
	int64_t allowed = 0;

	(void)state;
	for (; status == SP_NO_MEMORY; allowed++) {
		pairs p = {keys, numbers, 3, 3, 0, 0};

		sp_alloc_fail_after(allowed);
		status = create(&column, &p, 0, NULL);
		sp_alloc_fail_after(-1);
	}
	assert_ok(status, &err);
	assert_true(allowed > 3);
	check(column, keys, numbers, 3);
}

/* -------------------------------------------------------------------- tables */

static sp_table *table_of(int64_t key)
{
	static const float row[] = {1, 2};
	sp_table_options options = {.name = "t", .dim = 2};
	sp_table *table;

	assert_ok(sp_table_from_rows(&table, &options, &key, row, 1, &err), &err);
	return table;
}

static int64_t frequency(const sp_table *table, int64_t key)
{
	int64_t number;

	sp_table_read_column(table, SP_TABLE_FREQUENCIES, &key, 1, &number);
	return number;
}

static void tables_made_of_one_share_its_columns(void **state)
{
	static const int64_t keys[] = {7}, numbers[] = {3};
	pairs p = {keys, numbers, 1, 1, 0, 0};
	sp_table *table = table_of(7), *share, *laid;
	size_t without = sp_table_footprint(table);

	(void)state;
	assert_ok(create(&column, &p, 0, NULL), &err);
	assert_false(sp_table_has_column(table, SP_TABLE_FREQUENCIES));
	sp_table_set_column(table, SP_TABLE_FREQUENCIES, column);
	assert_true(sp_table_has_column(table, SP_TABLE_FREQUENCIES));
	assert_false(sp_table_has_column(table, SP_TABLE_VERSIONS));
	assert_int_equal(sp_table_footprint(table), without + sp_key_column_footprint(column));
	sp_key_column_release(column);
	column = NULL;
	assert_ok(sp_table_share(&share, table, &err), &err);
	assert_ok(sp_table_with_overlay(&laid, table, NULL, &err), &err);
	sp_table_destroy(table);
	assert_int_equal(frequency(share, 7), 3);
	assert_int_equal(frequency(laid, 8), 0);
	sp_table_destroy(share);
	sp_table_set_column(laid, SP_TABLE_FREQUENCIES, NULL);
	assert_false(sp_table_has_column(laid, SP_TABLE_FREQUENCIES));
	sp_table_destroy(laid);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_key_has_its_number, set_up, tear_down),
		cmocka_unit_test_setup_teardown(marks_are_absent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_a_key_that_is_there_twice_the_later_counts,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_number_is_less_than_that_of_absent_keys, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(numbers_may_be_beyond_32_bits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_keys_all_are_absent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_lies_over_it_comes_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_keys, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failures_are_passed_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tables_made_of_one_share_its_columns, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
