#include "storage/format/row_format_internal.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static const char *const names[SP_ROW_FORMATS] = {
	[SP_ROW_FP32] = "fp32", [SP_ROW_FP16] = "fp16", [SP_ROW_BF16] = "bf16",
	[SP_ROW_INT8] = "int8", [SP_ROW_INT4] = "int4",
};

const char *sp_row_format_name(sp_row_format format)
{
	return names[format];
}

size_t sp_row_format_size(sp_row_format format, size_t dim)
{
	switch (format) {
	case SP_ROW_FP16:
	case SP_ROW_BF16:
		return dim * 2;
	case SP_ROW_INT8:
		return sizeof(float) + dim;
	case SP_ROW_INT4:
		return sizeof(float) + dim / 2 + dim % 2;
	default:
		return dim * sizeof(float);
	}
}

/*
 * Every codec is written once, without branches in its loops, and compiled for each instruction
 * set, for which the compiler vectorises it.
 */
#define INLINE static inline __attribute__((always_inline))

INLINE float float_of(uint32_t bits)
{
	float element;

	memcpy(&element, &bits, sizeof(element));
	return element;
}

INLINE uint32_t bits_of(float element)
{
	uint32_t bits;

	memcpy(&bits, &element, sizeof(bits));
	return bits;
}

INLINE float fp32_at(const void *row, size_t d)
{
	float element;

	memcpy(&element, (const char *)row + d * sizeof(element), sizeof(element));
	return element;
}

INLINE uint16_t half_at(const void *row, size_t d)
{
	uint16_t half;

	memcpy(&half, (const char *)row + d * sizeof(half), sizeof(half));
	return half;
}

INLINE void put_half(void *row, size_t d, uint32_t bits)
{
	uint16_t half = (uint16_t)bits;

	memcpy((char *)row + d * sizeof(half), &half, sizeof(half));
}

/* ------------------------------------------------------------------- fp16 */

/* Values below 2^-14 are multiples of 2^-24; adding 0.5 rounds to these and leaves the multiple. */
INLINE uint32_t fp16_of(float element)
{
	uint32_t bits = bits_of(element), magnitude = bits & 0x7fffffffu;
	/* A carry out of the mantissa raises the exponent, as it should. */
	uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
	uint32_t small = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
	uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu); /* the upper bits, and quiet */
	uint32_t half = magnitude < 0x38800000u ? small : normal;

	half = magnitude >= 0x47800000u ? 0x7c00u : half; /* 65536 and above */
	half = magnitude > 0x7f800000u ? nan : half;
	return (bits >> 16 & 0x8000u) | half;
}

INLINE float fp16_at(const void *row, size_t d)
{
	uint32_t half = half_at(row, d), magnitude = half & 0x7fffu;
	uint32_t normal = (magnitude << 13) + 0x38000000u;
	uint32_t small = bits_of((float)(int32_t)magnitude * 0x1p-24f);
	uint32_t special = magnitude << 13 | 0x7f800000u; /* infinity, NaN */
	uint32_t quiet = magnitude > 0x7c00u ? 0x400000u : 0;
	uint32_t bits = magnitude < 0x400u ? small : normal;

	bits = magnitude >= 0x7c00u ? special | quiet : bits;
	return float_of(bits | (half & 0x8000u) << 16);
}

INLINE void fp16_encode(size_t dim, const void *restrict elements, void *restrict row)
{
	for (size_t d = 0; d < dim; d++)
		put_half(row, d, fp16_of(fp32_at(elements, d)));
}

/* ------------------------------------------------------------------- bf16 */

INLINE float bf16_at(const void *row, size_t d)
{
	return float_of((uint32_t)half_at(row, d) << 16);
}

INLINE void bf16_encode(size_t dim, const void *restrict elements, void *restrict row)
{
	for (size_t d = 0; d < dim; d++) {
		uint32_t bits = bits_of(fp32_at(elements, d));
		uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
		/* Rounding could turn a NaN into an infinity. */
		bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;

		put_half(row, d, (is_nan ? bits | 0x400000u : rounded) >> 16);
	}
}

/* ------------------------------------------------------------- int8, int4 */

/* The code of an element is element * factor, rounded; code * scale decodes it. */
typedef struct row_scale {
	float scale;
	float factor; /* 0: every code is 0 */
} row_scale;

/* Rows of smaller magnitude are stored as zeros: the reciprocal of the scale would overflow. */
#define LEAST 0x1p-100f

