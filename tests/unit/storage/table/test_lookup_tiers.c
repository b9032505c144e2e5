#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "storage/rows/rows_builder.h"
#include "tests/support/known_tables.h"

/*
 * Lookups whose keys are in memory, in a slower tier, or in neither.
 */

static void a_slower_tier_answers_what_memory_lacks(void **state)
{
	enum { TABLES = 6, HALF = 300, ALL = 600, COUNT = 100 };
	sp_table *tables[TABLES];
	sp_known_tier *tiers[TABLES] = {0};
	sp_lookup lookups[TABLES];
	static int64_t keys[TABLES][COUNT];
	static float rows[TABLES][COUNT * 40];
	size_t dims[TABLES], asked;
	sp_error err;

	(void)state;
	sp_known_tiers_destroyed = sp_known_tier_reads = 0;
	for (size_t t = 0; t < TABLES; t++) {
		dims[t] = 3 + 5 * t;
		/* The first has all in memory, the third nothing, the others a half. */
		if (t != 0)
			tiers[t] = sp_known_tier_new(t, dims[t], t == 2 ? 0 : HALF, ALL);
		tables[t] = sp_known_table(
			dims[t],
			t == 2 ? NULL
			       : sp_known_rows(t, dims[t], 0, t == 0 ? ALL : HALF, SP_ROW_FP32),
			tiers[t] != NULL ? &tiers[t]->tier : NULL);
		lookups[t] = (sp_lookup){.table = tables[t],
					 .keys = keys[t],
					 .count = COUNT,
					 .rows = rows[t],
					 .stride = 40};
		for (size_t i = 0; i < COUNT; i++)
			keys[t][i] = (int64_t)(sp_known_random() % 700);
	}
	assert_ok(sp_known_run(lookups, TABLES, &err), &err);
	assert_int_equal(sp_known_tier_reads, 1); /* for all tables */
	for (size_t t = 0; t < TABLES; t++)
		for (size_t i = 0; i < COUNT; i++)
			for (size_t d = 0; d < dims[t]; d++)
				assert_true(rows[t][i * 40 + d] ==
					    sp_known_expected(t, ALL, keys[t][i], d));
	asked = tiers[1]->keys;
	assert_true(asked > 0 && asked < COUNT && tiers[2]->keys == COUNT);
	assert_int_equal(sp_table_row_count(tables[1]), HALF / 2 + 5);
	assert_true(sp_table_footprint(tables[2]) >= 1000);

	/* What memory has whole is not asked for. */
	for (size_t i = 0; i < COUNT; i++)
		keys[1][i] = i % 2 == 0 ? (int64_t)i : -1 - (int64_t)(i / 2 % 2);
	assert_ok(sp_known_run(&lookups[1], 1, &err), &err);
	assert_int_equal(tiers[1]->keys, asked);
	for (size_t t = 0; t < TABLES; t++)
		sp_table_destroy(tables[t]);
	assert_int_equal(sp_known_tiers_destroyed, TABLES - 1);
}

static void an_overlay_goes_before_a_slower_tier(void **state)
{
	sp_known_tier *tier = sp_known_tier_new(1, 2, 0, 100);
	sp_table *old = sp_known_table(2, NULL, &tier->tier), *table;
	sp_rows *overlay = sp_known_rows(3, 2, 10, 20, SP_ROW_FP32);
	const int64_t keys[] = {8, 10, 18, 20, 21};
	float rows[10], fallback[10];
	sp_lookup lookup = {
		.keys = keys, .count = 5, .fallback = fallback, .rows = rows, .stride = 2};
	sp_error err;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		fallback[i] = 500.0f + (float)i;
	assert_ok(sp_table_with_overlay(&table, old, overlay, &err), &err);
	sp_rows_release(overlay);
	sp_table_destroy(old);
	lookup.table = table;
	assert_ok(sp_known_run(&lookup, 1, &err), &err);
	assert_int_equal(tier->keys, 3);
	for (size_t d = 0; d < 2; d++) {
		assert_true(rows[d] == sp_known_element(1, 8, d) &&
			    rows[2 + d] == sp_known_element(3, 10, d));
		assert_true(rows[4 + d] == sp_known_element(3, 18, d) &&
			    rows[6 + d] == sp_known_element(1, 20, d));
		assert_true(rows[8 + d] == fallback[8 + d]);
	}
	assert_ok(sp_table_lookup(table, keys, 5, NULL, rows, &err), &err);
	assert_true(rows[0] == sp_known_element(1, 8, 0) && rows[8] == sp_known_absent(21, 0));
	sp_table_destroy(table);
}

