#include "tests/support/cmocka.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/json/json_reader.h"

/* The whole text must be one number. */
static sp_json_number parse(const char *text)
{
	sp_json_reader reader;
	sp_json_number number;
	sp_error err;

	sp_json_reader_init(&reader, sp_bytes_of(text));
	assert_int_equal(sp_json_peek(&reader), SP_JSON_NUMBER);
	assert_ok(sp_json_number_read(&reader, &number, &err), &err);
	assert_ptr_equal(reader.at, reader.end);
	sp_json_reader_fini(&reader);
	return number;
}

static uint64_t bits64(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint32_t bits32(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The C library's strtod() and strtof() round correctly. */
static void check(const char *text)
{
	sp_json_number number = parse(text);

	if (bits64(sp_json_number_to_f64(&number)) != bits64(strtod(text, NULL)))
		fail_msg("%s as double: %a, not %a", text, sp_json_number_to_f64(&number),
			 strtod(text, NULL));
	if (bits32(sp_json_number_to_f32(&number)) != bits32(strtof(text, NULL)))
		fail_msg("%s as float: %a, not %a", text, (double)sp_json_number_to_f32(&number),
			 (double)strtof(text, NULL));
}

static void edges_are_rounded_correctly(void **state)
{
	static const char *const texts[] = {
		"0",
		"-0",
		"0.0",
		"-0.0e5",
		"0e999999999999999999999",
		"1",
		"-1",
		"0.1",
		"0.3",
		"1435774380",
		"1435774380.0",
		"16777217",
		"16777219",
		"16777217.0000000001",
		"33554435",
		"9007199254740993",
		"9007199254740992.9999999999",
		"9007199254740993.0000000001",
		"18446744073709551615",
		"18446744073709551616",
		"18446744073709551615e19",
		"184467440737095516159",
		"1e19",
		"1e-19",
		"1e20",
		"1e-20",
		"1e22",
		"1e23",
		"8.5e-46",
		"7.006492321624085e-46",
		"1.401298464324817e-45",
		"1.1754943508222875e-38",
		"1.17549435e-38",
		"3.4028234663852886e38",
		"3.4028235677973366e38",
		"3.40282356779733e38",
		"1.7976931348623157e308",
		"1.7976931348623159e308",
		"-1.7976931348623157e308",
		"2.2250738585072014e-308",
		"4.9e-324",
		"2.4703282292062327e-324",
		"2.4703282292062328e-324",
		"1e400",
		"-1e400",
		"1e-400",
		"0.000000000000000000000000000000000000000000001",
		"123456789012345678901234567890",
		"0.1234567890123456789012345678901234567890",
		"1.00000005960464477539062499999999999999999999",
		"1.000000059604644775390625",
		"1.00000005960464477539062500000000000000000001",
		"2.50000000000000000000000000000000000000000000000000000000000000000000001",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check(texts[i]);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void random_decimals_are_rounded_correctly(void **state)
{
	uint64_t seed = 88172645463325252u;
	char text[64];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t digits = next_random(&seed) >> (next_random(&seed) % 64);
		int exponent = (int)(next_random(&seed) % 50) - 25;

		snprintf(text, sizeof(text), "%" PRIu64 "e%d", digits, exponent);
		check(text);
	}
}

/* Midpoints between two floats, and their neighbours in the 17th digit. */
static void values_halfway_between_floats_are_rounded_correctly(void **state)
{
	uint64_t seed = 1234567;
	char text[64];

	(void)state;
	for (int i = 0; i < 50000; i++) {
		uint32_t bits = (uint32_t)(next_random(&seed) % 0x30000000) + 0x28000000;
		float low, high;

		memcpy(&low, &bits, sizeof(low));
		high = nextafterf(low, INFINITY);
		snprintf(text, sizeof(text), "%.17g", ((double)low + (double)high) / 2);
		check(text);
		snprintf(text, sizeof(text), "%.19g", ((double)low + (double)high) / 2);
		check(text);
	}
}

static void a_comma_locale_changes_nothing(void **state)
{
	static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
	sp_json_number number;
	const char *set = NULL;

	(void)state;
	for (size_t i = 0; i < 4 && set == NULL; i++)
		set = setlocale(LC_ALL, names[i]);
	number = parse("0.1234567890123456789012345678901234567890");
	assert_true(fabs(sp_json_number_to_f64(&number) - 0.12345678901234568) == 0);
	setlocale(LC_ALL, "C");
	if (set == NULL)
		skip();
}

static void integers_are_exact(void **state)
{
	static const struct {
		const char *text;
		bool fits_i64, fits_u64;
		uint64_t value;
	} cases[] = {
		{"0", true, true, 0},
		{"-0", true, true, 0},
		{"9007199254740993", true, true, 9007199254740993u},
		{"9223372036854775807", true, true, INT64_MAX},
		{"9223372036854775808", false, true, UINT64_C(9223372036854775808)},
		{"-9223372036854775808", true, false, (uint64_t)INT64_MIN},
		{"-9223372036854775809", false, false, 0},
		{"18446744073709551615", false, true, UINT64_MAX},
		{"18446744073709551616", false, false, 0},
		{"99999999999999999999999999", false, false, 0},
		{"-1", true, false, (uint64_t)-1},
		{"1.0", false, false, 0},
		{"1e0", false, false, 0},
		{"NaN", false, false, 0},
		{"-Infinity", false, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_json_number number = parse(cases[i].text);
		int64_t i64;
		uint64_t u64;

		assert_int_equal(sp_json_number_to_i64(&number, &i64), cases[i].fits_i64);
		if (cases[i].fits_i64)
			assert_true(i64 == (int64_t)cases[i].value);
		assert_int_equal(sp_json_number_to_u64(&number, &u64), cases[i].fits_u64);
		if (cases[i].fits_u64)
			assert_true(u64 == cases[i].value);
	}
}

static void words_are_numbers(void **state)
{
	sp_json_number number;

	(void)state;
	number = parse("NaN");
	assert_true(isnan(sp_json_number_to_f32(&number)));
	number = parse("Infinity");
	assert_true(sp_json_number_to_f64(&number) == (double)INFINITY);
	number = parse("-Infinity");
	assert_true(sp_json_number_to_f32(&number) == -INFINITY);
	number = parse("-Inf");
	assert_true(sp_json_number_to_f64(&number) == (double)-INFINITY);
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const bad[] = {"-",  "01", "-01", "1.",    "1.e5", "1e",  "1e+",
					  "-a", "Na", "nan", "Infi.", "00",   "-.5", "0123"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sp_json_reader reader;
		sp_json_number number;
		sp_error err;
		sp_status status;

		sp_json_reader_init(&reader, sp_bytes_of(bad[i]));
		status = sp_json_number_read(&reader, &number, &err);
		if (status == SP_OK)
			assert_true(reader.at != reader.end); /* Inf, then "i." */
		else
			assert_int_equal(status, SP_CORRUPT);
		sp_json_reader_fini(&reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_are_rounded_correctly),
		cmocka_unit_test(random_decimals_are_rounded_correctly),
		cmocka_unit_test(values_halfway_between_floats_are_rounded_correctly),
		cmocka_unit_test(a_comma_locale_changes_nothing),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(words_are_numbers),
		cmocka_unit_test(what_is_no_number_is_refused),
	};

	return cmocka_run_group_tests_name("json_number", tests, NULL, NULL);
}
