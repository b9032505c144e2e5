#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
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
	assert_true(sp_arena_used(arena) >= 1003);
	assert_true(sp_arena_used(arena) <= sp_arena_footprint(arena));
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

#ifndef SP_ARENA_DEBUG
static void fill(sp_arena *arena)
{
	for (int i = 0; i < 100; i++)
		assert_non_null(sp_arena_alloc(arena, (size_t)(i * 7)));
}

static void after_a_reset_nothing_more_is_asked_of_the_system(void **state)
{
	sp_arena *arena = sp_arena_create(256);
	uint64_t before;

	(void)state;
	fill(arena);
	sp_arena_reset(arena);
	fill(arena);
	before = sp_alloc_count();
	for (int round = 0; round < 10; round++) {
		sp_arena_reset(arena);
		fill(arena);
	}
	assert_int_equal(sp_alloc_count(), before);
	sp_arena_destroy(arena);
}
#endif

static void an_arena_knows_its_own_blocks(void **state)
{
	sp_arena *arena = sp_arena_create(256);
	char *small, *large, outside;

	(void)state;
	assert_false(sp_arena_holds(arena, &outside));
	small = sp_arena_alloc(arena, 3);
	large = sp_arena_alloc(arena, 1000);
	assert_true(sp_arena_holds(arena, small));
	assert_true(sp_arena_holds(arena, large + 999));
	assert_false(sp_arena_holds(arena, &outside));
	assert_false(sp_arena_holds(arena, NULL));
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_aligned_and_apart),
		cmocka_unit_test(a_product_that_overflows_is_refused),
#ifndef SP_ARENA_DEBUG
		cmocka_unit_test(after_a_reset_nothing_more_is_asked_of_the_system),
#endif
		cmocka_unit_test(an_arena_knows_its_own_blocks),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
