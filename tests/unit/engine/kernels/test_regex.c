#include "tests/support/cmocka.h"

#include <string.h>

#include "base/arena.h"
#include "engine/kernels/regex.h"

/* What the cases of RegexReplace, which TensorFlow answered, cannot show: our own limits. */

static void *take(void *arena, size_t count, size_t size)
{
	return sp_arena_array(arena, count, size);
}

static sp_status compile(sp_bytes pattern, sp_error *err)
{
	sp_arena *arena = sp_arena_create(1 << 14);
	sp_regex_memory memory = {take, arena};
	sp_status status;
	sp_regex *regex;

	assert_non_null(arena);
	status = sp_regex_compile(&regex, &memory, pattern, err);
	sp_arena_destroy(arena);
	return status;
}

/* `count` copies of a text one behind the other, between brackets. */
static sp_status compile_class_of(const char *item, size_t count, sp_error *err)
{
	static char pattern[1 << 20];
	size_t n = strlen(item), size = 0;

	pattern[size++] = '[';
	for (size_t i = 0; i < count; i++, size += n)
		memcpy(pattern + size, item, n);
	pattern[size++] = ']';
	return compile((sp_bytes){pattern, size}, err);
}

static void unicode_classes_are_bounded(void **state)
{
	sp_error err;

	(void)state;
	assert_int_equal(compile_class_of("\\pL", 90, &err), SP_OK);
	assert_int_equal(compile_class_of("\\pL", 110, &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "too many Unicode classes"));
}

static void folding_of_unicode_classes_is_refused_by_name(void **state)
{
	static const char pattern[] = "(?i)\\p{Lu}";
	sp_error err;

	(void)state;
	assert_int_equal(compile((sp_bytes){pattern, strlen(pattern)}, &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "Unicode classes under (?i)"));
}

/* Sorting by insertion would take minutes. */
static void a_class_of_very_many_ranges_is_sorted_in_time(void **state)
{
	sp_error err;

	(void)state;
	assert_int_equal(compile_class_of("\xe2\x82\xac\xc3\xa9zka", 100000, &err), SP_OK);
}

static void every_class_of_a_repetition_counts(void **state)
{
	static const char pattern[] = "(?:\\pL\\pN?){1000}", more[] = "(?:\\pL{900}){3}";
	sp_error err;

	(void)state;
	assert_int_equal(compile((sp_bytes){pattern, strlen(pattern)}, &err), SP_UNSUPPORTED);
	assert_int_equal(compile((sp_bytes){more, strlen(more)}, &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "steps"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unicode_classes_are_bounded),
		cmocka_unit_test(folding_of_unicode_classes_is_refused_by_name),
		cmocka_unit_test(a_class_of_very_many_ranges_is_sorted_in_time),
		cmocka_unit_test(every_class_of_a_repetition_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
