#include "tests/support/cmocka.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "storage/format/row_format.h"
#include "storage/format/row_format_internal.h"

/*
 * Formats are held to their definition in double, and every instruction set to
 * the bits of the scalar one.
 */
enum { MAX_DIM = 70, GUARD = 8 };

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

typedef struct variant {
	const char *name;
	sp_isa isa;
	const sp_row_codec *codecs;
} variant;

static const variant variants[] = {
	{"scalar", SP_ISA_SCALAR, sp_row__codecs_scalar},
#if defined(__x86_64__)
	{"avx2", SP_ISA_AVX2, sp_row__codecs_avx2},
	{"avx512", SP_ISA_AVX512, sp_row__codecs_avx512},
#endif
};

enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

/* The number nearest to x with `digits` binary digits and no exponent below `least`. */
static double nearest(double x, int digits, int least)
{
	int exponent;

	if (x == 0.0 || !isfinite(x))
		return x;
	frexp(x, &exponent);
	exponent -= digits;
	if (exponent < least)
		exponent = least;
	return ldexp(rint(ldexp(x, -exponent)), exponent);
}

static double as_fp16(float x)
{
	double y = nearest(x, 11, -24);

	return fabs(y) > 65504.0 ? copysign(INFINITY, y) : y;
}

/* float32's range: only the rounding to 8 digits can overflow. */
static double as_bf16(float x)
{
	double y = nearest(x, 8, -133);

	return fabs(y) >= ldexp(1.0, 128) ? copysign(INFINITY, y) : y;
}

static bool same(double want, float got)
{
	if (isnan(want))
		return isnan(got);
	return want == got && !signbit(want) == !signbit(got);
}

/* Any bits at all, ordinary weights, and what lies near the ends of fp16. */
static float draw(int kind)
{
	uint32_t bits = (uint32_t)next_random();
	float x;

	if (kind == 0) {
		memcpy(&x, &bits, sizeof(x));
		return x;
	}
	if (kind == 1)
		return ((float)(bits % 2000001) - 1e6f) * 1e-6f;
	return (float)ldexp((double)bits, -32 + (int)(next_random() % 44) - 28);
}

static void halves_are_the_nearest_there_are(void **state)
{
	const float corners[] = {0.0f,         -0.0f,      1.0f,        65504.0f,  65519.99f,
				 65520.0f,     65536.0f,   -1e30f,      0x1p-24f,  0x1p-25f,
				 0x1.8p-25f,   0x1p-14f,   INFINITY,    -INFINITY, NAN,
				 0x1.fffp-15f, 0x1.ffep0f, 0x1.ffffp0f, 3e38f,     0x1p-133f,
				 0x1p-149f,    1e-40f};
	size_t corner_count = sizeof(corners) / sizeof(corners[0]);

	(void)state;
	for (size_t i = 0; i < 300000; i++) {
		float x = i < corner_count ? corners[i] : draw((int)(i % 3)), back;
		uint16_t half;

		sp_row__codecs_scalar[SP_ROW_FP16].encode(1, &x, &half);
		sp_row__codecs_scalar[SP_ROW_FP16].decode(1, &half, &back);
		assert_true(same(as_fp16(x), back));
		sp_row__codecs_scalar[SP_ROW_BF16].encode(1, &x, &half);
		sp_row__codecs_scalar[SP_ROW_BF16].decode(1, &half, &back);
		assert_true(same(as_bf16(x), back));
	}
}

/* Every half there is, from its fields. */
static void halves_decode_exactly(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 65536; h++) {
		uint16_t half = (uint16_t)h;
		int exponent = half >> 10 & 31;
		double fraction = half & 1023, want;
		float got;

		if (exponent == 31)
			want = fraction == 0 ? INFINITY : NAN;
		else
			want = exponent == 0 ? ldexp(fraction, -24)
					     : ldexp(fraction + 1024, exponent - 25);
		if (half & 0x8000)
			want = -want;
		sp_row__codecs_scalar[SP_ROW_FP16].decode(1, &half, &got);
		assert_true(same(want, got));
	}
}

