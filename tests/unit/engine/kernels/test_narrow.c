#include "tests/support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernels/narrow.h"

/* Arrays against the functions for one number, which test_dtype.c holds to their definition. */
enum { ALL = 1 << 16, LONGEST = 100 };

static uint16_t cells[ALL], back[ALL];
static float floats[ALL];

/* Every kind of float: of each exponent some, and what lies around the edges of half. */
static void fill_floats(void)
{
	for (size_t i = 0; i < ALL; i++)
		floats[i] = sp_float_from_bits((uint32_t)i << 16 | (uint32_t)(rand() & 0xffff));
	for (uint32_t i = 0; i < 64; i++) {
		floats[i] = sp_float_from_bits((113u << 23) - 32 + i);      /* 2^-14 */
		floats[64 + i] = sp_float_from_bits((102u << 23) - 32 + i); /* 2^-25 */
		floats[128 + i] = sp_float_from_bits(0x477ff000u - 32 + i); /* 65520 */
	}
}

static void every_number_is_widened(void **state)
{
	(void)state;
	for (size_t i = 0; i < ALL; i++)
		cells[i] = (uint16_t)i;
	sp_widen_half(cells, floats, ALL);
	for (size_t i = 0; i < ALL; i++) {
		float want = sp_half_to_float((uint16_t)i);

		assert_true(isnan(want) ? isnan(floats[i])
					: sp_float_bits(floats[i]) == sp_float_bits(want));
	}
	sp_widen_bfloat16(cells, floats, ALL);
	for (size_t i = 0; i < ALL; i++)
		assert_int_equal(sp_float_bits(floats[i]), (uint32_t)i << 16);
}

static void check_narrowing(sp_narrow_fn *narrow, uint16_t one(float), float widened(uint16_t))
{
	fill_floats();
	narrow(floats, back, ALL);
	for (size_t i = 0; i < ALL; i++)
		if (isnan(floats[i]))
			assert_true(isnan(widened(back[i])));
		else
			assert_int_equal(back[i], one(floats[i]));
}

static void floats_are_narrowed_as_one_by_one(void **state)
{
	(void)state;
	check_narrowing(sp_narrow_half, sp_half_from_float, sp_half_to_float);
	check_narrowing(sp_narrow_bfloat16, sp_bfloat16_from_float, sp_bfloat16_to_float);
}

static void nothing_behind_the_last_is_touched(void **state)
{
	static sp_narrow_fn *const narrow[] = {sp_narrow_half, sp_narrow_bfloat16};
	static sp_widen_fn *const widen[] = {sp_widen_half, sp_widen_bfloat16};

	(void)state;
	for (size_t n = 0; n < LONGEST; n++) {
		for (size_t f = 0; f < 2; f++) {
			back[n] = 0x1234;
			narrow[f](floats, back, n);
			assert_int_equal(back[n], 0x1234);
		}
		for (size_t f = 0; f < 2; f++) {
			floats[n] = 42;
			widen[f](cells, floats, n);
			assert_true(floats[n] == 42);
		}
	}
}

static void other_types_have_none(void **state)
{
	(void)state;
	assert_true(sp_widen_find(SP_HALF) == sp_widen_half);
	assert_true(sp_narrow_find(SP_BFLOAT16) == sp_narrow_bfloat16);
	assert_null(sp_widen_find(SP_FLOAT));
	assert_null(sp_narrow_find(SP_DOUBLE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_is_widened),
		cmocka_unit_test(floats_are_narrowed_as_one_by_one),
		cmocka_unit_test(nothing_behind_the_last_is_touched),
		cmocka_unit_test(other_types_have_none),
	};

	return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
