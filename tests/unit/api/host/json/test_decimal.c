#include "tests/support/cmocka.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/host/json/decimal.h"

/* False when the value is out of reach; what is not must equal printf(). */
static bool check(double value, int count)
{
	char got[32], want[64];
	sp_decimal decimal;
	int length;

	if (!sp_decimal_of(&decimal, value, count))
		return false;
	length = sp_decimal_print(got, true, decimal, count);
	assert_int_equal(length, strlen(got));
	snprintf(want, sizeof(want), "-%.*g", count, value);
	assert_string_equal(got, want);
	return true;
}

static void edges_are_as_printf_has_them(void **state)
{
	static const double values[] = {1,
					0.5,
					0.1,
					0.25,
					0.2,
					9.5,
					9.9999995,
					9.99999949,
					999999.5,
					99999.95,
					0.00012345,
					1e-4,
					9.99999e-5,
					0.001953125,
					123456,
					1234567,
					100000,
					120000,
					3,
					1.0 / 3,
					2.0 / 3,
					1e5,
					5e-5,
					0.5000005,
					2.5e-5,
					1000000.5,
					8388608.5,
					16777215,
					0.30000001192092896,
					0.9999999};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		for (int count = 1; count <= SP_DECIMAL_MAX_DIGITS; count++)
			check(values[i], count);
	assert_true(check(0.1, 6) && check(1.0 / 3, 9) && check(1.0 / 3, 17));
}

static void random_values_are_as_printf_has_them(void **state)
{
	uint64_t seed = 88172645463325252u;
	int covered = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t bits;
		double value;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		bits = (seed >> 12) | (1023 - 16 + seed % 40) << 52;
		memcpy(&value, &bits, sizeof(value));
		covered += check((double)(float)value, 6) && check((double)(float)value, 9);
		check(value, 17);
	}
	assert_true(covered > 50000);
}

static void what_is_too_far_from_one_is_left_to_printf(void **state)
{
	(void)state;
	assert_false(check(DBL_MAX, 6));
	assert_false(check(DBL_MIN, 6));
	assert_false(check(5e-324, 17));
	assert_false(check(1e-20, 6));
	assert_false(check(1e9, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_are_as_printf_has_them),
		cmocka_unit_test(random_values_are_as_printf_has_them),
		cmocka_unit_test(what_is_too_far_from_one_is_left_to_printf),
	};

	return cmocka_run_group_tests_name("decimal", tests, NULL, NULL);
}
