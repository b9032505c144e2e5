#include "tests/support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "storage/fresh/fresh.h"

enum { DIM = 5, READERS = 3 };

typedef struct scene {
	sp_fresh *fresh;
	sp_fresh_view view;
} scene;

static void open_scene(scene *s, size_t memory_limit)
{
	static const size_t dims[] = {DIM, 1};
	const sp_fresh_options options = {.dims = dims,
					  .table_count = 2,
					  .reader_count = READERS,
					  .memory_limit = memory_limit};
	sp_error err;

	assert_ok(sp_fresh_create(&s->fresh, &options, &err), &err);
}

static int set_up(void **state)
{
	scene *s = *state = calloc(1, sizeof(*s));

	open_scene(s, (size_t)64 << 20);
	return 0;
}

static int tear_down(void **state)
{
	sp_fresh_destroy(((scene *)*state)->fresh);
	free(*state);
	return 0;
}

/* One row of `value` for a key of table 0. */
static void put(scene *s, int64_t key, float value, int64_t step)
{
	char bytes[sizeof(key) + DIM * sizeof(float)];
	sp_fresh_entries entries = {.bytes = bytes, .count = 1, .key_size = 8, .step = step};
	sp_fresh_done done = {0};

	memcpy(bytes, &key, sizeof(key));
	for (int d = 0; d < DIM; d++)
		memcpy(bytes + sizeof(key) + d * sizeof(value), &value, sizeof(value));
	assert_int_equal(sp_fresh_put(s->fresh, 0, &entries, &done), SP_OK);
}

/* What a view has for a key of table 0; -1: nothing. */
static float see(const scene *s, const sp_fresh_view *view, int64_t key)
{
	const float *row;

	sp_fresh_find(sp_fresh_table(s->fresh, 0), view, &key, 1, &row);
	if (row == NULL)
		return -1;
	for (int d = 1; d < DIM; d++)
		assert_true(row[d] == row[0]);
	return row[0];
}

static float see_now(scene *s, int64_t key)
{
	float value;

	sp_fresh_pin(&s->view, s->fresh, READERS - 1, -1);
	value = see(s, &s->view, key);
	sp_fresh_unpin(s->fresh, READERS - 1);
	return value;
}

static void rows_are_seen_from_their_commit_on(void **state)
{
	scene *s = *state;
	sp_fresh_view before, between;

	sp_fresh_pin(&before, s->fresh, 0, -1);
	put(s, 7, 1, SP_FRESH_NO_STEP);
	assert_true(see_now(s, 7) == -1);
	put(s, 7, 2, SP_FRESH_NO_STEP); /* the last one stays */
	sp_fresh_commit(s->fresh);
	sp_fresh_pin(&between, s->fresh, 1, -1);
	put(s, 7, 3, SP_FRESH_NO_STEP);
	put(s, 8, 4, SP_FRESH_NO_STEP);
	assert_true(see(s, &between, 7) == 2 && see(s, &between, 8) == -1);
	sp_fresh_commit(s->fresh);
	put(s, 7, 5, SP_FRESH_NO_STEP);
	sp_fresh_commit(s->fresh);
	assert_true(see(s, &before, 7) == -1);
	assert_true(see(s, &between, 7) == 2 && see(s, &between, 8) == -1);
	assert_true(see_now(s, 7) == 5 && see_now(s, 8) == 4);
	assert_true(see_now(s, -1) == -1 && see_now(s, -2) == -1);
	sp_fresh_unpin(s->fresh, 0);
	sp_fresh_unpin(s->fresh, 1);
}

static void rows_that_are_in_the_tables_below_are_not_seen(void **state)
{
	scene *s = *state;
	sp_fresh_view view;

	put(s, 1, 1, 100);
	put(s, 2, 2, 101);
	put(s, 3, 3, SP_FRESH_NO_STEP);
	sp_fresh_commit(s->fresh);
	sp_fresh_pin(&view, s->fresh, 0, 100);
	assert_true(see(s, &view, 1) == -1 && see(s, &view, 2) == 2 && see(s, &view, 3) == 3);
	sp_fresh_unpin(s->fresh, 0);
	assert_true(see_now(s, 1) == 1);
}

static void many_keys_are_all_found(void **state)
{
	enum { KEYS = 100000 };
	scene *s = *state;
	sp_fresh_counters counters;

	for (int64_t key = 0; key < KEYS; key++)
		put(s, key * 1000003 - 5000000, (float)key, SP_FRESH_NO_STEP);
	assert_true(see_now(s, -5000000) == -1);
	sp_fresh_commit(s->fresh);
	for (int64_t key = 0; key < KEYS; key++)
		assert_true(see_now(s, key * 1000003 - 5000000) == (float)key);
	assert_true(see_now(s, 17) == -1);
	sp_fresh_count(s->fresh, &counters);
	assert_true(counters.keys == KEYS && counters.commits == 1 && counters.bytes > KEYS * 60);
}