/*
 * The scale that gives the element of the largest magnitude the code `code`; with `signed_scale` it
 * takes the sign of that element.  Magnitudes are compared by their bits, which are in order.
 */
INLINE row_scale scale_of(size_t dim, const void *elements, float code, bool signed_scale)
{
	uint32_t positive = 0, negative = 0;
	float largest;

	for (size_t d = 0; d < dim; d++) {
		uint32_t bits = bits_of(fp32_at(elements, d)), magnitude = bits & 0x7fffffffu;
		uint32_t above = (int32_t)bits >= 0 ? magnitude : 0;
		uint32_t below = (int32_t)bits >= 0 ? 0 : magnitude;

		positive = above > positive ? above : positive;
		negative = below > negative ? below : negative;
	}
	largest = float_of(positive > negative ? positive : negative);
	if (!isfinite(largest))
		return (row_scale){.scale = NAN};
	if (largest < LEAST)
		return (row_scale){0};
	if (signed_scale && negative > positive)
		largest = -largest;
	return (row_scale){largest / code, code / largest};
}

INLINE int code_of(float element, row_scale scale, int least, int greatest)
{
	float code = rintf(element * scale.factor);

	code = code > (float)greatest ? (float)greatest : code;
	code = code < (float)least ? (float)least : code;
	return (int)code;
}

INLINE float int8_at(const void *row, size_t d)
{
	return fp32_at(row, 0) * (float)((const int8_t *)row)[sizeof(float) + d];
}

INLINE void int8_encode(size_t dim, const void *restrict elements, void *restrict row)
{
	row_scale scale = scale_of(dim, elements, 127, false);
	int8_t *codes = (int8_t *)row + sizeof(float);

	memcpy(row, &scale.scale, sizeof(scale.scale));
	memset(codes, 0, dim);
	for (size_t d = 0; scale.factor != 0 && d < dim; d++)
		codes[d] = (int8_t)code_of(fp32_at(elements, d), scale, -127, 127);
}

/* The largest magnitude gets code -8, which has no counterpart 8: the scale takes the sign. */
INLINE void int4_encode(size_t dim, const void *restrict elements, void *restrict row)
{
	row_scale scale = scale_of(dim, elements, -8, true);
	uint8_t *codes = (uint8_t *)row + sizeof(float);

	memcpy(row, &scale.scale, sizeof(scale.scale));
	memset(codes, 0, dim / 2 + dim % 2);
	for (size_t i = 0; scale.factor != 0 && i < dim / 2; i++) {
		int low = code_of(fp32_at(elements, 2 * i), scale, -8, 7);
		int high = code_of(fp32_at(elements, 2 * i + 1), scale, -8, 7);

		codes[i] = (uint8_t)((low & 15) | (high & 15) << 4);
	}
	if (scale.factor != 0 && dim % 2 != 0)
		codes[dim / 2] = code_of(fp32_at(elements, dim - 1), scale, -8, 7) & 15;
}

/* Code i of those in `codes`, two's complement of four bits. */
INLINE float int4_code(uint32_t codes, size_t i)
{
	return (float)((int32_t)(codes << (28 - 4 * i)) >> 28);
}

/* Eight codes at a time, which are in the same 32 bits, each shifted by its own number of bits. */
INLINE void int4_decode(size_t dim, const void *restrict row, float *restrict elements)
{
	const uint8_t *codes = (const uint8_t *)row + sizeof(float);
	float scale = fp32_at(row, 0);
	uint32_t eight;
	size_t d = 0;

	for (; d + 8 <= dim; d += 8) {
		memcpy(&eight, codes + d / 2, sizeof(eight));
		for (size_t i = 0; i < 8; i++)
			elements[d + i] = scale * int4_code(eight, i);
	}
	for (; d < dim; d++)
		elements[d] = scale * int4_code(codes[d / 2], d % 2);
}

INLINE void int4_accumulate(size_t dim, float weight, const void *restrict row, float *restrict sum)
{
	const uint8_t *codes = (const uint8_t *)row + sizeof(float);
	float scale = fp32_at(row, 0);
	uint32_t eight;
	size_t d = 0;

	for (; d + 8 <= dim; d += 8) {
		memcpy(&eight, codes + d / 2, sizeof(eight));
		for (size_t i = 0; i < 8; i++)
			sum[d + i] += weight * (scale * int4_code(eight, i));
	}
	for (; d < dim; d++)
		sum[d] += weight * (scale * int4_code(codes[d / 2], d % 2));
}

/* ------------------------------------------------------------------ codecs */

