#include "tests/support/cmocka.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "storage/placement/placement_keys.h"

enum { MOST = 150000 };

/* Spread over 64 bits, and all different; never a mark. */
static int64_t key_of(size_t i)
{
	return (int64_t)(i * UINT64_C(0x9e3779b97f4a7c15));
}

static int64_t *make_keys(size_t count)
{
	int64_t *keys = malloc((count + 1) * sizeof(*keys));

	assert_non_null(keys);
	for (size_t i = 0; i < count; i++)
		keys[i] = key_of(i);
	return keys;
}

static void add(sp_placement_keys *to, const int64_t *keys, size_t count)
{
	sp_error err;
	size_t held;

	assert_ok(sp_placement_keys_add(to, keys, count, &held, &err), &err);
	assert_int_equal(held, count);
}

/* By the definition in storage/placement/placement.h: keys [count] have a slot each, and nobody
 * else's. */
static void check_places(const sp_placement *placement, const sp_region *pilots,
			 const int64_t *keys, size_t count)
{
	unsigned char *taken = calloc(placement->slot_count, 1);

	assert_non_null(taken);
	assert_int_equal(placement->key_count, count);
	assert_int_equal(pilots->size, placement->part_count * placement->part_buckets);
	for (size_t i = 0; i < count; i++) {
		uint64_t hash = sp_placement_hash(placement, keys[i]);
		uint8_t pilot = ((uint8_t *)pilots->data)[sp_placement_bucket(placement, hash)];
		size_t slot = sp_placement_slot(placement, hash, pilot);

		assert_true(slot < placement->slot_count);
		assert_int_equal(taken[slot]++, 0);
	}
	free(taken);
}

static void find_and_check(sp_placement_keys *keys, const int64_t *all, size_t count)
{
	sp_placement placement = {0};
	sp_region pilots = {0};
	sp_error err;

	assert_ok(sp_placement_keys_find(&pilots, &placement, keys, 2, NULL, &err), &err);
	check_places(&placement, &pilots, all, count);
	sp_region_fini(&pilots);
	sp_placement_keys_destroy(keys);
}

/* As many keys as were expected, and far more, and far fewer; in pieces of any size. */
static void any_number_is_placed_whatever_was_expected(void **state)
{
	static const size_t counts[] = {0, 1, 2, 63, 1000, 32768, 32769, MOST};
	static const size_t expected[] = {0, 1, 500, 32768, 65537, MOST, 3 * MOST};
	static const size_t pieces[] = {1, 7, 2048, MOST};
	int64_t *keys = make_keys(MOST);

	(void)state;
	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
		for (size_t e = 0; e < sizeof(expected) / sizeof(*expected); e++) {
			size_t piece = pieces[(c + e) % 4];
			sp_placement_keys *to;
			sp_error err;

			assert_ok(sp_placement_keys_create(&to, expected[e], &err), &err);
			for (size_t i = 0; i < counts[c]; i += piece)
				add(to, keys + i, counts[c] - i < piece ? counts[c] - i : piece);
			find_and_check(to, keys, counts[c]);
		}
	free(keys);
}

static void marks_are_left_out(void **state)
{
	static const size_t expected[] = {0, 6, 200000};
	static const int64_t some[] = {-1, 5, -2, -2, 6, -1, -3};
	static const int64_t held_keys[] = {5, 6, -3};

	(void)state;
	for (size_t e = 0; e < 3; e++) {
		sp_placement_keys *to;
		sp_error err;
		size_t held;

		assert_ok(sp_placement_keys_create(&to, expected[e], &err), &err);
		assert_ok(sp_placement_keys_add(to, some, 7, &held, &err), &err);
		assert_int_equal(held, 3);
		assert_ok(sp_placement_keys_add(to, some, 1, &held, &err), &err);
		assert_int_equal(held, 0);
		find_and_check(to, held_keys, 3);
	}
}

/* One key fills its part alone, and the others are there twice. */
static void repeats_are_one_key(void **state)
{
	enum { KEYS = 40000 };
	static int64_t same[KEYS];
	int64_t *keys = make_keys(KEYS);

	(void)state;
	for (size_t i = 0; i < KEYS; i++)
		same[i] = keys[17];
	for (size_t expected = 0; expected <= 4 * KEYS; expected += 2 * KEYS) {
		sp_placement_keys *to;
		sp_error err;

		assert_ok(sp_placement_keys_create(&to, expected, &err), &err);
		add(to, keys, KEYS);
		add(to, same, KEYS);
		add(to, keys, KEYS);
		find_and_check(to, keys, KEYS);
	}
	free(keys);
}

