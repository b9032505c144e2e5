#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "engine/kernels/regex.h"

/* The limits of a pattern; what matches is shown by cases/regex.cases, which TensorFlow answered.
 */

static sp_status compile(sp_bytes pattern, sp_error *err)
{
	sp_regex *regex = NULL;
	sp_status status = sp_regex_create(&regex, pattern, err);

	sp_regex_destroy(regex);
	return status;
}

static void a_malformed_pattern_is_refused_with_the_reason(void **state)
{
	sp_error err;

	(void)state;
	assert_int_equal(compile(sp_bytes_of("(a"), &err), SP_INVALID);
	assert_non_null(strstr(err.text, "missing )"));
	assert_int_equal(compile(sp_bytes_of("a\xff"), &err), SP_INVALID);
	assert_non_null(strstr(err.text, "UTF-8"));
}

static void a_pattern_that_needs_too_much_memory_is_refused(void **state)
{
	sp_error err;

	(void)state;
	assert_int_equal(compile(sp_bytes_of("(\\pL{100}){10}"), &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "too large"));
}

static void a_pattern_that_is_too_long_is_refused(void **state)
{
	size_t size = SP_REGEX_MAX_PATTERN + 1;
	char *pattern = malloc(size);
	sp_error err;

	(void)state;
	assert_non_null(pattern);
	memset(pattern, 'a', size);
	assert_int_equal(compile((sp_bytes){pattern, size}, &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "longer than"));
	free(pattern);
}

static void an_empty_text_without_bytes_is_a_text(void **state)
{
	sp_regex *regex;
	sp_bytes group;

	(void)state;
	assert_int_equal(sp_regex_create(&regex, sp_bytes_of("a*"), NULL), SP_OK);
	assert_int_equal(sp_regex_match_whole(regex, (sp_bytes){NULL, 0}), SP_OK);
	assert_int_equal(sp_regex_search(regex, (sp_bytes){NULL, 0}, 0, &group, 1), SP_OK);
	assert_int_equal(group.size, 0);
	sp_regex_destroy(regex);
}

static void a_group_that_took_no_part_is_null(void **state)
{
	sp_bytes groups[4];
	sp_regex *regex;

	(void)state;
	assert_int_equal(sp_regex_create(&regex, sp_bytes_of("(a)|(b)"), NULL), SP_OK);
	assert_int_equal(sp_regex_group_count(regex), 2);
	assert_int_equal(sp_regex_search(regex, sp_bytes_of("ccb"), 1, groups, 4), SP_OK);
	assert_null(groups[1].data);
	assert_true(sp_bytes_equal_text(groups[2], "b"));
	assert_null(groups[3].data);
	assert_int_equal(sp_regex_search(regex, sp_bytes_of("ccb"), 3, groups, 4), SP_NOT_FOUND);
	sp_regex_destroy(regex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_malformed_pattern_is_refused_with_the_reason),
		cmocka_unit_test(a_pattern_that_needs_too_much_memory_is_refused),
		cmocka_unit_test(a_pattern_that_is_too_long_is_refused),
		cmocka_unit_test(an_empty_text_without_bytes_is_a_text),
		cmocka_unit_test(a_group_that_took_no_part_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
