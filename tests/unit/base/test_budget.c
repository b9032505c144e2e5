#include "tests/support/cmocka.h"

#include <pthread.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/budget.h"
#include "base/buffer.h"

enum { KB = 1 << 10, MB = 1 << 20 };

static int tear_down(void **state)
{
	(void)state;
	sp_alloc_fail_after(-1);
	return 0;
}

static void tiny_blocks_are_free(void **state)
{
	sp_budget budget;

	(void)state;
	sp_budget_init(&budget, 0);
	assert_int_equal(sp_budget_grow(&budget, 0, 100, 4 * KB), 4 * KB);
	assert_int_equal(sp_budget_used(&budget), 0);
	assert_int_equal(sp_budget_grow(&budget, 4 * KB, 4 * KB + 1, 4 * KB + 1), 0);
	assert_int_equal(budget.refused, 1);
	sp_budget_shrink(&budget, 4 * KB, 0);
	assert_int_equal(sp_budget_used(&budget), 0);
}

static void large_blocks_leave_an_eighth_to_small_ones(void **state)
{
	sp_budget budget;

	(void)state;
	sp_budget_init(&budget, 8 * MB);
	assert_true(sp_budget_allows(&budget, 7 * MB));
	assert_false(sp_budget_allows(&budget, 7 * MB + 1));
	assert_int_equal(sp_budget_grow(&budget, 0, 7 * MB, 7 * MB), 7 * MB);
	assert_int_equal(sp_budget_grow(&budget, 0, 65 * KB, 65 * KB), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(sp_budget_grow(&budget, 0, 64 * KB, 64 * KB), 64 * KB);
	assert_int_equal(sp_budget_used(&budget), 8 * MB);
	assert_int_equal(sp_budget_grow(&budget, 0, 5 * KB, 5 * KB), 0);
	assert_int_equal(sp_budget_grow(&budget, 0, 4 * KB, 4 * KB), 4 * KB);
	sp_budget_shrink(&budget, 7 * MB, 0);
	assert_int_equal(sp_budget_used(&budget), MB);
	assert_int_equal(budget.refused, 2);
	assert_int_equal(budget.freed, 7 * MB);
}

static void the_largest_blocks_leave_half_to_others(void **state)
{
	sp_budget budget;

	(void)state;
	sp_budget_init(&budget, 128 * MB);
	assert_true(sp_budget_allows(&budget, 64 * MB));
	assert_false(sp_budget_allows(&budget, 64 * MB + 1));
	assert_int_equal(sp_budget_grow(&budget, 0, 40 * MB, 80 * MB), 40 * MB);
	assert_int_equal(sp_budget_grow(&budget, 0, 16 * MB + 1, 32 * MB), 16 * MB + 1);
	assert_int_equal(sp_budget_grow(&budget, 0, 17 * MB, 17 * MB), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sp_budget_grow(&budget, 0, 16 * MB, 16 * MB), 16 * MB);
	/* Whatever it is that fills the half. */
	assert_int_equal(sp_budget_grow(&budget, 16 * MB, 17 * MB, 17 * MB), 0);
	sp_budget_shrink(&budget, 40 * MB, 0);
	sp_budget_shrink(&budget, 16 * MB + 1, 0);
	assert_int_equal(sp_budget_grow(&budget, 16 * MB, 17 * MB, 17 * MB), 17 * MB);
}

static void a_block_gets_less_where_more_does_not_fit(void **state)
{
	sp_budget budget;

	(void)state;
	sp_budget_init(&budget, 8 * MB);
	assert_int_equal(sp_budget_grow(&budget, 0, MB, 4 * MB), 4 * MB);
	assert_int_equal(sp_budget_grow(&budget, 4 * MB, 5 * MB, 8 * MB), 5 * MB);
	assert_int_equal(sp_budget_grow(&budget, 5 * MB, 8 * MB, 10 * MB), 0);
	assert_int_equal(sp_budget_used(&budget), 5 * MB);
	sp_budget_shrink(&budget, 5 * MB, KB);
	assert_int_equal(sp_budget_used(&budget), 0);
}

static void it_is_scarce_when_a_quarter_is_used(void **state)
{
	sp_budget budget;

	(void)state;
	sp_budget_init(&budget, 8 * MB);
	assert_int_equal(sp_budget_grow(&budget, 0, 2 * MB, 2 * MB), 2 * MB);
	assert_false(sp_budget_is_scarce(&budget));
	assert_int_equal(sp_budget_grow(&budget, 0, 8 * KB, 8 * KB), 8 * KB);
	assert_true(sp_budget_is_scarce(&budget));
}

static void no_budget_has_no_bound(void **state)
{
	(void)state;
	assert_int_equal(sp_budget_grow(NULL, 0, 1, SIZE_MAX), SIZE_MAX);
	assert_true(sp_budget_allows(NULL, SIZE_MAX));
	assert_false(sp_budget_is_scarce(NULL));
	sp_budget_shrink(NULL, SIZE_MAX, 0);
}

enum { THREADS = 4, ROUNDS = 20000 };

typedef struct traffic {
	sp_budget budget;
	atomic_bool passed;
} traffic;

static void *come_and_go(void *argument)
{
	traffic *t = argument;

	for (size_t i = 0; i < ROUNDS; i++) {
		size_t want = (i % 7 + 1) * 40 * KB;
		size_t size = sp_budget_grow(&t->budget, 0, want, 2 * want);

		if (sp_budget_used(&t->budget) > t->budget.limit)
			t->passed = true;
		if (i % 64 == 0)
			sched_yield();
		sp_budget_shrink(&t->budget, size, 0);
	}
	return NULL;
}

static void threads_together_stay_below_it(void **state)
{
	static traffic t;
	pthread_t threads[THREADS];

	(void)state;
	sp_budget_init(&t.budget, 600 * KB);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &t), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_false(t.passed);
	assert_int_equal(sp_budget_used(&t.budget), 0);
}

