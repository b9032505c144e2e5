#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/model/config_text.h"

static void a_tree_as_of_the_text_format(void **state)
{
	static const char text[] = "{\"a\": [1, -2.5], \"b\":\n {\"c\": \"x\\u00e9\", \"d\": true},"
				   " \"e\": []}";
	sp_arena *arena = sp_arena_create(1 << 12);
	const sp_config_field *f;
	sp_error err;

	(void)state;
	assert_ok(sp_config_json_parse(&f, sp_bytes_of(text), arena, &err), &err);
	assert_true(sp_bytes_equal_text(f->name, "a") && sp_bytes_equal_text(f->text, "1"));
	assert_int_equal(f->kind, SP_CONFIG_NUMBER);
	f = f->next;
	assert_true(sp_bytes_equal_text(f->name, "a") && sp_bytes_equal_text(f->text, "-2.5"));
	f = f->next;
	assert_true(sp_bytes_equal_text(f->name, "b"));
	assert_int_equal(f->kind, SP_CONFIG_MESSAGE);
	assert_true(sp_bytes_equal_text(f->text, "{\"c\": \"x\\u00e9\", \"d\": true}"));
	assert_int_equal(f->line, 2);
	assert_int_equal(f->column, 2);
	assert_null(f->next);
	f = f->first;
	assert_true(sp_bytes_equal_text(f->text, "x\xc3\xa9"));
	assert_int_equal(f->next->kind, SP_CONFIG_WORD);
	assert_true(sp_bytes_equal_text(f->next->text, "true"));
	sp_arena_destroy(arena);
}

static void what_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "[]", "{", "{\"a\":null}", "{\"a\":[[1]]}", "{} x", "{\"a\":1}}", "{\"a\":01}"};
	sp_arena *arena = sp_arena_create(1 << 12);
	const sp_config_field *f;
	char deep[1000] = "";
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(sp_config_json_parse(&f, sp_bytes_of(texts[i]), arena, &err),
				 SP_INVALID);
	for (int i = 0; i < 100; i++)
		strcat(deep, "{\"a\":");
	assert_int_equal(sp_config_json_parse(&f, sp_bytes_of(deep), arena, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "nested too deeply"));
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_as_of_the_text_format),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests_name("config_json", tests, NULL, NULL);
}