/* Codes least..greatest, of which the row's largest magnitude has the one furthest from 0. */
static void check_codes(sp_row_format format, int least, int greatest, const float *row, size_t dim)
{
	const sp_row_codec *codec = &sp_row__codecs_scalar[format];
	unsigned char stored[4 + MAX_DIM];
	float back[MAX_DIM], scale;
	double largest = 0.0, step;

	for (size_t d = 0; d < dim; d++)
		largest = fmax(largest, fabs((double)row[d]));
	codec->encode(dim, row, stored);
	codec->decode(dim, stored, back);
	memcpy(&scale, stored, sizeof(scale));
	step = largest / -least;
	assert_true(fabs(fabs((double)scale) - step) <= 1e-6 * step);
	for (size_t d = 0; d < dim; d++) {
		double code = scale != 0 ? (double)back[d] / scale : 0;
		double exact = scale != 0 ? (double)row[d] / scale : 0;

		assert_true(fabs(code - rint(code)) < 1e-4);
		assert_true(rint(code) >= least && rint(code) <= greatest);
		/* Half a step away at most, but for the rounding of factor and scale; or the last.
		 */
		assert_true(fabs(exact - code) <= 0.5 + 1e-4 ||
			    (exact > greatest && rint(code) == greatest));
		if (fabs((double)row[d]) == largest && scale != 0)
			assert_true(rint(code) == least || rint(code) == greatest);
	}
}

static void codes_are_within_half_a_step(void **state)
{
	float row[MAX_DIM];

	(void)state;
	for (size_t round = 0; round < 3000; round++) {
		size_t dim = 1 + round % MAX_DIM;
		float size = ldexpf(1.0f, (int)(next_random() % 100) - 50);

		for (size_t d = 0; d < dim; d++)
			row[d] = draw(1) * size;
		check_codes(SP_ROW_INT8, -127, 127, row, dim);
		check_codes(SP_ROW_INT4, -8, 7, row, dim);
	}
}

static void zeros_stay_and_strange_rows_show(void **state)
{
	const float strange[] = {NAN, INFINITY, -INFINITY};
	float row[5] = {0}, back[5];
	unsigned char stored[9];

	(void)state;
	for (size_t v = 0; v < VARIANTS; v++)
		for (sp_row_format f = SP_ROW_INT8; f <= SP_ROW_INT4; f++) {
			const sp_row_codec *codec = &variants[v].codecs[f];

			if (!sp_cpu_has(variants[v].isa))
				continue;
			for (size_t d = 0; d < 5; d++)
				row[d] = d % 2 == 0 ? 0x1p-101f : -0.0f;
			codec->encode(5, row, stored);
			codec->decode(5, stored, back);
			for (size_t d = 0; d < 5; d++)
				assert_true(back[d] == 0.0f);
			for (size_t s = 0; s < 3; s++) {
				row[4] = strange[s];
				codec->encode(5, row, stored);
				codec->decode(5, stored, back);
				for (size_t d = 0; d < 5; d++)
					assert_true(isnan(back[d]));
			}
		}
}

/* int4 by hand: the largest element is 8, so the scale is -1 and codes are -8, 7, -1, 1, -3. */
static void nibbles_lie_low_first(void **state)
{
	const float row[] = {8, -7, 1, -1, 3};
	const unsigned char want[] = {0x78, 0x1f, 0x0d};
	unsigned char stored[7];
	float scale;

	(void)state;
	for (size_t v = 0; v < VARIANTS; v++) {
		if (!sp_cpu_has(variants[v].isa))
			continue;
		variants[v].codecs[SP_ROW_INT4].encode(5, row, stored);
		memcpy(&scale, stored, sizeof(scale));
		assert_true(scale == -1.0f);
		assert_memory_equal(stored + 4, want, 3);
	}
}

static void check_against_scalar(const variant *v, sp_row_format format, size_t dim, int kind)
{
	const sp_row_codec *scalar = &sp_row__codecs_scalar[format], *codec = &v->codecs[format];
	size_t size = sp_row_format_size(format, dim);
	unsigned char want[4 * MAX_DIM + GUARD], got[4 * MAX_DIM + GUARD];
	float row[MAX_DIM + 1], want_elements[MAX_DIM + 1], elements[MAX_DIM + 1];
	float weight = draw(1) * 3;

	for (size_t d = 0; d < dim; d++)
		row[d] = draw(kind);
	memset(want, 0xa5, sizeof(want));
	memset(got, 0xa5, sizeof(got));
	scalar->encode(dim, row, want);
	codec->encode(dim, row, got);
	assert_memory_equal(got, want, size + GUARD); /* and not a byte past it */

	for (size_t d = 0; d <= MAX_DIM; d++)
		want_elements[d] = elements[d] = 42.0f;
	scalar->decode(dim, want, want_elements);
	codec->decode(dim, want, elements);
	assert_memory_equal(elements, want_elements, sizeof(elements));
	for (size_t d = 0; d < dim; d++)
		want_elements[d] = elements[d] = row[dim - 1 - d];
	scalar->accumulate(dim, weight, want, want_elements);
	codec->accumulate(dim, weight, want, elements);
	assert_memory_equal(elements, want_elements, sizeof(elements));
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
	(void)state;
	for (size_t v = 1; v < VARIANTS; v++)
		for (int format = 0; format < SP_ROW_FORMATS; format++)
			for (size_t dim = 1; sp_cpu_has(variants[v].isa) && dim <= MAX_DIM; dim++)
				for (int round = 0; round < 20; round++)
					check_against_scalar(&variants[v], (sp_row_format)format,
							     dim, 1 + round % 2);
}

