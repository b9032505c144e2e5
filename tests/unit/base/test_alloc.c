#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int failing_off(void **state)
{
	(void)state;
	sp_alloc_fail_after(-1);
	return 0;
}

static void blocks_are_the_systems_own(void **state)
{
	char *text = sp_alloc_text("words");
	char *empty = sp_alloc(0);

	(void)state;
	assert_string_equal(text, "words");
	assert_non_null(empty);
	free(text);
	free(empty);
	sp_free(NULL);
}

static void zeroed_blocks_are_zero(void **state)
{
	static const char zeros[21];
	char *block = sp_alloc_zero(3, 7), *empty = sp_alloc_zero(0, 7);

	(void)state;
	assert_memory_equal(block, zeros, sizeof(zeros));
	assert_non_null(empty);
	sp_free(block);
	sp_free(empty);
}

static void blocks_apart_share_no_cache_line(void **state)
{
	static const char zeros[100];
	char *block = sp_alloc_apart(100), *other = sp_alloc_apart(1);

	(void)state;
	assert_memory_equal(block, zeros, sizeof(zeros));
	assert_int_equal((uintptr_t)block % 64, 0);
	assert_int_equal((uintptr_t)other % 64, 0);
	assert_true(other >= block + 128 || block >= other + 64);
	assert_null(sp_alloc_apart(SIZE_MAX));
	sp_free(block);
	sp_free(other);
}

static void a_block_grows_and_keeps_its_bytes(void **state)
{
	char *block = sp_alloc_resize(NULL, 1, 4);

	(void)state;
	memcpy(block, "abcd", 4);
	block = sp_alloc_resize(block, 1000, 100);
	assert_memory_equal(block, "abcd", 4);
	block = sp_alloc_resize(block, 0, 100);
	assert_non_null(block);
	sp_free(block);
}

static void a_product_that_overflows_is_refused(void **state)
{
	char *block = sp_alloc_text("kept");

	(void)state;
	assert_null(sp_alloc_zero(SIZE_MAX / 2, 3));
	assert_null(sp_alloc_resize(block, SIZE_MAX / 2, 3));
	assert_string_equal(block, "kept");
	sp_free(block);
}

static void alignment_is_as_asked(void **state)
{
	(void)state;
	for (size_t align = sizeof(void *); align <= 4096; align *= 2) {
		void *block = sp_alloc_aligned(align, 3);

		assert_non_null(block);
		assert_int_equal((uintptr_t)block % align, 0);
		sp_free(block);
	}
}

static void every_request_for_memory_is_counted(void **state)
{
	uint64_t before = sp_alloc_count();
	void *blocks[5];

	(void)state;
	blocks[0] = sp_alloc(1);
	blocks[1] = sp_alloc_zero(1, 1);
	blocks[2] = sp_alloc_resize(NULL, 1, 1);
	blocks[3] = sp_alloc_aligned(16, 1);
	blocks[4] = sp_alloc_text("");
	assert_int_equal(sp_alloc_count() - before, 5);
	for (int i = 0; i < 5; i++)
		sp_free(blocks[i]);
	assert_int_equal(sp_alloc_count() - before, 5);
}

static void after_so_many_successes_all_fail(void **state)
{
	char *block = sp_alloc_text("kept"), *last;

	(void)state;
	sp_alloc_fail_after(1);
	last = sp_alloc(1);
	assert_non_null(last);
	assert_null(sp_alloc(1));
	assert_null(sp_alloc_zero(1, 1));
	assert_null(sp_alloc_resize(block, 1, 100));
	assert_null(sp_alloc_aligned(16, 1));
	assert_null(sp_alloc_text(""));
	assert_string_equal(block, "kept");
	sp_free(last);

	sp_alloc_fail_after(0);
	assert_null(sp_alloc(1));
	sp_alloc_fail_after(-1);
	last = sp_alloc(1);
	assert_non_null(last);
	sp_free(last);
	sp_free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_the_systems_own),
		cmocka_unit_test(zeroed_blocks_are_zero),
		cmocka_unit_test(blocks_apart_share_no_cache_line),
		cmocka_unit_test(a_block_grows_and_keeps_its_bytes),
		cmocka_unit_test(a_product_that_overflows_is_refused),
		cmocka_unit_test(alignment_is_as_asked),
		cmocka_unit_test(every_request_for_memory_is_counted),
		cmocka_unit_test_teardown(after_so_many_successes_all_fail, failing_off),
	};

	return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