/* ------------------------------------------------------- who asks a budget */

static void a_buffer_counts_what_it_holds(void **state)
{
	sp_budget budget;
	sp_buffer buffer;
	size_t size;
	char *data;

	(void)state;
	sp_budget_init(&budget, MB);
	sp_buffer_init(&buffer, 10 * MB);
	sp_buffer_set_budget(&buffer, &budget);
	assert_non_null(sp_buffer_reserve(&buffer, 100 * KB));
	assert_int_equal(sp_budget_used(&budget), buffer.capacity);
	sp_buffer_clear(&buffer);
	assert_int_equal(sp_budget_used(&budget), buffer.capacity);
	assert_non_null(sp_buffer_reserve(&buffer, 100 * KB));
	data = sp_buffer_take(&buffer, &size);
	assert_int_equal(sp_budget_used(&budget), 0);
	sp_free(data);

	/* Where twice as much does not fit, as much as is needed. */
	assert_non_null(sp_buffer_reserve(&buffer, 800 * KB));
	assert_non_null(sp_buffer_reserve(&buffer, 90 * KB));
	assert_int_equal(buffer.capacity, 890 * KB + 1);
	assert_null(sp_buffer_reserve(&buffer, 10 * KB));
	assert_true(buffer.failed);
	sp_buffer_fini(&buffer);
	assert_int_equal(sp_budget_used(&budget), 0);
	assert_ptr_equal(buffer.budget, &budget);

	sp_alloc_fail_after(0);
	assert_null(sp_buffer_reserve(&buffer, 100 * KB));
	assert_int_equal(sp_budget_used(&budget), 0);
}

static void a_buffer_is_no_larger_than_its_maximum_needs(void **state)
{
	sp_buffer buffer;

	(void)state;
	sp_buffer_init(&buffer, 1000);
	assert_non_null(sp_buffer_reserve(&buffer, 900));
	assert_int_equal(buffer.capacity, 1001);
	assert_non_null(sp_buffer_reserve(&buffer, 100));
	assert_null(sp_buffer_reserve(&buffer, 1));
	sp_buffer_fini(&buffer);
}

static void an_arena_counts_as_one_block(void **state)
{
	sp_arena *arena = sp_arena_create(32 * KB);
	sp_arena_mark start;
	sp_budget budget;

	(void)state;
	sp_budget_init(&budget, MB);
	sp_arena_set_budget(arena, &budget);
	assert_non_null(sp_arena_alloc(arena, 20 * KB));
	start = sp_arena_here(arena);
	for (int i = 0; i < 20; i++)
		assert_non_null(sp_arena_alloc(arena, 20 * KB));
	assert_true(sp_arena_footprint(arena) > 400 * KB);
	assert_int_equal(sp_budget_used(&budget), sp_arena_footprint(arena));
	assert_null(sp_arena_alloc(arena, 600 * KB));
	sp_alloc_fail_after(0);
	assert_null(sp_arena_alloc(arena, 100 * KB));
	sp_alloc_fail_after(-1);
	assert_int_equal(sp_budget_used(&budget), sp_arena_footprint(arena));
	sp_arena_rewind(arena, start);
	assert_int_equal(sp_budget_used(&budget), sp_arena_footprint(arena));
	assert_non_null(sp_arena_alloc(arena, 600 * KB));
	sp_arena_reset(arena);
	sp_arena_destroy(arena);
	assert_int_equal(sp_budget_used(&budget), 0);
}

#define CASE(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(tiny_blocks_are_free),
		CASE(large_blocks_leave_an_eighth_to_small_ones),
		CASE(the_largest_blocks_leave_half_to_others),
		CASE(a_block_gets_less_where_more_does_not_fit),
		CASE(it_is_scarce_when_a_quarter_is_used),
		CASE(no_budget_has_no_bound),
		CASE(threads_together_stay_below_it),
		CASE(a_buffer_counts_what_it_holds),
		CASE(a_buffer_is_no_larger_than_its_maximum_needs),
		CASE(an_arena_counts_as_one_block),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
