#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "api/host/model/config_text.h"
#include "base/alloc.h"
#include "base/buffer.h"

static sp_arena *arena;
static sp_buffer shown;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(1 << 12);
	sp_buffer_init(&shown, 1 << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	sp_buffer_fini(&shown);
	return 0;
}

/* One line, so that a test can say what it expects: name=s"text" name=n1 name=w... name{...} */
static void show(const sp_config_field *field)
{
	static const char letters[] = {'m', 's', 'n', 'w'};

	for (; field != NULL; field = field->next) {
		sp_buffer_printf(&shown, "%.*s", (int)field->name.size, field->name.data);
		if (field->kind == SP_CONFIG_MESSAGE) {
			sp_buffer_append_text(&shown, "{");
			show(field->first);
			sp_buffer_append_text(&shown, "}");
		} else {
			sp_buffer_printf(&shown, "=%c", letters[field->kind]);
			sp_buffer_append(&shown, field->text.data, field->text.size);
			assert_int_equal(field->text.data[field->text.size] == '\0' ||
						 field->kind == SP_CONFIG_WORD,
					 1);
		}
		sp_buffer_append_text(&shown, field->next != NULL ? " " : "");
	}
}

static void assert_tree(const char *text, const char *want)
{
	const sp_config_field *first;

	assert_ok(sp_config_text_parse(&first, sp_bytes_of(text), arena, &err), &err);
	sp_buffer_clear(&shown);
	sp_buffer_append_text(&shown, "");
	show(first);
	assert_string_equal(shown.data != NULL ? shown.data : "", want);
}

static void the_language_is_read(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", ""},
		{" \n# only a comment", ""},
		{"a: 1", "a=n1"},
		{"a:1 b:2,c:3;d:4", "a=n1 b=n2 c=n3 d=n4"},
		{"a { b: 1 }", "a{b=n1}"},
		{"a: { b: 1 }", "a{b=n1}"},
		{"a < b <> >", "a{b{}}"},
		{"a: [1, 2] b: []", "a=n1 a=n2"},
		{"a [{b:1}, <c:2>]", "a{b=n1} a{c=n2}"},
		{"a: \"x\" # comment \" {\nb: 'y\"'", "a=sx b=sy\""},
		{"a: \"x\" 'y' # z\n \"z\"", "a=sxyz"},
		{"a: '\\n\\t\\\\\\'\\\"\\101\\x41\\u00e9\\U0001f600'",
		 "a=s\n\t\\'\"AA\xc3\xa9\xf0\x9f\x98\x80"},
		{"a: - 5 b: -inf c: 1e-3 d: 0x1e e: .5 f: 1.5f", "a=n-5 b=n-inf c=n1e-3 d=n0x1e "
								 "e=n.5 f=n1.5f"},
		{"a: true b: LATEST_1", "a=wtrue b=wLATEST_1"},
		{"[type.googleapis.com/a.B] { c: 1 }", "[type.googleapis.com/a.B]{c=n1}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_tree(cases[i].text, cases[i].want);
}

static void mistakes_have_a_place(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"a", "1:2: expected a colon"},
		{"a 1", "1:3: expected a colon"},
		{"a: ", "1:4: expected a value"},
		{"a: }", "1:4: expected a value"},
		{"\n\n  }", "3:3: expected the name of a field"},
		{"a {", "1:4: a brace is not closed"},
		{"a { b: 1 >", "1:10: expected the name of a field"},
		{"a: \"x", "1:6: a string is not closed"},
		{"a: \"x\ny\"", "1:6: a string is not closed on its line"},
		{"a: '\\q'", "1:7: an unknown escape"},
		{"a: '\\x'", "1:7: an escape lacks"},
		{"a: '\\ud800'", "1:11: an escape is no character"},
		{"a: '\\777'", "1:9: an octal escape"},
		{"a: '\\", "1:6: a string is not closed"},
		{"a: [1", "1:6: expected , or ]"},
		{"a: [1 2]", "1:7: expected , or ]"},
		{"a: -", "1:5: expected a number"},
		{"[", "1:2: expected a name in brackets"},
		{"1: 2", "1:1: expected the name of a field"},
	};
	const sp_config_field *first;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			sp_config_text_parse(&first, sp_bytes_of(cases[i].text), arena, &err),
			SP_INVALID);
		if (strncmp(err.text, cases[i].want, strlen(cases[i].want)) != 0)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	assert_int_equal(sp_config_text_parse(&first, (sp_bytes){"a:1\0b:2", 7}, arena, &err),
			 SP_INVALID);
}