typedef struct adding {
	sp_placement_keys *to;
	const int64_t *keys;
	size_t piece;
} adding;

static sp_status add_piece(void *context, size_t i, sp_error *err)
{
	const adding *a = context;
	size_t held;

	return sp_placement_keys_add(a->to, a->keys + i * a->piece, a->piece, &held, err);
}

/* Room enough, and so little that many come too late; many at once, and few. */
static void several_threads_add(void **state)
{
	static const size_t expected[] = {0, MOST / 2, MOST}, pieces[] = {2, 3000};
	int64_t *keys = make_keys(MOST);

	(void)state;
	for (size_t e = 0; e < 3; e++)
		for (size_t p = 0; p < 2; p++) {
			adding a = {.keys = keys, .piece = pieces[p]};
			sp_error err;

			assert_ok(sp_placement_keys_create(&a.to, expected[e], &err), &err);
			assert_ok(sp_parallel_run(4, MOST / a.piece, add_piece, &a, &err), &err);
			find_and_check(a.to, keys, MOST);
		}
	free(keys);
}

static void finding_stops_when_it_is_told_to(void **state)
{
	int64_t *keys = make_keys(MOST);
	atomic_bool stop = true;

	(void)state;
	for (size_t expected = 0; expected <= MOST; expected += MOST) {
		sp_placement placement = {0};
		sp_region pilots = {0};
		sp_placement_keys *to;
		sp_error err;

		assert_ok(sp_placement_keys_create(&to, expected, &err), &err);
		add(to, keys, MOST);
		assert_int_equal(sp_placement_keys_find(&pilots, &placement, to, 2, &stop, &err),
				 SP_BUSY);
		assert_non_null(strstr(err.text, "stopped"));
		assert_null(pilots.data);
		sp_placement_keys_destroy(to);
	}
	free(keys);
}

static void more_than_there_is_memory_for_is_refused(void **state)
{
	sp_placement_keys *to;
	sp_error err;
	size_t held;

	(void)state;
	assert_int_equal(sp_placement_keys_create(&to, SIZE_MAX / 4, &err), SP_NO_MEMORY);
	assert_int_equal(sp_placement_keys_create(&to, SIZE_MAX / 10, &err), SP_NO_MEMORY);
	assert_ok(sp_placement_keys_create(&to, 0, &err), &err);
	assert_int_equal(sp_placement_keys_add(to, NULL, SIZE_MAX / 4, &held, &err), SP_NO_MEMORY);
	sp_placement_keys_destroy(to);
	sp_placement_keys_destroy(NULL);
}

static sp_status place(size_t expected, const int64_t *keys, size_t count, sp_placement *placement,
		       sp_region *pilots)
{
	sp_placement_keys *to;
	sp_status status;
	size_t held;

	SP_TRY(sp_placement_keys_create(&to, expected, NULL));
	status = sp_placement_keys_add(to, keys, count, &held, NULL);
	if (status == SP_OK)
		status = sp_placement_keys_find(pilots, placement, to, 2, NULL, NULL);
	sp_placement_keys_destroy(to);
	return status;
}

/* With room for all, with late ones, and without any parts. */
static void every_failed_allocation_is_reported(void **state)
{
	enum { KEYS = 70000 };
	static const size_t expected[] = {KEYS, 40000, 0};
	int64_t *keys = make_keys(KEYS);

	(void)state;
	for (size_t e = 0; e < 3; e++) {
		sp_placement placement = {0};
		sp_region pilots = {0};
		int64_t successes = 0;
		sp_status status;

		do {
			sp_region_fini(&pilots);
			sp_alloc_fail_after(successes++);
			status = place(expected[e], keys, KEYS, &placement, &pilots);
			sp_alloc_fail_after(-1);
			assert_true(status == SP_OK || status == SP_NO_MEMORY);
		} while (status != SP_OK);
		assert_true(successes > 4);
		check_places(&placement, &pilots, keys, KEYS);
		sp_region_fini(&pilots);
	}
	free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_is_placed_whatever_was_expected),
		cmocka_unit_test(marks_are_left_out),
		cmocka_unit_test(repeats_are_one_key),
		cmocka_unit_test(several_threads_add),
		cmocka_unit_test(finding_stops_when_it_is_told_to),
		cmocka_unit_test(more_than_there_is_memory_for_is_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("placement_keys", tests, NULL, NULL);
}
