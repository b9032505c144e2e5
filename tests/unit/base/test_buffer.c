#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"

static int failing_off(void **state)
{
	(void)state;
	sp_alloc_fail_after(-1);
	return 0;
}

static void bytes_come_out_as_they_went_in(void **state)
{
	sp_buffer buffer;
	char *data;
	size_t size;

	(void)state;
	sp_buffer_init(&buffer, 1000);
	sp_buffer_append(&buffer, "a\0b", 3);
	sp_buffer_append(&buffer, NULL, 0);
	sp_buffer_append_text(&buffer, "text");
	sp_buffer_append_char(&buffer, '\n');
	sp_buffer_printf(&buffer, "%d-%s", 42, "x");
	memcpy(sp_buffer_reserve(&buffer, 2), "yz", 2);
	assert_false(buffer.failed);
	assert_int_equal(buffer.size, 14);
	assert_memory_equal(buffer.data, "a\0btext\n42-xyz", 15);

	data = sp_buffer_take(&buffer, &size);
	assert_int_equal(size, 14);
	assert_memory_equal(data, "a\0btext\n42-xyz", 15);
	assert_null(buffer.data);
	assert_int_equal(buffer.size, 0);
	sp_free(data);
}

static void taking_from_an_empty_buffer_gives_a_block(void **state)
{
	sp_buffer buffer;
	char *data;
	size_t size = 7;

	(void)state;
	sp_buffer_init(&buffer, 0);
	data = sp_buffer_take(&buffer, &size);
	assert_string_equal(data, "");
	assert_int_equal(size, 0);
	sp_free(data);
}

static void it_grows_far_beyond_its_first_block(void **state)
{
	sp_buffer buffer;

	(void)state;
	sp_buffer_init(&buffer, SIZE_MAX);
	for (int i = 0; i < 10000; i++)
		sp_buffer_printf(&buffer, "%05d,", i);
	assert_false(buffer.failed);
	assert_int_equal(buffer.size, 60000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(strtol(buffer.data + 6 * i, NULL, 10), i);
	sp_buffer_fini(&buffer);
}

static void the_maximum_can_be_filled_but_not_passed(void **state)
{
	sp_buffer buffer;

	(void)state;
	sp_buffer_init(&buffer, 8);
	sp_buffer_append(&buffer, "12345678", 8);
	assert_false(buffer.failed);
	assert_string_equal(buffer.data, "12345678");
	sp_buffer_append(&buffer, "", 0);
	assert_false(buffer.failed);
	sp_buffer_append_char(&buffer, '9');
	assert_true(buffer.failed);
	assert_int_equal(buffer.size, 8);
	sp_buffer_fini(&buffer);
}

static void a_failure_sticks_until_cleared(void **state)
{
	sp_buffer buffer;
	size_t size;

	(void)state;
	sp_buffer_init(&buffer, 8);
	sp_buffer_append_text(&buffer, "abc");
	sp_buffer_printf(&buffer, "%s", "123456");
	assert_true(buffer.failed);
	sp_buffer_append_char(&buffer, 'd');
	sp_buffer_printf(&buffer, "%s", "");
	assert_null(sp_buffer_reserve(&buffer, 0));
	assert_null(sp_buffer_take(&buffer, &size));
	assert_int_equal(buffer.size, 3);

	sp_buffer_clear(&buffer);
	assert_false(buffer.failed);
	assert_string_equal(buffer.data, "");
	sp_buffer_append_text(&buffer, "again");
	assert_string_equal(buffer.data, "again");
	sp_buffer_fini(&buffer);
	assert_null(buffer.data);
	assert_int_equal(buffer.max_size, 8);
}

static void a_size_that_overflows_is_refused(void **state)
{
	sp_buffer buffer;

	(void)state;
	sp_buffer_init(&buffer, SIZE_MAX);
	assert_null(sp_buffer_reserve(&buffer, SIZE_MAX));
	assert_true(buffer.failed);
	sp_buffer_clear(&buffer);
	sp_buffer_append_text(&buffer, "abc");
	assert_null(sp_buffer_reserve(&buffer, SIZE_MAX - 3));
	assert_true(buffer.failed);
	assert_string_equal(buffer.data, "abc");
	sp_buffer_fini(&buffer);
}

static void out_of_memory_is_a_failure_that_keeps_the_bytes(void **state)
{
	sp_buffer buffer;
	char block[100] = {0};

	(void)state;
	sp_buffer_init(&buffer, 1000);
	sp_buffer_append_text(&buffer, "abc");
	sp_alloc_fail_after(0);
	sp_buffer_append(&buffer, block, sizeof(block));
	assert_true(buffer.failed);
	assert_string_equal(buffer.data, "abc");
	sp_alloc_fail_after(-1);
	sp_buffer_fini(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_as_they_went_in),
		cmocka_unit_test(taking_from_an_empty_buffer_gives_a_block),
		cmocka_unit_test(it_grows_far_beyond_its_first_block),
		cmocka_unit_test(the_maximum_can_be_filled_but_not_passed),
		cmocka_unit_test(a_failure_sticks_until_cleared),
		cmocka_unit_test(a_size_that_overflows_is_refused),
		cmocka_unit_test_teardown(out_of_memory_is_a_failure_that_keeps_the_bytes,
					  failing_off),
	};

	return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
