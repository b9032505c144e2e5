#include "storage/format/row_format_internal.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Sixteen elements at a time; the last ones of a row under a mask, so that nothing is read past
 * it.  */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2")))
#define INLINE static inline __attribute__((always_inline))

enum { STEP = 16 };

/* Of `left` elements those that one step does. */
AVX512 INLINE __mmask16 mask_of(size_t left)
{
	return left >= STEP ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
}

AVX512 INLINE __m512 load_int4(const uint8_t *codes, size_t d, __mmask16 mask)
{
	/* A byte for each pair of elements, of which the last may be alone. */
	__mmask16 pairs = (__mmask16)_pext_u32(mask, 0x5555);
	__m128i bytes = _mm_maskz_loadu_epi8(pairs, codes + d / 2);
	__m128i nibble = _mm_set1_epi8(15), eight = _mm_set1_epi8(8);
	__m128i low = _mm_and_si128(bytes, nibble);
	__m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
	__m128i both = _mm_unpacklo_epi8(low, high);

	both = _mm_sub_epi8(_mm_xor_si128(both, eight), eight);
	return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(both));
}

/* Elements d... of a stored row; the format is known where this is inlined. */
AVX512 INLINE __m512 load(sp_row_format format, const void *row, size_t d, __mmask16 mask,
			  __m512 scale)
{
	const char *bytes = row;

	switch (format) {
	case SP_ROW_FP16:
		return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, bytes + d * 2));
	case SP_ROW_BF16:
		return _mm512_castsi512_ps(_mm512_slli_epi32(
			_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, bytes + d * 2)), 16));
	case SP_ROW_INT8:
		return _mm512_mul_ps(scale, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(
						    _mm_maskz_loadu_epi8(mask, bytes + 4 + d))));
	case SP_ROW_INT4:
		return _mm512_mul_ps(scale, load_int4((const uint8_t *)bytes + 4, d, mask));
	default:
		return _mm512_maskz_loadu_ps(mask, bytes + d * 4);
	}
}

AVX512 INLINE __m512 load_scale(sp_row_format format, const void *row)
{
	float scale = 1.0f;

	if (format == SP_ROW_INT8 || format == SP_ROW_INT4)
		memcpy(&scale, row, sizeof(scale));
	return _mm512_set1_ps(scale);
}

AVX512 INLINE void decode(sp_row_format format, size_t dim, const void *row, float *elements)
{
	__m512 scale = load_scale(format, row);
	size_t d = 0;

	for (; d + STEP <= dim; d += STEP)
		_mm512_storeu_ps(elements + d, load(format, row, d, 0xffff, scale));
	if (d < dim)
		_mm512_mask_storeu_ps(elements + d, mask_of(dim - d),
				      load(format, row, d, mask_of(dim - d), scale));
}

AVX512 INLINE void accumulate(sp_row_format format, size_t dim, float weight, const void *row,
			      float *sum)
{
	__m512 scale = load_scale(format, row), w = _mm512_set1_ps(weight);

	for (size_t d = 0; d < dim; d += STEP) {
		__mmask16 mask = mask_of(dim - d);
		__m512 product = _mm512_mul_ps(w, load(format, row, d, mask, scale));

		_mm512_mask_storeu_ps(sum + d, mask,
				      _mm512_add_ps(_mm512_maskz_loadu_ps(mask, sum + d), product));
	}
}

static void fp32_encode(size_t dim, const void *elements, void *row)
{
	memcpy(row, elements, dim * sizeof(float));
}

AVX512 static void fp16_encode(size_t dim, const void *elements, void *row)
{
	for (size_t d = 0; d < dim; d += STEP) {
		__mmask16 mask = mask_of(dim - d);
		__m512 x = _mm512_maskz_loadu_ps(mask, (const char *)elements + d * 4);

		_mm256_mask_storeu_epi16((char *)row + d * 2, mask,
					 _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
	}
}

AVX512 static void bf16_encode(size_t dim, const void *elements, void *row)
{
	for (size_t d = 0; d < dim; d += STEP) {
		__mmask16 mask = mask_of(dim - d);
		__m512 x = _mm512_maskz_loadu_ps(mask, (const char *)elements + d * 4);
		__m512i bits = _mm512_castps_si512(x);
		__m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
		__m512i up = _mm512_add_epi32(bits,
					      _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
		__m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));

		up = _mm512_mask_mov_epi32(up, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), quiet);
		_mm256_mask_storeu_epi16((char *)row + d * 2, mask,
					 _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16)));
	}
}

