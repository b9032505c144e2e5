#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/json/json_plain.h"

enum { SPACE = 64 };

static uint64_t seed = 88172645463325252u;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A text in a block of its own size, so that a memory checker sees its end. */
static void start(sp_json_reader *reader, char **copy, const char *text, size_t spaces)
{
	size_t size = strlen(text);

	*copy = malloc(size + spaces + 1);
	memcpy(*copy, text, size);
	memset(*copy + size, ' ', spaces);
	(*copy)[size + spaces] = '\0';
	sp_json_reader_init(reader, (sp_bytes){*copy, size + spaces});
}

static void lists_are_read_up_to_what_is_not_plain(void **state)
{
	static const struct {
		const char *text;
		size_t count;
		const char *rest;
	} cases[] = {
		{"1, 2,3 ]", 3, " ]"},
		{"1,-2.5, 0.125]", 3, "]"},
		{"1,  2]", 1, ",  2]"},
		{"1, 1e3, 2]", 1, ", 1e3, 2]"},
		{"1, 01]", 1, ", 01]"},
		{"1, 1.]", 1, ", 1.]"},
		{"1, .5]", 1, ", .5]"},
		{"1, -]", 1, ", -]"},
		{"1, +1]", 1, ", +1]"},
		{"1, NaN]", 1, ", NaN]"},
		{"1, \"2\"]", 1, ", \"2\"]"},
		{"1, 1.2.3]", 2, ".3]"},
		{"1, 2-3]", 2, "-3]"},
		{"1, 1234567890123456789]", 1, ", 1234567890123456789]"},
		{"1, 0.123456789012345678]", 2, "]"},
		{"[1]", 0, "[1]"},
		{"", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_json_reader reader;
		double out[8];
		char *copy;

		start(&reader, &copy, cases[i].text, SPACE);
		assert_int_equal(sp_json_plain_f64(&reader, out, 8), cases[i].count);
		assert_memory_equal(reader.at, cases[i].rest, strlen(cases[i].rest));
		free(copy);
	}
}

static void no_more_is_read_than_there_is_room_for(void **state)
{
	sp_json_reader reader;
	int32_t out[3] = {0, 0, 7};
	char *copy;

	(void)state;
	start(&reader, &copy, "1, 2, 3]", SPACE);
	assert_int_equal(sp_json_plain_i32(&reader, out, 2), 2);
	assert_int_equal(out[1], 2);
	assert_int_equal(out[2], 7);
	assert_memory_equal(reader.at, ", 3]", 4);
	free(copy);
}

static void integers_must_fit_their_type(void **state)
{
	sp_json_reader reader;
	int64_t wide[4];
	int32_t narrow[4];
	char *copy;

	(void)state;
	start(&reader, &copy, "-2147483648, 2147483647, 2147483648]", SPACE);
	assert_int_equal(sp_json_plain_i32(&reader, narrow, 4), 2);
	assert_int_equal(narrow[0], INT32_MIN);
	assert_int_equal(narrow[1], INT32_MAX);
	free(copy);
	start(&reader, &copy, "-999999999999999999, 1.0]", SPACE);
	assert_int_equal(sp_json_plain_i64(&reader, wide, 4), 1);
	assert_int_equal(wide[0], INT64_C(-999999999999999999));
	free(copy);
}

/* Whether there is nothing, one byte or much behind the number. */
static void nothing_is_read_behind_the_text(void **state)
{
	(void)state;
	for (size_t spaces = 0; spaces < SPACE; spaces++) {
		sp_json_reader reader;
		float out[4];
		char *copy;

		start(&reader, &copy, "0.5,-12345.678,0.12345678901234567", spaces);
		assert_true(sp_json_plain_f32(&reader, out, 4) <= 3);
		free(copy);
	}
}

static void draw_number(char *text)
{
	uint64_t choice = draw();
	int whole = 1 + (int)((choice >> 8 & 3) != 0 ? choice % 2 : choice % 19);
	int fraction = (int)(choice >> 16) & 15;

	if ((choice & 1) != 0)
		*text++ = '-';
	for (int i = 0; i < whole; i++)
		*text++ = (char)('0' + (whole == 1 ? draw() % 3 / 2 : 1 + draw() % 9));
	if (fraction != 0)
		*text++ = '.';
	for (int i = 0; i < fraction; i++)
		*text++ = (char)('0' + ((choice >> 40 & 3) == 0 && i < 4 ? 0 : draw() % 10));
	strcpy(text, (choice >> 60) != 0 ? "]" : "e-2]");
}

/* What is read is what strtod() and the reader of any number say. */
static void values_are_those_of_the_general_reader(void **state)
{
	(void)state;
	for (int i = 0; i < 200000; i++) {
		char text[64];
		sp_json_reader plain, any;
		sp_json_number number;
		sp_error err;
		char *copy;
		double f64;
		float f32;

		draw_number(text);
		start(&plain, &copy, text, SPACE);
		any = plain;
		assert_int_equal(sp_json_number_read(&any, &number, &err), SP_OK);
		if (sp_json_plain_f64(&plain, &f64, 1) == 1) {
			assert_ptr_equal(plain.at, any.at);
			assert_true(f64 == strtod(text, NULL));
			assert_true(f64 == sp_json_number_to_f64(&number));
			plain.at = plain.start;
			assert_int_equal(sp_json_plain_f32(&plain, &f32, 1), 1);
			assert_true(f32 == strtof(text, NULL));
		}
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read_up_to_what_is_not_plain),
		cmocka_unit_test(no_more_is_read_than_there_is_room_for),
		cmocka_unit_test(integers_must_fit_their_type),
		cmocka_unit_test(nothing_is_read_behind_the_text),
		cmocka_unit_test(values_are_those_of_the_general_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