/* Infinities, NaNs and denormals; here NaNs may differ in their bits. */
static void every_instruction_set_takes_any_float(void **state)
{
	(void)state;
	for (size_t v = 1; v < VARIANTS; v++)
		for (int format = 0; format < SP_ROW_INT8; format++)
			for (int round = 0; sp_cpu_has(variants[v].isa) && round < 5000; round++) {
				float row[19], want[19], got[19];
				unsigned char stored[4 * 19];

				for (size_t d = 0; d < 19; d++)
					row[d] = draw(0);
				sp_row__codecs_scalar[format].encode(19, row, stored);
				sp_row__codecs_scalar[format].decode(19, stored, want);
				variants[v].codecs[format].encode(19, row, stored);
				variants[v].codecs[format].decode(19, stored, got);
				for (size_t d = 0; d < 19; d++)
					assert_true(same(want[d], got[d]));
			}
}

static void accumulating_is_decoding_and_adding(void **state)
{
	(void)state;
	for (int format = 0; format < SP_ROW_FORMATS; format++)
		for (size_t dim = 1; dim <= MAX_DIM; dim++) {
			const sp_row_codec *codec = sp_row_codec_find((sp_row_format)format);
			float row[MAX_DIM], elements[MAX_DIM], sum[MAX_DIM];
			unsigned char stored[4 * MAX_DIM];
			float weight = draw(1);

			for (size_t d = 0; d < dim; d++)
				row[d] = draw(1);
			codec->encode(dim, row, stored);
			codec->decode(dim, stored, elements);
			memcpy(sum, row, sizeof(sum));
			codec->accumulate(dim, weight, stored, sum);
			for (size_t d = 0; d < dim; d++) {
				float product = weight * elements[d];

				assert_true(sum[d] == row[d] + product);
			}
		}
}

static void elements_need_no_alignment(void **state)
{
	(void)state;
	for (int format = 0; format < SP_ROW_FORMATS; format++) {
		const sp_row_codec *codec = sp_row_codec_find((sp_row_format)format);
		char odd[33 * 4 + 1], stored[2][33 * 4 + 1];
		float row[33];

		for (size_t d = 0; d < 33; d++)
			row[d] = draw(1);
		memcpy(odd + 1, row, sizeof(row));
		codec->encode(33, row, stored[0]);
		codec->encode(33, odd + 1, stored[1] + 1);
		assert_memory_equal(stored[0], stored[1] + 1,
				    sp_row_format_size((sp_row_format)format, 33));
	}
}

static void names_and_sizes_are_those_of_the_documentation(void **state)
{
	const struct {
		const char *name;
		size_t of_32, of_5;
	} want[] = {{"fp32", 128, 20},
		    {"fp16", 64, 10},
		    {"bf16", 64, 10},
		    {"int8", 36, 9},
		    {"int4", 20, 7}};

	(void)state;
	for (int f = 0; f < SP_ROW_FORMATS; f++) {
		assert_string_equal(sp_row_format_name((sp_row_format)f), want[f].name);
		assert_int_equal(sp_row_format_size((sp_row_format)f, 32), want[f].of_32);
		assert_int_equal(sp_row_format_size((sp_row_format)f, 5), want[f].of_5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_are_the_nearest_there_are),
		cmocka_unit_test(halves_decode_exactly),
		cmocka_unit_test(codes_are_within_half_a_step),
		cmocka_unit_test(zeros_stay_and_strange_rows_show),
		cmocka_unit_test(nibbles_lie_low_first),
		cmocka_unit_test(every_instruction_set_gives_the_same_bits),
		cmocka_unit_test(every_instruction_set_takes_any_float),
		cmocka_unit_test(accumulating_is_decoding_and_adding),
		cmocka_unit_test(elements_need_no_alignment),
		cmocka_unit_test(names_and_sizes_are_those_of_the_documentation),
	};

	return cmocka_run_group_tests_name("row_format", tests, NULL, NULL);
}
