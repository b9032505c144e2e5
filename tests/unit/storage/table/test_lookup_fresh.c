#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/known_tables.h"

/*
 * Lookups that see rows over those of the tables: alone, pooled, over a slower tier.
 */

enum { DIM = 7, KEYS = 400, COUNT = 150, SIZE = 600, STRIDE = 9 };

/* Over table t, whose even keys below SIZE are held: keys that 3 divides have the row -key - d. */
static bool is_fresh(int64_t key)
{
	return key >= 0 && key % 3 == 0;
}

static float expected(size_t t, int64_t key, size_t d, bool sees)
{
	if (sees && is_fresh(key))
		return -(float)key - (float)d;
	return sp_known_expected(t, SIZE, key, d);
}

static void put_rows(sp_fresh *fresh, size_t table)
{
	for (int64_t key = 0; key < 700; key += 3) {
		char bytes[sizeof(key) + DIM * sizeof(float)];
		sp_fresh_entries entries = {
			.bytes = bytes, .count = 1, .key_size = 8, .step = SP_FRESH_NO_STEP};
		sp_fresh_done done = {0};

		memcpy(bytes, &key, sizeof(key));
		for (size_t d = 0; d < DIM; d++) {
			float value = -(float)key - (float)d;

			memcpy(bytes + sizeof(key) + d * sizeof(value), &value, sizeof(value));
		}
		assert_int_equal(sp_fresh_put(fresh, table, &entries, &done), SP_OK);
	}
}

typedef struct scene {
	sp_table *tables[3]; /* in memory, over a tier, in memory without such rows */
	sp_fresh *fresh;
	sp_fresh_view view;
	sp_lookup lookups[3];
	int64_t keys[3][COUNT];
	float rows[3][COUNT * STRIDE];
} scene;

static int set_up(void **state)
{
	static const size_t dims[] = {DIM, DIM};
	const sp_fresh_options options = {.dims = dims,
					  .table_count = 2,
					  .reader_count = 1,
					  .memory_limit = (size_t)64 << 20};
	scene *s = *state = calloc(1, sizeof(*s));
	sp_known_tier *tier = sp_known_tier_new(1, DIM, SIZE / 2, SIZE);
	sp_error err;

	assert_ok(sp_fresh_create(&s->fresh, &options, &err), &err);
	for (size_t t = 0; t < 3; t++) {
		int64_t end = t == 1 ? SIZE / 2 : SIZE;

		s->tables[t] = sp_known_table(DIM, sp_known_rows(t, DIM, 0, end, SP_ROW_FP32),
					      t == 1 ? &tier->tier : NULL);
		for (size_t i = 0; i < COUNT; i++)
			s->keys[t][i] = (int64_t)(sp_known_random() % 700);
		s->keys[t][3] = -sp_known_default_rows;
		s->lookups[t] = (sp_lookup){.table = s->tables[t],
					    .keys = s->keys[t],
					    .count = COUNT,
					    .rows = s->rows[t],
					    .stride = STRIDE,
					    .fresh = &s->view};
		if (t == 2)
			continue;
		sp_table_set_fresh(s->tables[t], sp_fresh_table(s->fresh, t));
		put_rows(s->fresh, t);
	}
	sp_fresh_commit(s->fresh);
	sp_fresh_pin(&s->view, s->fresh, 0, -1);
	return 0;
}

static int tear_down(void **state)
{
	scene *s = *state;

	sp_fresh_unpin(s->fresh, 0);
	for (size_t t = 0; t < 3; t++)
		sp_table_destroy(s->tables[t]);
	sp_fresh_destroy(s->fresh);
	free(s);
	return 0;
}

static void a_view_sees_the_rows_over_all_layers(void **state)
{
	scene *s = *state;
	sp_error err;

	assert_true(sp_lookup_scratch(s->lookups, 3) > 0);
	for (int sees = 1; sees >= 0; sees--) {
		for (size_t t = 0; t < 3; t++)
			s->lookups[t].fresh = sees != 0 ? &s->view : NULL;
		assert_ok(sp_known_run(s->lookups, 3, &err), &err);
		for (size_t t = 0; t < 3; t++)
			for (size_t i = 0; i < COUNT; i++)
				for (size_t d = 0; d < DIM; d++)
					assert_true(
						s->rows[t][i * STRIDE + d] ==
						expected(t, s->keys[t][i], d, sees != 0 && t != 2));
	}
	assert_int_equal(sp_lookup_scratch(&s->lookups[0], 1), 0); /* without a view */
}

static void sums_take_the_rows_that_are_seen(void **state)
{
	scene *s = *state;
	sp_pooling pooling = {.combiner = SP_COMBINE_SUM, .segment_count = COUNT / 5};
	int64_t segments[COUNT];
	sp_error err;

	for (size_t i = 0; i < COUNT; i++)
		segments[i] = (int64_t)i / 5;
	pooling.segments = segments;
	for (size_t t = 0; t < 3; t++)
		s->lookups[t].pooling = &pooling;
	assert_ok(sp_known_run(s->lookups, 3, &err), &err);
	for (size_t t = 0; t < 3; t++)
		for (size_t i = 0; i < COUNT / 5; i++)
			for (size_t d = 0; d < DIM; d++) {
				float sum = 0;

				for (size_t k = 5 * i; k < 5 * i + 5; k++)
					sum += expected(t, s->keys[t][k], d, t != 2);
				assert_true(s->rows[t][i * STRIDE + d] == sum);
			}
}

static void keys_that_are_seen_are_in_memory(void **state)
{
	scene *s = *state;
	const int64_t keys[] = {3, 5, 4, 303, 302, -1};
	int32_t places[6];
	sp_error err;

	assert_ok(sp_known_locate(s->tables[1], keys, 6, places, &err), &err);
	assert_true(places[0] == SP_TABLE_ABSENT && places[4] == SP_TABLE_BELOW);
	sp_table_locate_fresh(s->tables[1], NULL, keys, 6, places);
	assert_true(places[0] == SP_TABLE_ABSENT);
	sp_table_locate_fresh(s->tables[1], &s->view, keys, 6, places);
	assert_true(places[0] == SP_TABLE_IN_MEMORY && places[1] == SP_TABLE_ABSENT);
	assert_true(places[2] == SP_TABLE_IN_MEMORY && places[3] == SP_TABLE_IN_MEMORY);
	assert_true(places[4] == SP_TABLE_BELOW && places[5] == SP_TABLE_ABSENT);
}

static void tables_made_from_a_table_have_its_rows(void **state)
{
	scene *s = *state;
	const int64_t key = 3;
	sp_table *next;
	sp_lookup lookup = {
		.keys = &key, .count = 1, .rows = s->rows[0], .stride = DIM, .fresh = &s->view};
	sp_error err;

	assert_ok(sp_table_with_overlay(&next, s->tables[0],
					sp_known_rows(0, DIM, 0, 10, SP_ROW_FP32), &err),
		  &err);
	sp_rows_release(sp_table_get_layers(next).overlay); /* the table has its own reference */
	lookup.table = next;
	assert_ok(sp_known_run(&lookup, 1, &err), &err);
	assert_true(s->rows[0][0] == -3);
	sp_table_destroy(next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_view_sees_the_rows_over_all_layers, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(sums_take_the_rows_that_are_seen, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(keys_that_are_seen_are_in_memory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(tables_made_from_a_table_have_its_rows, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
