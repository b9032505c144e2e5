#include "tests/support/cmocka.h"

#include "base/bytes.h"

static const sp_bytes nothing = {NULL, 0};

static void equal_means_every_byte(void **state)
{
	(void)state;
	assert_true(sp_bytes_equal(sp_bytes_of("abc"), (sp_bytes){"abcd", 3}));
	assert_false(sp_bytes_equal(sp_bytes_of("abc"), sp_bytes_of("abd")));
	assert_false(sp_bytes_equal(sp_bytes_of("abc"), sp_bytes_of("ab")));
	assert_false(sp_bytes_equal((sp_bytes){"a\0b", 3}, (sp_bytes){"a\0c", 3}));
	assert_true(sp_bytes_equal(nothing, sp_bytes_of("")));
	assert_true(sp_bytes_equal_text(nothing, ""));
	assert_false(sp_bytes_equal_text((sp_bytes){"a\0", 2}, "a"));
}

static void beginnings_and_ends(void **state)
{
	(void)state;
	assert_true(sp_bytes_starts_with(sp_bytes_of("model.ckpt-1"), "model."));
	assert_true(sp_bytes_starts_with(sp_bytes_of("abc"), "abc"));
	assert_false(sp_bytes_starts_with((sp_bytes){"abc", 2}, "abc"));
	assert_false(sp_bytes_starts_with(sp_bytes_of("xabc"), "abc"));
	assert_true(sp_bytes_ends_with(sp_bytes_of("a.index"), ".index"));
	assert_true(sp_bytes_ends_with((sp_bytes){"abc.index", 3}, "bc"));
	assert_false(sp_bytes_ends_with(sp_bytes_of("index"), ".index"));
	assert_false(sp_bytes_ends_with(sp_bytes_of("a.indexx"), ".index"));
}

static void everything_begins_and_ends_with_nothing(void **state)
{
	(void)state;
	assert_true(sp_bytes_starts_with(nothing, ""));
	assert_true(sp_bytes_ends_with(nothing, ""));
	assert_true(sp_bytes_starts_with(sp_bytes_of("a"), ""));
	assert_true(sp_bytes_ends_with(sp_bytes_of("a"), ""));
	assert_false(sp_bytes_starts_with(nothing, "a"));
	assert_false(sp_bytes_ends_with(nothing, "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_means_every_byte),
		cmocka_unit_test(beginnings_and_ends),
		cmocka_unit_test(everything_begins_and_ends_with_nothing),
	};

	return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
