#ifndef SP_STORAGE_WOVEN_ROW_INTERNAL_H
#define SP_STORAGE_WOVEN_ROW_INTERNAL_H

#include "storage/woven_row.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The scalar one is the definition. */
extern const sp_woven_codec sp_woven__codec_scalar;
#if defined(__x86_64__)
extern const sp_woven_codec sp_woven__codec_avx2;
extern const sp_woven_codec sp_woven__codec_avx512;

/*
 * What sixteen elements have of ~key, of which `half` is the lower 32 bits for the
 * first and the upper for the others: in SP_WOVEN_KEY; other bits are anything.
 */
__attribute__((target("avx512f"))) static inline __m512i sp_woven__key_lanes(uint32_t half)
{
	__m512i to_place = _mm512_setr_epi32(29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1,
					     -1);

	return _mm512_rolv_epi32(_mm512_set1_epi32((int)half), to_place);
}
#endif

#endif
