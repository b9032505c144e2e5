#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "api/host/json/json_reader.h"

static sp_status skip_text(sp_bytes text, sp_error *err)
{
	sp_json_reader reader;
	sp_status status;

	sp_json_reader_init(&reader, text);
	status = sp_json_skip(&reader, err);
	if (status == SP_OK && sp_json_peek(&reader) == SP_JSON_NONE && reader.at != reader.end)
		status = sp_json_fail(&reader, "more", err);
	sp_json_reader_fini(&reader);
	return status;
}

static void good_documents_are_passed_over(void **state)
{
	static const char *const good[] = {
		"{}",
		"[]",
		" [ ] ",
		"\xef\xbb\xbf[1]",
		"null",
		"-1.5e+10",
		"\"\"",
		"[1,2,[3,[4,{\"a\":[]}]],{}]",
		"{\"a\":1,\"b\":{\"c\":[true,false,null]},\"d\":\"\\u0041\"}",
		"{ \"a\" : NaN , \"a\" : [ -Infinity ] }",
		"\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\ud83d\\ude00\"",
	};
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_ok(skip_text(sp_bytes_of(good[i]), &err), &err);
}

static void bad_documents_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"", "Invalid value. at offset: 0"},
		{"instances = [1, 2]", "Invalid value. at offset: 0"},
		{"{", "Missing a name for object member. at offset: 1"},
		{"{1:2}", "Missing a name"},
		{"{\"a\"}", "Missing a colon"},
		{"{\"a\":}", "Invalid value. at offset: 5"},
		{"{\"a\":1,}", "Missing a name"},
		{"{\"a\":1 \"b\":2}", "Missing a comma or }"},
		{"[1 2]", "Missing a comma or ]"},
		{"[1,]", "Invalid value. at offset: 3"},
		{"[", "Invalid value"},
		{"[1}", "Missing a comma or ]"},
		{"{\"a\":[1}]", "Missing a comma or ]"},
		{"[truex]", "Missing a comma or ]"},
		{"[truth]", "Invalid value"},
		{"[trie]", "Invalid value"},
		{"\"abc", "Missing a closing quotation mark"},
		{"\"a\tb\"", "Invalid control character"},
		{"\"\\x\"", "Invalid escape character"},
		{"\"\\", "Invalid escape character"},
		{"\"\\u12g4\"", "Incorrect hex digit"},
		{"\"\\u12", "Incorrect hex digit"},
		{"\"\\ud83d\"", "surrogate pair"},
		{"\"\\ude00\"", "surrogate pair"},
		{"\"\\ud83d\\u0041\"", "surrogate pair"},
		{"\"\\ud83d\\ud83d\"", "surrogate pair"},
		{"\"\xff\"", "Invalid encoding"},
		{"\"\xc0\x80\"", "Invalid encoding"},
		{"\"\xed\xa0\x80\"", "Invalid encoding"},
		{"\"\xf4\x90\x80\x80\"", "Invalid encoding"},
		{"\"\xe2\x82\"", "Invalid encoding"},
		{"[01]", "Invalid value"},
		{"[1.]", "Miss fraction part"},
		{"[1e]", "Miss exponent"},
		{"[.5]", "Invalid value"},
		{"[+1]", "Invalid value"},
		{"// no\n1", "Invalid value"},
	};
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(skip_text(sp_bytes_of(bad[i].text), &err), SP_CORRUPT);
		if (strstr(err.text, bad[i].error) == NULL ||
		    strncmp(err.text, "JSON Parse error: ", 18) != 0)
			fail_msg("%s: %s", bad[i].text, err.text);
	}
}

static void a_nul_byte_ends_nothing(void **state)
{
	sp_error err;

	(void)state;
	assert_int_equal(skip_text((sp_bytes){"[1\0]", 4}, &err), SP_CORRUPT);
	assert_int_equal(skip_text((sp_bytes){"\"a\0b\"", 5}, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "control character"));
	assert_int_equal(skip_text((sp_bytes){"{\"a\0b\":1}", 9}, &err), SP_CORRUPT);
}

static void half_a_million_brackets_are_passed_over(void **state)
{
	enum { DEPTH = 500000 };
	char *text = malloc(6 * DEPTH + 1);
	sp_error err;

	(void)state;
	memset(text, '[', DEPTH);
	memset(text + DEPTH, ']', DEPTH);
	text[2 * DEPTH] = '\0';
	assert_ok(skip_text((sp_bytes){text, 2 * DEPTH}, &err), &err);
	text[2 * DEPTH - 1] = '}';
	assert_int_equal(skip_text((sp_bytes){text, 2 * DEPTH}, &err), SP_CORRUPT);

	for (size_t i = 0; i < DEPTH; i++)
		memcpy(text + 5 * i, "{\"a\":", 5);
	text[5 * DEPTH] = '1';
	memset(text + 5 * DEPTH + 1, '}', DEPTH - 1);
	text[6 * DEPTH] = '\0';
	assert_int_equal(skip_text((sp_bytes){text, 6 * DEPTH}, &err), SP_CORRUPT);
	text[5 * DEPTH - 1] = '1'; /* now "...":1 without a colon */
	assert_int_equal(skip_text((sp_bytes){text, 6 * DEPTH}, &err), SP_CORRUPT);
	free(text);
}

static void strings_are_decoded(void **state)
{
	static const struct {
		const char *text, *value;
		size_t size;
	} cases[] = {
		{"\"plain\"", "plain", 5},
		{"\"\"", "", 0},
		{"\"a\\u0000b\"", "a\0b", 3},
		{"\"\\u00e4\\u20ac\\ud83d\\ude00\"", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
		{"\"x\\uD834\\uDD1Ey\"", "x\xf0\x9d\x84\x9ey", 6},
		{"\"\xf0\x9f\x98\x80\\n\"", "\xf0\x9f\x98\x80\n", 5},
	};
	sp_arena *arena = sp_arena_create(256);
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_json_reader reader;
		sp_bytes value;

		sp_json_reader_init(&reader, sp_bytes_of(cases[i].text));
		assert_int_equal(sp_json_peek(&reader), SP_JSON_STRING);
		assert_ok(sp_json_string(&reader, &value, arena, &err), &err);
		assert_true(sp_bytes_equal(value, (sp_bytes){cases[i].value, cases[i].size}));
		sp_json_reader_fini(&reader);
	}
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_documents_are_passed_over),
		cmocka_unit_test(bad_documents_are_refused_with_their_place),
		cmocka_unit_test(a_nul_byte_ends_nothing),
		cmocka_unit_test(half_a_million_brackets_are_passed_over),
		cmocka_unit_test(strings_are_decoded),
	};

	return cmocka_run_group_tests_name("json_reader", tests, NULL, NULL);
}