/* Even keys: the overlay has those below 4, memory 4 and 6, the tier all below 100. */
static void keys_are_located_in_memory_or_below(void **state)
{
	const int64_t keys[] = {0, 1, 6, 8, 98, 100, 8, -1, -2};
	const int32_t want[] = {0, -1, 0, 1, 1, -1, 1, -1, -1};
	sp_known_tier *tier = sp_known_tier_new(1, 2, 0, 100);
	sp_table *old = sp_known_table(2, sp_known_rows(0, 2, 4, 8, SP_ROW_FP32), &tier->tier),
		 *table;
	sp_rows *overlay = sp_known_rows(3, 2, 0, 4, SP_ROW_FP32);
	int32_t places[9];
	bool found[9];
	sp_error err;

	(void)state;
	assert_ok(sp_table_with_overlay(&table, old, overlay, &err), &err);
	sp_rows_release(overlay);
	sp_table_destroy(old);
	assert_ok(sp_known_locate(table, keys, 9, places, &err), &err);
	assert_memory_equal(places, want, sizeof(want));
	assert_int_equal(tier->keys, 5); /* neither what memory holds nor the two marks */
	assert_ok(sp_table_contains(table, keys, 9, found, &err), &err);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(found[i], want[i] >= 0);

	/* What memory has whole is not asked for, and a tier that fails is no absence. */
	tier->failure = SP_IO;
	assert_ok(sp_known_locate(table, keys, 1, places, &err), &err);
	assert_ok(sp_table_contains(table, keys, 0, found, &err), &err);
	assert_int_equal(sp_known_locate(table, keys, 9, places, &err), SP_IO);
	assert_int_equal(sp_table_contains(table, keys, 9, found, &err), SP_IO);
	assert_non_null(strstr(err.text, "the double fails"));
	assert_true(sp_table_locate_scratch(table, SIZE_MAX / 4) == SIZE_MAX);
	assert_int_equal(sp_table_contains(table, keys, SIZE_MAX / 4, found, &err), SP_NO_MEMORY);
	sp_table_destroy(table);
}

static void a_tier_that_fails_ends_the_lookup(void **state)
{
	const sp_status failures[] = {SP_IO, SP_CORRUPT, SP_DEADLINE};
	sp_known_tier *tier = sp_known_tier_new(1, 2, 0, 100);
	sp_table *table = sp_known_table(2, NULL, &tier->tier);
	const int64_t key = 8;
	float row[2];
	sp_lookup lookup = {.table = table, .keys = &key, .count = 1, .rows = row, .stride = 2};
	sp_error err;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		tier->failure = failures[i];
		assert_int_equal(sp_known_run(&lookup, 1, &err), failures[i]);
		assert_non_null(strstr(err.text, "the double fails"));
	}
	sp_table_destroy(table);
}

static void too_many_keys_to_count_need_too_much_scratch(void **state)
{
	sp_known_tier *tier = sp_known_tier_new(1, 2, 0, 100);
	sp_table *table = sp_known_table(2, NULL, &tier->tier);
	sp_lookup lookup = {.table = table, .count = SIZE_MAX / 4};

	(void)state;
	assert_true(sp_lookup_scratch(&lookup, 1) == SIZE_MAX);
	sp_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slower_tier_answers_what_memory_lacks),
		cmocka_unit_test(an_overlay_goes_before_a_slower_tier),
		cmocka_unit_test(keys_are_located_in_memory_or_below),
		cmocka_unit_test(a_tier_that_fails_ends_the_lookup),
		cmocka_unit_test(too_many_keys_to_count_need_too_much_scratch),
	};

	return cmocka_run_group_tests_name("lookup_tiers", tests, NULL, NULL);
}