static void memory_of_replaced_rows_is_used_again(void **state)
{
	scene *s = *state;
	sp_fresh_counters before, after;

	for (int round = 0; round < 200; round++) {
		for (int64_t key = 0; key < 1000; key++)
			put(s, key, (float)round, SP_FRESH_NO_STEP);
		sp_fresh_commit(s->fresh);
		if (round == 5)
			sp_fresh_count(s->fresh, &before);
	}
	sp_fresh_count(s->fresh, &after);
	assert_int_equal(before.bytes, after.bytes);
	assert_int_equal(after.keys, 1000);
	assert_true(see_now(s, 999) == 199);
}

/* ------------------------------------------------------------------ whole messages */

static char *make_entries(int64_t first, size_t count, size_t key_size)
{
	size_t entry = key_size + DIM * sizeof(float);
	char *bytes = calloc(count, entry);

	for (size_t i = 0; i < count; i++) {
		int64_t key = first + (int64_t)i;
		float value = (float)key;

		memcpy(bytes + i * entry, &key, key_size);
		for (int d = 0; d < DIM; d++)
			memcpy(bytes + i * entry + key_size + d * sizeof(value), &value,
			       sizeof(value));
	}
	return bytes;
}

static void marks_and_rows_that_are_not_finite_are_dropped(void **state)
{
	scene *s = *state;
	sp_fresh_entries entries = {.count = 6, .key_size = 4, .only_finite = true};
	sp_fresh_done done = {0};
	char *bytes = make_entries(-3, 6, 4);
	const float bad = INFINITY;

	memcpy(bytes + 4 * (4 + sizeof(float) * DIM) + 4 + 3 * sizeof(bad), &bad, sizeof(bad));
	entries.bytes = bytes;
	entries.step = 5;
	assert_int_equal(sp_fresh_put(s->fresh, 0, &entries, &done), SP_OK);
	assert_true(done.entries == 6 && done.reserved == 2 && done.not_finite == 1);
	sp_fresh_commit(s->fresh);
	assert_true(see_now(s, -3) == -3 && see_now(s, -1) == -1 && see_now(s, 0) == 0);
	assert_true(see_now(s, 1) == -1 && see_now(s, 2) == 2);
	free(bytes);
}

static void above_the_memory_limit_the_writer_waits_for_readers(void **state)
{
	enum { COUNT = 5000 };
	scene s = {0};
	sp_fresh_entries entries = {.count = COUNT, .key_size = 8, .step = SP_FRESH_NO_STEP};
	sp_fresh_done done = {0};
	sp_fresh_view view;
	char *bytes = make_entries(0, COUNT, 8);
	int rounds = 0;

	(void)state;
	open_scene(&s, (size_t)2 << 20);
	entries.bytes = bytes;
	assert_int_equal(sp_fresh_put(s.fresh, 0, &entries, &done), SP_OK);
	sp_fresh_commit(s.fresh);
	sp_fresh_pin(&view, s.fresh, 0, -1);
	do {
		done.entries = 0;
		if (sp_fresh_put(s.fresh, 0, &entries, &done) != SP_OK)
			break;
		sp_fresh_commit(s.fresh);
	} while (++rounds < 1000);
	assert_true(rounds > 0 && rounds < 1000 && done.entries < COUNT);
	sp_fresh_reclaim(s.fresh);
	assert_int_equal(sp_fresh_put(s.fresh, 0, &entries, &done), SP_BUSY);
	assert_true(see(&s, &view, 4999) == 4999);
	sp_fresh_unpin(s.fresh, 0);
	sp_fresh_reclaim(s.fresh);
	assert_int_equal(sp_fresh_put(s.fresh, 0, &entries, &done), SP_OK);
	assert_int_equal(done.entries, COUNT);
	sp_fresh_commit(s.fresh);
	assert_true(see_now(&s, 4999) == 4999);
	free(bytes);
	sp_fresh_destroy(s.fresh);
}

static void a_table_too_wide_for_the_limit_is_no_crash(void **state)
{
	static const size_t dims[] = {1 << 20};
	const sp_fresh_options options = {
		.dims = dims, .table_count = 1, .reader_count = 1, .memory_limit = 1 << 20};
	char *bytes = calloc(1, 8 + sizeof(float) * dims[0]);
	sp_fresh_entries entries = {.bytes = bytes, .count = 1, .key_size = 8, .step = 1};
	sp_fresh_done done = {0};
	sp_fresh *fresh;
	sp_error err;

	(void)state;
	assert_ok(sp_fresh_create(&fresh, &options, &err), &err);
	assert_int_equal(sp_fresh_put(fresh, 0, &entries, &done), SP_BUSY);
	sp_fresh_destroy(fresh);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_are_seen_from_their_commit_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rows_that_are_in_the_tables_below_are_not_seen,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_keys_are_all_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_of_replaced_rows_is_used_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(marks_and_rows_that_are_not_finite_are_dropped,
						set_up, tear_down),
		cmocka_unit_test(above_the_memory_limit_the_writer_waits_for_readers),
		cmocka_unit_test(a_table_too_wide_for_the_limit_is_no_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
