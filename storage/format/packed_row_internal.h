#ifndef SP_STORAGE_FORMAT_PACKED_ROW_INTERNAL_H
#define SP_STORAGE_FORMAT_PACKED_ROW_INTERNAL_H

#include "storage/format/packed_row.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The scalar codec defines the results of the others. */
extern const sp_packed_codec sp_packed__codec_scalar;

/* False if the first element's bits 0-28 would become 1, which marks an outlier. */
static inline bool sp_packed__is_plain_first(uint32_t bits)
{
	return (bits & 0x7fffffff) != SP_PACKED_MIN + 1;
}

#if defined(__x86_64__)
extern const sp_packed_codec sp_packed__codec_avx2;
extern const sp_packed_codec sp_packed__codec_avx512;

/*
 * Moves the lowest 16 bits of `mark`, two to each of eight elements, to SP_PACKED_KEY; other bits
 * are undefined.
 */
__attribute__((target("avx2"))) static inline __m256i sp_packed__key_lanes_avx2(uint32_t mark)
{
	__m256i to_place = _mm256_setr_epi32(29, 27, 25, 23, 21, 19, 17, 15);

	return _mm256_sllv_epi32(_mm256_set1_epi32((int)mark), to_place);
}

/*
 * Packs eight elements with the lowest 16 bits of `mark`; a lane of the result is all ones if its
 * element can be packed.
 */
__attribute__((target("avx2"))) static inline __m256i sp_packed__pack_lanes_avx2(__m256i bits,
										 uint32_t mark,
										 __m256i *packed)
{
	__m256i sign = _mm256_set1_epi32(INT32_MIN), low = _mm256_set1_epi32((int)SP_PACKED_LOW);
	__m256i zero = _mm256_setzero_si256(), key = _mm256_set1_epi32((int)SP_PACKED_KEY);
	__m256i magnitude = _mm256_andnot_si256(sign, bits);
	__m256i rest = _mm256_sub_epi32(magnitude, _mm256_set1_epi32((int)SP_PACKED_MIN));
	__m256i is_zero = _mm256_cmpeq_epi32(magnitude, zero);
	/* Valid: 0 < rest <= LOW.  Too small magnitudes are below, too large ones above. */
	__m256i fits = _mm256_andnot_si256(_mm256_cmpgt_epi32(rest, low),
					   _mm256_cmpgt_epi32(rest, zero));

	rest = _mm256_andnot_si256(is_zero, _mm256_and_si256(rest, low));
	rest = _mm256_or_si256(rest, _mm256_and_si256(bits, sign));
	*packed = _mm256_or_si256(rest, _mm256_and_si256(sp_packed__key_lanes_avx2(mark), key));
	return _mm256_or_si256(is_zero, fits);
}

__attribute__((target("avx2"))) static inline bool sp_packed__holds_avx2(const void *row,
									 int64_t key)
{
	__m256i differences = _mm256_setzero_si256();
	uint64_t mark = ~(uint64_t)key;

#pragma GCC unroll 4
	for (size_t i = 0; i < SP_PACKED_ELEMENTS; i += 8, mark >>= 16) {
		__m256i bits = _mm256_loadu_si256((const void *)((const char *)row + i * 4));

		bits = _mm256_xor_si256(bits, sp_packed__key_lanes_avx2((uint32_t)mark));
		differences = _mm256_or_si256(differences, bits);
	}
	return _mm256_testz_si256(differences, _mm256_set1_epi32((int)SP_PACKED_KEY));
}

/*
 * Moves 32 bits of ~key, two to each of sixteen elements, to SP_PACKED_KEY; other bits are
 * undefined.  `half` is the lower half for the first sixteen elements, the upper one for the
 * others.
 */
__attribute__((target("avx512f"))) static inline __m512i sp_packed__key_lanes(uint32_t half)
{
	__m512i to_place = _mm512_setr_epi32(29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1,
					     -1);

	return _mm512_rolv_epi32(_mm512_set1_epi32((int)half), to_place);
}

/* Packs sixteen elements with that half of ~key; false if any cannot be packed. */
__attribute__((target("avx512f"))) static inline bool sp_packed__pack_lanes(__m512i bits,
									    uint32_t half,
									    __m512i *packed)
{
	__m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
	__m512i rest = _mm512_sub_epi32(magnitude, _mm512_set1_epi32((int)SP_PACKED_MIN));
	__m512i low = _mm512_set1_epi32((int)SP_PACKED_LOW);
	__m512i key = _mm512_set1_epi32((int)SP_PACKED_KEY);
	__mmask16 is_zero = _mm512_testn_epi32_mask(magnitude, magnitude);
	unsigned fits = _mm512_cmple_epu32_mask(rest, low) & _mm512_test_epi32_mask(rest, rest);

	rest = _mm512_maskz_and_epi32((__mmask16)~is_zero, rest, low);
	rest = _mm512_or_si512(rest, _mm512_andnot_si512(_mm512_set1_epi32(0x7fffffff), bits));
	*packed = _mm512_or_si512(rest, _mm512_and_si512(sp_packed__key_lanes(half), key));
	return (fits | is_zero) == 0xffff;
}
#endif

#endif