/* A row's extremes, of which one is infinite when an element is not finite. */
AVX512 INLINE void extremes(size_t dim, const void *elements, float *greatest, float *least)
{
	__m512 infinity = _mm512_set1_ps(INFINITY);
	__m512 most = _mm512_set1_ps(-INFINITY), fewest = infinity;

	for (size_t d = 0; d < dim; d += STEP) {
		__mmask16 mask = mask_of(dim - d);
		__m512 x = _mm512_maskz_loadu_ps(mask, (const char *)elements + d * 4);

		x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), infinity);
		most = _mm512_mask_max_ps(most, mask, most, x);
		fewest = _mm512_mask_min_ps(fewest, mask, fewest, x);
	}
	*greatest = _mm512_reduce_max_ps(most);
	*least = _mm512_reduce_min_ps(fewest);
}

AVX512 INLINE __m512i codes_of(const void *elements, size_t d, __mmask16 mask, sp_row_scale scale,
			       int least, int greatest)
{
	__m512 x = _mm512_maskz_loadu_ps(mask, (const char *)elements + d * 4);
	__m512i codes;

	if (scale.factor == 0.0f)
		return _mm512_setzero_si512();
	codes = _mm512_cvt_roundps_epi32(_mm512_mul_ps(x, _mm512_set1_ps(scale.factor)),
					 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	codes = _mm512_min_epi32(codes, _mm512_set1_epi32(greatest));
	return _mm512_max_epi32(codes, _mm512_set1_epi32(least));
}

AVX512 static void int8_encode(size_t dim, const void *elements, void *row)
{
	float greatest, least;
	sp_row_scale scale;

	extremes(dim, elements, &greatest, &least);
	scale = sp_row__int8_scale(greatest, least);
	memcpy(row, &scale.scale, sizeof(scale.scale));
	for (size_t d = 0; d < dim; d += STEP) {
		__mmask16 mask = mask_of(dim - d);

		_mm512_mask_cvtepi32_storeu_epi8(
			(char *)row + 4 + d, mask,
			codes_of(elements, d, mask, scale, -SP_ROW_INT8_MAX, SP_ROW_INT8_MAX));
	}
}

AVX512 static void int4_encode(size_t dim, const void *elements, void *row)
{
	float greatest, least;
	sp_row_scale scale;

	extremes(dim, elements, &greatest, &least);
	scale = sp_row__int4_scale(greatest, least);
	memcpy(row, &scale.scale, sizeof(scale.scale));
	for (size_t d = 0; d < dim; d += STEP) {
		__mmask16 mask = mask_of(dim - d);
		__m512i codes = codes_of(elements, d, mask, scale, SP_ROW_INT4_MIN,
					 SP_ROW_INT4_MAX);
		/* Two codes are two halves of 64 bits: the upper one goes four bits above. */
		__m512i low = _mm512_and_si512(codes, _mm512_set1_epi64(15));
		__m512i high = _mm512_and_si512(_mm512_srli_epi64(codes, 28),
						_mm512_set1_epi64(15 << 4));

		_mm512_mask_cvtepi64_storeu_epi8((char *)row + 4 + d / 2,
						 (__mmask8)_pext_u32(mask, 0x5555),
						 _mm512_or_si512(low, high));
	}
}

#define CODEC(name, format)                                                             \
	AVX512 static void name##_decode(size_t dim, const void *row, float *elements)  \
	{                                                                               \
		decode(format, dim, row, elements);                                     \
	}                                                                               \
	AVX512 static void name##_accumulate(size_t dim, float weight, const void *row, \
					     float *sum)                                \
	{                                                                               \
		accumulate(format, dim, weight, row, sum);                              \
	}

CODEC(fp32, SP_ROW_FP32)
CODEC(fp16, SP_ROW_FP16)
CODEC(bf16, SP_ROW_BF16)
CODEC(int8, SP_ROW_INT8)
CODEC(int4, SP_ROW_INT4)

const sp_row_codec sp_row__codecs_avx512[SP_ROW_FORMATS] = {
	[SP_ROW_FP32] = {fp32_encode, fp32_decode, fp32_accumulate},
	[SP_ROW_FP16] = {fp16_encode, fp16_decode, fp16_accumulate},
	[SP_ROW_BF16] = {bf16_encode, bf16_decode, bf16_accumulate},
	[SP_ROW_INT8] = {int8_encode, int8_decode, int8_accumulate},
	[SP_ROW_INT4] = {int4_encode, int4_decode, int4_accumulate},
};

#endif
