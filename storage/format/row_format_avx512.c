#include "storage/format/row_format_internal.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/*
 * Sixteen elements at a time, the last ones of a row under a mask, so that nothing is read past it.
 * Encoding is left to AVX2: it runs while a table is loaded, not in requests.
 */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2")))
#define INLINE static inline __attribute__((always_inline))

enum { STEP = 16 };

/* A mask for the first `left` of sixteen elements. */
AVX512 INLINE __mmask16 mask_of(size_t left)
{
	return left >= STEP ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
}

AVX512 INLINE __m512 load_int4(const uint8_t *codes, size_t d, __mmask16 mask)
{
	/* One byte for each pair of elements; the last pair may be half. */
	__mmask16 pairs = (__mmask16)_pext_u32(mask, 0x5555);
	__m128i bytes = _mm_maskz_loadu_epi8(pairs, codes + d / 2);
	__m128i nibble = _mm_set1_epi8(15), eight = _mm_set1_epi8(8);
	__m128i low = _mm_and_si128(bytes, nibble);
	__m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
	__m128i both = _mm_unpacklo_epi8(low, high);

	both = _mm_sub_epi8(_mm_xor_si128(both, eight), eight);
	return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(both));
}

/* Loads the elements from d on; `format` is constant once this is inlined. */
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
	[SP_ROW_FP32] = {sp_row__fp32_encode_avx2, fp32_decode, fp32_accumulate},
	[SP_ROW_FP16] = {sp_row__fp16_encode_avx2, fp16_decode, fp16_accumulate},
	[SP_ROW_BF16] = {sp_row__bf16_encode_avx2, bf16_decode, bf16_accumulate},
	[SP_ROW_INT8] = {sp_row__int8_encode_avx2, int8_decode, int8_accumulate},
	[SP_ROW_INT4] = {sp_row__int4_encode_avx2, int4_decode, int4_accumulate},
};

#endif