INLINE void fp32_encode(size_t dim, const void *restrict elements, void *restrict row)
{
	memcpy(row, elements, dim * sizeof(float));
}

/* The loops of a format whose elements lie one after the other. */
#define LOOPS(format)                                                                       \
	INLINE void format##_decode(size_t dim, const void *restrict row,                   \
				    float *restrict elements)                               \
	{                                                                                   \
		for (size_t d = 0; d < dim; d++)                                            \
			elements[d] = format##_at(row, d);                                  \
	}                                                                                   \
	INLINE void format##_accumulate(size_t dim, float weight, const void *restrict row, \
					float *restrict sum)                                \
	{                                                                                   \
		for (size_t d = 0; d < dim; d++)                                            \
			sum[d] += weight * format##_at(row, d);                             \
	}

LOOPS(fp32)
LOOPS(fp16)
LOOPS(bf16)
LOOPS(int8)

#define CODEC(format, isa, target)                                                              \
	target static void format##_encode_##isa(size_t dim, const void *elements, void *row)   \
	{                                                                                       \
		format##_encode(dim, elements, row);                                            \
	}                                                                                       \
	target static void format##_decode_##isa(size_t dim, const void *row, float *elements)  \
	{                                                                                       \
		format##_decode(dim, row, elements);                                            \
	}                                                                                       \
	target static void format##_accumulate_##isa(size_t dim, float weight, const void *row, \
						     float *sum)                                \
	{                                                                                       \
		format##_accumulate(dim, weight, row, sum);                                     \
	}

#define FUNCTIONS(format, isa)                                                          \
	{                                                                               \
		format##_encode_##isa, format##_decode_##isa, format##_accumulate_##isa \
	}

/* `halves`: the instruction set for fp16. */
#define CODECS(isa, halves, target)                                                            \
	CODEC(fp32, isa, target)                                                               \
	CODEC(bf16, isa, target)                                                               \
	CODEC(int8, isa, target)                                                               \
	CODEC(int4, isa, target)                                                               \
	const sp_row_codec sp_row__codecs_##isa[SP_ROW_FORMATS] = {                            \
		[SP_ROW_FP32] = FUNCTIONS(fp32, isa), [SP_ROW_FP16] = FUNCTIONS(fp16, halves), \
		[SP_ROW_BF16] = FUNCTIONS(bf16, isa), [SP_ROW_INT8] = FUNCTIONS(int8, isa),    \
		[SP_ROW_INT4] = FUNCTIONS(int4, isa),                                          \
	};

CODEC(fp16, scalar, )
CODECS(scalar, scalar, )

#if defined(__x86_64__)

/* Eight halves at a time, by instructions that the compiler does not use by itself. */
#define F16C __attribute__((target("avx2,f16c")))

enum { STEP = 8 };

F16C INLINE __m256 eight_halves_at(const void *row, size_t d)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const void *)((const char *)row + 2 * d)));
}

F16C static void fp16_encode_f16c(size_t dim, const void *elements, void *row)
{
	size_t d = 0;

	for (; d + STEP <= dim; d += STEP) {
		__m256 x = _mm256_loadu_ps((const float *)((const char *)elements + 4 * d));

		_mm_storeu_si128((void *)((char *)row + 2 * d),
				 _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
	}
	for (; d < dim; d++)
		put_half(row, d, fp16_of(fp32_at(elements, d)));
}

F16C static void fp16_decode_f16c(size_t dim, const void *row, float *elements)
{
	size_t d = 0;

	for (; d + STEP <= dim; d += STEP)
		_mm256_storeu_ps(elements + d, eight_halves_at(row, d));
	for (; d < dim; d++)
		elements[d] = fp16_at(row, d);
}

F16C static void fp16_accumulate_f16c(size_t dim, float weight, const void *row, float *sum)
{
	size_t d = 0;

	for (; d + STEP <= dim; d += STEP)
		_mm256_storeu_ps(sum + d, _mm256_loadu_ps(sum + d) +
						  _mm256_set1_ps(weight) * eight_halves_at(row, d));
	for (; d < dim; d++)
		sum[d] += weight * fp16_at(row, d);
}

CODECS(avx2, f16c, __attribute__((target("avx2"))))
CODECS(avx512, f16c, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

const sp_row_codec *sp_row_codec_find(sp_row_format format)
{
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512))
		return &sp_row__codecs_avx512[format];
	if (sp_cpu_has(SP_ISA_AVX2))
		return &sp_row__codecs_avx2[format];
#endif
	return &sp_row__codecs_scalar[format];
}
