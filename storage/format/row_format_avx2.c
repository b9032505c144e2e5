#include "storage/format/row_format_internal.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Eight elements at a time; the last ones of a row through a buffer of eight. */

#define AVX2   __attribute__((target("avx2,f16c")))
#define INLINE static inline __attribute__((always_inline))

enum { STEP = 8 };

AVX2 INLINE __m256 load_int4(const char *codes)
{
	/* Each byte holds two elements: copy it to both and shift the upper one down. */
	uint32_t packed;
	__m256i spread, codes32;

	memcpy(&packed, codes, sizeof(packed));
	spread = _mm256_srlv_epi32(_mm256_set1_epi32((int)packed),
				   _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
	codes32 = _mm256_srai_epi32(_mm256_slli_epi32(spread, 28), 28);
	return _mm256_cvtepi32_ps(codes32);
}

/* Bytes of `count` elements without the scale. */
INLINE size_t size_of(sp_row_format format, size_t count)
{
	switch (format) {
	case SP_ROW_FP16:
	case SP_ROW_BF16:
		return count * 2;
	case SP_ROW_INT8:
		return count;
	case SP_ROW_INT4:
		return count / 2 + count % 2;
	default:
		return count * sizeof(float);
	}
}

/* Where element d of a stored row begins; d is a multiple of STEP. */
INLINE size_t offset_of(sp_row_format format, size_t d)
{
	bool scaled = format == SP_ROW_INT8 || format == SP_ROW_INT4;

	return (scaled ? sizeof(float) : 0) + size_of(format, d);
}

INLINE const char *place(sp_row_format format, const void *row, size_t d)
{
	return (const char *)row + offset_of(format, d);
}

/* Loads eight elements; `format` is constant once this is inlined. */
AVX2 INLINE __m256 load(sp_row_format format, const char *at, __m256 scale)
{
	switch (format) {
	case SP_ROW_FP16:
		return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)at));
	case SP_ROW_BF16:
		return _mm256_castsi256_ps(_mm256_slli_epi32(
			_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)at)), 16));
	case SP_ROW_INT8:
		return _mm256_mul_ps(scale, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(
						    _mm_loadl_epi64((const __m128i *)at))));
	case SP_ROW_INT4:
		return _mm256_mul_ps(scale, load_int4(at));
	default:
		return _mm256_loadu_ps((const float *)at);
	}
}

/* Loads the last `count` < STEP elements and fills up with zeros. */
AVX2 INLINE __m256 load_last(sp_row_format format, const char *at, size_t count, __m256 scale)
{
	char padded[STEP * sizeof(float)] = {0};

	memcpy(padded, at, size_of(format, count));
	return load(format, padded, scale);
}

AVX2 INLINE __m256 load_scale(sp_row_format format, const void *row)
{
	float scale = 1.0f;

	if (format == SP_ROW_INT8 || format == SP_ROW_INT4)
		memcpy(&scale, row, sizeof(scale));
	return _mm256_set1_ps(scale);
}

/* A mask for the first `count` of eight elements. */
AVX2 INLINE __m256i mask_of(size_t count)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
				  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

AVX2 INLINE void decode(sp_row_format format, size_t dim, const void *row, float *elements)
{
	__m256 scale = load_scale(format, row);
	size_t d = 0;

	for (; d + STEP <= dim; d += STEP)
		_mm256_storeu_ps(elements + d, load(format, place(format, row, d), scale));
	if (d < dim)
		_mm256_maskstore_ps(elements + d, mask_of(dim - d),
				    load_last(format, place(format, row, d), dim - d, scale));
}

AVX2 INLINE void accumulate(sp_row_format format, size_t dim, float weight, const void *row,
			    float *sum)
{
	__m256 scale = load_scale(format, row), w = _mm256_set1_ps(weight);
	size_t d = 0;

	for (; d + STEP <= dim; d += STEP) {
		__m256 product = _mm256_mul_ps(w, load(format, place(format, row, d), scale));

		_mm256_storeu_ps(sum + d, _mm256_add_ps(_mm256_loadu_ps(sum + d), product));
	}
	if (d < dim) {
		__m256i mask = mask_of(dim - d);
		__m256 last = load_last(format, place(format, row, d), dim - d, scale);

		_mm256_maskstore_ps(
			sum + d, mask,
			_mm256_add_ps(_mm256_maskload_ps(sum + d, mask), _mm256_mul_ps(w, last)));
	}
}

/* Loads the eight float32 elements from d on; zeros stand for those past the end of the row. */
AVX2 INLINE __m256 load_elements(const void *elements, size_t d, size_t dim)
{
	float padded[STEP] = {0};
	const char *from = (const char *)elements + d * sizeof(float);

	if (dim - d >= STEP)
		return _mm256_loadu_ps((const float *)from);
	memcpy(padded, from, (dim - d) * sizeof(float));
	return _mm256_loadu_ps(padded);
}

/* Stores the encoded elements from d on: eight, or fewer at the end of the row. */
INLINE void store_encoded(sp_row_format format, void *row, size_t d, size_t dim, const void *bytes)
{
	char *to = (char *)row + offset_of(format, d);

	if (dim - d >= STEP)
		memcpy(to, bytes, size_of(format, STEP));
	else
		memcpy(to, bytes, size_of(format, dim - d));
}

void sp_row__fp32_encode_avx2(size_t dim, const void *elements, void *row)
{
	memcpy(row, elements, dim * sizeof(float));
}

AVX2 void sp_row__fp16_encode_avx2(size_t dim, const void *elements, void *row)
{
	for (size_t d = 0; d < dim; d += STEP) {
		__m128i halves = _mm256_cvtps_ph(load_elements(elements, d, dim),
						 _MM_FROUND_TO_NEAREST_INT);

		store_encoded(SP_ROW_FP16, row, d, dim, &halves);
	}
}

