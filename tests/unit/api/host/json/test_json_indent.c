#include "tests/support/cmocka.h"

#include "api/host/json/json_indent.h"

static void expect(const char *value, const char *text)
{
	sp_buffer out;

	sp_buffer_init(&out, 1000);
	sp_json_indent(&out, sp_bytes_of(value));
	assert_false(out.failed);
	assert_string_equal(out.data, text);
	sp_buffer_fini(&out);
}

static void members_and_elements_have_a_line_each(void **state)
{
	(void)state;
	expect("{\"a\":[1,{\"b\":\"x\",\"c\":[]},[true,-2.5e3]],\"d\":{}}", "{\n"
									    " \"a\": [\n"
									    "  1,\n"
									    "  {\n"
									    "   \"b\": \"x\",\n"
									    "   \"c\": []\n"
									    "  },\n"
									    "  [\n"
									    "   true,\n"
									    "   -2.5e3\n"
									    "  ]\n"
									    " ],\n"
									    " \"d\": {}\n"
									    "}\n");
	expect("{}", "{}\n");
	expect("1", "1\n");
}

static void strings_stay_as_they_are(void **state)
{
	(void)state;
	expect("[\"a,b:{[\",\"\\\"]}\\\\\",\"\"]", "[\n \"a,b:{[\",\n \"\\\"]}\\\\\",\n \"\"\n]\n");
}

static void what_is_cut_off_is_read_no_further(void **state)
{
	(void)state;
	expect("[\"abc", "[\n \"abc\n");
	expect("[\"abc\\", "[\n \"abc\\\n");
	expect("]}", "\n]\n}\n");
	expect("", "\n");
}

static void no_memory_is_remembered(void **state)
{
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 4);
	sp_json_indent(&out, sp_bytes_of("[1,2,3]"));
	assert_true(out.failed);
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_elements_have_a_line_each),
		cmocka_unit_test(strings_stay_as_they_are),
		cmocka_unit_test(what_is_cut_off_is_read_no_further),
		cmocka_unit_test(no_memory_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
