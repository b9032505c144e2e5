#include "tests/support/cmocka.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/json/json_print.h"
#include "api/host/json/json_writer.h"

static void expect(sp_buffer *out, const char *text)
{
	assert_false(out->failed);
	assert_string_equal(out->data, text);
	sp_buffer_clear(out);
}

/* The texts are those of TensorFlow Serving's own tests, and of Python's repr(). */
static void floats_are_written_as_tensorflow_serving_does(void **state)
{
	static const struct {
		float value;
		const char *text;
	} cases[] = {
		{9000000, "9e+06"},
		{999999, "999999.0"},
		{.5f, "0.5"},
		{.0003f, "0.0003"},
		{.00003f, "3e-05"},
		{555557.5f, "555557.5"},
		{3, "3.0"},
		{-0.0f, "-0.0"},
		{0, "0.0"},
		{0.2f, "0.2"},
		{0.1f + 0.2f, "0.3"},
		{16777216, "16777216.0"},
		{1435774336, "1.43577434e+09"},
		{6e-7f, "6e-07"},
		{FLT_MAX, "3.40282347e+38"},
		{FLT_MIN, "1.17549435e-38"},
		{1.40129846e-45f, "1.4013e-45"},
		{NAN, "NaN"},
		{INFINITY, "Infinity"},
		{-INFINITY, "-Infinity"},
		{1.0f / 3, "0.333333343"},
	};
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 100);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_json_write_f32(&out, cases[i].value);
		expect(&out, cases[i].text);
	}
	sp_buffer_fini(&out);
}

static void write_f64(sp_buffer *out, double value)
{
	char text[SP_JSON_PRINT_BYTES];

	sp_buffer_append(out, text, (size_t)(sp_json_print_f64(text, value) - text));
}

static void doubles_read_back_as_they_were(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{0.1, "0.1"},
		{1.0 / 3, "0.33333333333333331"},
		{9007199254740993.0, "9007199254740992.0"},
		{DBL_MAX, "1.7976931348623157e+308"},
		{5e-324, "4.94066e-324"},
		{-INFINITY, "-Infinity"},
		{2, "2.0"},
	};
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 100);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_f64(&out, cases[i].value);
		expect(&out, cases[i].text);
	}
	sp_buffer_fini(&out);
}

/* The rule in the words of the C library. */
static void expect_as_printf(sp_buffer *out, double value, bool narrow)
{
	char want[64];
	double back;

	snprintf(want, sizeof(want), "%.6g", value);
	back = narrow ? (double)strtof(want, NULL) : strtod(want, NULL);
	if (back != value)
		snprintf(want, sizeof(want), narrow ? "%.9g" : "%.17g", value);
	if (strpbrk(want, ".e") == NULL)
		strcat(want, ".0");
	if (narrow)
		sp_json_write_f32(out, (float)value);
	else
		write_f64(out, value);
	expect(out, want);
}

static void values_of_all_sizes_follow_the_rule(void **state)
{
	uint64_t seed = 88172645463325252u;
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 100);
	for (int i = 0; i < 200000; i++) {
		int exponent = i % 160 - 100, digits = i % 9;
		double value;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		value = ldexp((double)(seed >> 11), exponent - 53);
		if (i % 2)
			value = -round(value * pow(10, digits)) / pow(10, digits);
		expect_as_printf(&out, value, false);
		expect_as_printf(&out, (double)(float)value, true);
	}
	sp_buffer_fini(&out);
}

static void integers_are_exact(void **state)
{
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 100);
	sp_json_write_i64(&out, INT64_MIN);
	expect(&out, "-9223372036854775808");
	sp_json_write_i64(&out, INT64_MAX);
	expect(&out, "9223372036854775807");
	sp_json_write_u64(&out, UINT64_MAX);
	expect(&out, "18446744073709551615");
	sp_json_write_i64(&out, 0);
	expect(&out, "0");
	sp_buffer_fini(&out);
}

static void strings_are_escaped(void **state)
{
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 1000);
	sp_json_text_append(&out, sp_bytes_of("say \"hi\" \\ / \xc3\xa4"));
	expect(&out, "\"say \\\"hi\\\" \\\\ / \xc3\xa4\"");
	sp_json_text_append(&out, (sp_bytes){"\0\b\t\n\v\f\r\x1f\x7f", 9});
	expect(&out, "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\"");
	sp_json_text_append(&out, sp_bytes_of("a\xff\xc3"));
	expect(&out, "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
	sp_json_text_append(&out, (sp_bytes){NULL, 0});
	expect(&out, "\"\"");
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floats_are_written_as_tensorflow_serving_does),
		cmocka_unit_test(doubles_read_back_as_they_were),
		cmocka_unit_test(values_of_all_sizes_follow_the_rule),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(strings_are_escaped),
	};

	return cmocka_run_group_tests_name("json_writer", tests, NULL, NULL);
}