AVX2 void sp_row__bf16_encode_avx2(size_t dim, const void *elements, void *row)
{
	for (size_t d = 0; d < dim; d += STEP) {
		__m256 x = load_elements(elements, d, dim);
		__m256i bits = _mm256_castps_si256(x);
		__m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
		__m256i up = _mm256_add_epi32(bits,
					      _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
		__m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
		__m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
		__m256i halves32 = _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
		__m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(halves32),
						  _mm256_extracti128_si256(halves32, 1));

		store_encoded(SP_ROW_BF16, row, d, dim, &halves);
	}
}

/* The extremes of a row; one of them is infinite if any element is not finite. */
AVX2 INLINE void extremes(size_t dim, const void *elements, float *greatest, float *least)
{
	__m256 infinity = _mm256_set1_ps(INFINITY);
	__m256 most = _mm256_set1_ps(-INFINITY), fewest = infinity;
	float mosts[STEP], fewests[STEP];

	for (size_t d = 0; d < dim; d += STEP) {
		__m256 x = load_elements(elements, d, dim);
		__m256 there = _mm256_castsi256_ps(mask_of(dim - d < STEP ? dim - d : STEP));

		x = _mm256_blendv_ps(x, infinity, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
		most = _mm256_max_ps(most, _mm256_blendv_ps(most, x, there));
		fewest = _mm256_min_ps(fewest, _mm256_blendv_ps(fewest, x, there));
	}
	_mm256_storeu_ps(mosts, most);
	_mm256_storeu_ps(fewests, fewest);
	*greatest = mosts[0];
	*least = fewests[0];
	for (size_t i = 1; i < STEP; i++) {
		*greatest = mosts[i] > *greatest ? mosts[i] : *greatest;
		*least = fewests[i] < *least ? fewests[i] : *least;
	}
}

AVX2 INLINE void codes_of(const void *elements, size_t d, size_t dim, sp_row_scale scale, int least,
			  int greatest, int32_t codes[STEP])
{
	__m256 product = _mm256_mul_ps(load_elements(elements, d, dim),
				       _mm256_set1_ps(scale.factor));
	__m256i rounded = _mm256_setzero_si256();

	if (scale.factor != 0.0f)
		rounded = _mm256_cvtps_epi32(
			_mm256_round_ps(product, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
	rounded = _mm256_min_epi32(rounded, _mm256_set1_epi32(greatest));
	rounded = _mm256_max_epi32(rounded, _mm256_set1_epi32(least));
	_mm256_storeu_si256((__m256i *)codes, rounded);
}

AVX2 void sp_row__int8_encode_avx2(size_t dim, const void *elements, void *row)
{
	float greatest, least;
	sp_row_scale scale;

	extremes(dim, elements, &greatest, &least);
	scale = sp_row__int8_scale(greatest, least);
	memcpy(row, &scale.scale, sizeof(scale.scale));
	for (size_t d = 0; d < dim; d += STEP) {
		int32_t codes[STEP];
		int8_t bytes[STEP];

		codes_of(elements, d, dim, scale, -SP_ROW_INT8_MAX, SP_ROW_INT8_MAX, codes);
		for (size_t i = 0; i < STEP; i++)
			bytes[i] = (int8_t)codes[i];
		store_encoded(SP_ROW_INT8, row, d, dim, bytes);
	}
}

AVX2 void sp_row__int4_encode_avx2(size_t dim, const void *elements, void *row)
{
	float greatest, least;
	sp_row_scale scale;

	extremes(dim, elements, &greatest, &least);
	scale = sp_row__int4_scale(greatest, least);
	memcpy(row, &scale.scale, sizeof(scale.scale));
	for (size_t d = 0; d < dim; d += STEP) {
		int32_t codes[STEP];
		uint8_t bytes[STEP / 2];

		codes_of(elements, d, dim, scale, SP_ROW_INT4_MIN, SP_ROW_INT4_MAX, codes);
		for (size_t i = 0; i < STEP / 2; i++)
			bytes[i] = (uint8_t)((codes[2 * i] & 15) | (codes[2 * i + 1] & 15) << 4);
		store_encoded(SP_ROW_INT4, row, d, dim, bytes);
	}
}

#define CODEC(name, format)                                                                       \
	AVX2 static void name##_decode(size_t dim, const void *row, float *elements)              \
	{                                                                                         \
		decode(format, dim, row, elements);                                               \
	}                                                                                         \
	AVX2 static void name##_accumulate(size_t dim, float weight, const void *row, float *sum) \
	{                                                                                         \
		accumulate(format, dim, weight, row, sum);                                        \
	}

CODEC(fp32, SP_ROW_FP32)
CODEC(fp16, SP_ROW_FP16)
CODEC(bf16, SP_ROW_BF16)
CODEC(int8, SP_ROW_INT8)
CODEC(int4, SP_ROW_INT4)

const sp_row_codec sp_row__codecs_avx2[SP_ROW_FORMATS] = {
	[SP_ROW_FP32] = {sp_row__fp32_encode_avx2, fp32_decode, fp32_accumulate},
	[SP_ROW_FP16] = {sp_row__fp16_encode_avx2, fp16_decode, fp16_accumulate},
	[SP_ROW_BF16] = {sp_row__bf16_encode_avx2, bf16_decode, bf16_accumulate},
	[SP_ROW_INT8] = {sp_row__int8_encode_avx2, int8_decode, int8_accumulate},
	[SP_ROW_INT4] = {sp_row__int4_encode_avx2, int4_decode, int4_accumulate},
};

#endif
