#include "tests/support/cmocka.h"

#include <math.h>

#include "engine/tensor/dtype.h"

/* The value of a binary16, from its definition (IEEE 754-2008, 3.4). */
static double half_value(uint16_t half)
{
	int exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
	double magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
			   : exponent == 0 ? ldexp(fraction, -24)
					   : ldexp(1024 + fraction, exponent - 25);

	return half & 0x8000 ? -magnitude : magnitude;
}

static void every_half_is_read_by_the_definition(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 0x10000; h++) {
		double want = half_value((uint16_t)h), got = sp_half_to_float((uint16_t)h);

		assert_true(isnan(want) ? isnan(got)
					: got == want && signbit(got) == signbit(want));
	}
}

static void every_half_comes_back_from_float(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 0x10000; h++) {
		float value = sp_half_to_float((uint16_t)h);

		if (isnan(value))
			assert_true(isnan(sp_half_to_float(sp_half_from_float(value))));
		else
			assert_int_equal(sp_half_from_float(value), h);
	}
}

/* The middle between two neighbours goes to the even one, anything else to the nearer. */
static void floats_round_to_the_nearest_half(void **state)
{
	(void)state;
	for (uint16_t h = 0; h < 0x7bff; h++) {
		double low = half_value(h), high = half_value((uint16_t)(h + 1));
		float middle = (float)((low + high) / 2);
		uint16_t even = h & 1 ? (uint16_t)(h + 1) : h;

		assert_int_equal(sp_half_from_float(middle), even);
		assert_int_equal(sp_half_from_float(nextafterf(middle, 0)), h);
		assert_int_equal(sp_half_from_float(nextafterf(middle, INFINITY)), h + 1);
	}
	assert_int_equal(sp_half_from_float(65519.996f), 0x7bff);
	assert_int_equal(sp_half_from_float(65520.0f), 0x7c00);
	assert_int_equal(sp_half_from_float(-INFINITY), 0xfc00);
}

static void bfloat16_is_the_upper_half_of_a_float(void **state)
{
	(void)state;
	for (uint32_t b = 0; b < 0x7f7f; b++) {
		float low = sp_bfloat16_to_float((uint16_t)b);
		float middle = (float)(((double)low + sp_bfloat16_to_float((uint16_t)(b + 1))) / 2);
		uint32_t even = b & 1 ? b + 1 : b;

		assert_int_equal(sp_bfloat16_from_float(low), b);
		if (b >= 0x80) /* below, the middle is not a float exactly */
			assert_int_equal(sp_bfloat16_from_float(middle), even);
	}
	assert_int_equal(sp_bfloat16_from_float(INFINITY), 0x7f80);
	assert_true(isnan(sp_bfloat16_to_float(sp_bfloat16_from_float(NAN))));
}

static void names_and_sizes_of_strange_numbers_are_safe(void **state)
{
	(void)state;
	assert_string_equal(sp_dtype_name((sp_dtype)-5), "DT_INVALID");
	assert_string_equal(sp_dtype_name((sp_dtype)1000), "DT_INVALID");
	assert_int_equal(sp_dtype_size((sp_dtype)1000), 0);
	assert_string_equal(sp_dtype_name(SP_INT64), "DT_INT64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_half_is_read_by_the_definition),
		cmocka_unit_test(every_half_comes_back_from_float),
		cmocka_unit_test(floats_round_to_the_nearest_half),
		cmocka_unit_test(bfloat16_is_the_upper_half_of_a_float),
		cmocka_unit_test(names_and_sizes_of_strange_numbers_are_safe),
	};

	return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
