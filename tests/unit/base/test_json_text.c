#include "tests/support/cmocka.h"

#include "base/json_text.h"

static void assert_quoted(sp_bytes text, const char *wanted)
{
	sp_buffer json;

	sp_buffer_init(&json, 1000);
	sp_json_text_append(&json, text);
	assert_false(json.failed);
	assert_string_equal(json.data, wanted);
	sp_buffer_fini(&json);
}

static void a_text_is_quoted(void **state)
{
	(void)state;
	assert_quoted((sp_bytes){NULL, 0}, "\"\"");
	assert_quoted(sp_bytes_of("a \"b\" \\ /"), "\"a \\\"b\\\" \\\\ /\"");
	assert_quoted((sp_bytes){"\n\0\x1f\x7f", 4}, "\"\\n\\u0000\\u001f\x7f\"");
	assert_quoted(sp_bytes_of("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
}

static void what_is_no_utf8_is_replaced(void **state)
{
	(void)state;
	assert_quoted(sp_bytes_of("a\xff\xc3"), "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_quoted),
		cmocka_unit_test(what_is_no_utf8_is_replaced),
	};

	return cmocka_run_group_tests_name("json_text", tests, NULL, NULL);
}