static void depth_is_bounded(void **state)
{
	const sp_config_field *first;
	char text[1001] = "";

	(void)state;
	for (int i = 0; i < 64; i++)
		strcat(text, "a{");
	for (int i = 0; i < 64; i++)
		strcat(text, "}");
	assert_ok(sp_config_text_parse(&first, sp_bytes_of(text), arena, &err), &err);
	memset(text, 0, sizeof(text));
	for (int i = 0; i < 500; i++)
		strcat(text, "a{");
	assert_int_equal(sp_config_text_parse(&first, sp_bytes_of(text), arena, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "nested too deeply"));
}

/* --------------------------------------------------------------------- members */

typedef struct sample {
	int64_t number, wrapped;
	double real;
	bool flag;
	const char *text;
	int64_t sum;
} sample;

static sp_status add(void *out, const sp_config_field *field, sp_arena *a, sp_error *e)
{
	int64_t value;

	SP_TRY(sp_config_read_i64(&value, field, a, e));
	*(int64_t *)out += value;
	return SP_OK;
}

static sp_status read_sample(sample *out, const char *text)
{
	static const sp_config_member members[] = {
		{"number", offsetof(sample, number), sp_config_read_i64, false},
		{"wrapped", offsetof(sample, wrapped), sp_config_read_wrapped_i64, false},
		{"real", offsetof(sample, real), sp_config_read_double, false},
		{"flag", offsetof(sample, flag), sp_config_read_bool, false},
		{"text", offsetof(sample, text), sp_config_read_text, false},
		{"sum", offsetof(sample, sum), add, true},
		{"skipped", 0, sp_config_skip, false},
		{NULL, 0, NULL, false}};
	const sp_config_field *first;

	*out = (sample){0};
	SP_TRY(sp_config_text_parse(&first, sp_bytes_of(text), arena, &err));
	return sp_config_read_members(out, first, "Sample", members, arena, &err);
}

static void members_are_read(void **state)
{
	sample s;

	(void)state;
	assert_ok(read_sample(&s, "number: -0x10 wrapped { value: 9223372036854775807 } real: 1e-3f"
				  " flag: true text: 'a' 'b' sum: [1, 2] sum: 3 skipped { x: y }"),
		  &err);
	assert_int_equal(s.number, -16);
	assert_int_equal(s.wrapped, INT64_MAX);
	assert_true(s.real == 1e-3);
	assert_true(s.flag);
	assert_string_equal(s.text, "ab");
	assert_int_equal(s.sum, 6);
	assert_ok(read_sample(&s, "wrapped {} flag: 0"), &err);
}

static void wrong_members_are_named(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"other: 1", "1:8: Message type \"Sample\" has no field named \"other\""},
		{"number: 1\nnumber: 2", "2:9: number: is specified several times"},
		{"number: 9223372036854775808", "number: not a whole number"},
		{"number: 1.5", "number: not a whole number"},
		{"number: 'x'", "number: expected a whole number"},
		{"real: 1x", "real: not a number"},
		{"real: -nan", "real: not a number"},
		{"flag: 2", "flag: expected true or false"},
		{"text: 5", "text: expected a string"},
		{"text: '\\0'", "text: the string contains a NUL"},
		{"wrapped: 5", "wrapped: expected a message"},
		{"wrapped { valu: 5 }", "has no field named \"valu\""},
	};
	sample s;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_sample(&s, cases[i].text), SP_INVALID);
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static void without_memory_it_says_so(void **state)
{
	const sp_config_field *first;
	sp_arena *small = sp_arena_create(16);

	(void)state;
	sp_alloc_fail_after(0);
	assert_int_equal(sp_config_text_parse(&first, sp_bytes_of("a: 'xxxxxxxxxxxxxxxxxxxxxxx'"),
					      small, &err),
			 SP_NO_MEMORY);
	sp_alloc_fail_after(-1);
	sp_arena_destroy(small);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(the_language_is_read),    CASE(mistakes_have_a_place),
		CASE(depth_is_bounded),        CASE(members_are_read),
		CASE(wrong_members_are_named), CASE(without_memory_it_says_so),
	};

	return cmocka_run_group_tests_name("config_text", tests, NULL, NULL);
}
