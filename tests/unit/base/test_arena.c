#include "tests/support/cmocka.h"

#include <string.h>

#include "base/arena.h"

static void blocks_are_aligned_and_apart(void **state)
{
	sp_arena *arena = sp_arena_create(256);
	char *small, *large;

	(void)state;
	assert_non_null(arena);
	small = sp_arena_alloc(arena, 3);
	large = sp_arena_alloc(arena, 1000);
	assert_int_equal((uintptr_t)small % 16, 0);
	assert_int_equal((uintptr_t)large % 64, 0);
	memset(small, 1, 3);
	memset(large, 2, 1000);
	assert_int_equal(small[2], 1);
	assert_true(sp_arena_footprint(arena) >= 1003);
	sp_arena_destroy(arena);
}

static void a_product_that_overflows_is_refused(void **state)
{
	sp_arena *arena = sp_arena_create(256);

	(void)state;
	assert_null(sp_arena_array(arena, SIZE_MAX / 2, 3));
	assert_null(sp_arena_alloc(arena, SIZE_MAX));
	assert_non_null(sp_arena_alloc(arena, 0));
	sp_arena_destroy(arena);
}

static void reset_gives_the_same_memory_again(void **state)
{
	sp_arena *arena = sp_arena_create(256);
	size_t footprint;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_non_null(sp_arena_alloc(arena, 100));
	footprint = sp_arena_footprint(arena);
	for (int round = 0; round < 10; round++) {
		sp_arena_reset(arena);
		for (int i = 0; i < 100; i++)
			assert_non_null(sp_arena_alloc(arena, 100));
		assert_int_equal(sp_arena_footprint(arena), footprint);
	}
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_aligned_and_apart),
		cmocka_unit_test(a_product_that_overflows_is_refused),
		cmocka_unit_test(reset_gives_the_same_memory_again),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
