#include "tests/support/cmocka.h"

#include <string.h>

#include "base/name_list.h"

static void names_are_quoted(void **state)
{
	sp_name_list list = {0};

	(void)state;
	assert_string_equal(sp_name_list_text(&list), "none");
	sp_name_list_add(&list, "x");
	assert_string_equal(sp_name_list_text(&list), "'x'");
	sp_name_list_add(&list, "");
	sp_name_list_add(&list, "user id");
	assert_string_equal(sp_name_list_text(&list), "'x', '', 'user id'");
}

/* Names of 94 characters with what stands around them: five fit, and part of the sixth. */
static void a_long_list_is_cut(void **state)
{
	sp_name_list list = {0};
	char name[95];
	const char *text;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 100; i++)
		sp_name_list_add(&list, name);
	text = sp_name_list_text(&list);
	assert_int_equal(strlen(text), sizeof(list.text) - 1);
	assert_string_equal(text + strlen(text) - 6, "nn ...");
	assert_string_equal(sp_name_list_text(&list), text);
}

/* A text of exactly what there is room for is whole; with one more it is not. */
static void a_list_may_fill_the_text(void **state)
{
	sp_name_list whole = {0}, longer = {0};
	char name[sizeof(whole.text)];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 3] = '\0';
	sp_name_list_add(&whole, name);
	name[sizeof(name) - 3] = 'n';
	name[sizeof(name) - 2] = '\0';
	sp_name_list_add(&longer, name);
	assert_int_equal(strlen(sp_name_list_text(&whole)), sizeof(whole.text) - 1);
	assert_null(strstr(sp_name_list_text(&whole), "..."));
	assert_non_null(strstr(sp_name_list_text(&longer), "n ..."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_quoted),
		cmocka_unit_test(a_long_list_is_cut),
		cmocka_unit_test(a_list_may_fill_the_text),
	};
	return cmocka_run_group_tests_name("name_list", tests, NULL, NULL);
}
