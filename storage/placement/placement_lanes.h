#ifndef SP_STORAGE_PLACEMENT_PLACEMENT_LANES_H
#define SP_STORAGE_PLACEMENT_PLACEMENT_LANES_H

#if defined(__x86_64__)

#include <immintrin.h>

#include "storage/placement/placement.h"

/* The functions of placement.h for eight keys at a time, to be called with this attribute. */
#define SP_PLACEMENT_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2")))

#define SP_PLACEMENT_LANES SP_PLACEMENT_AVX512 static inline __attribute__((always_inline))

enum { SP_PLACEMENT_WIDTH = 8 }; /* keys at a time */

/* The lanes that hold the first `left` keys. */
static inline __mmask8 sp_placement__lane_mask(size_t left)
{
	return (__mmask8)(left < SP_PLACEMENT_WIDTH ? (1u << left) - 1 : UINT8_MAX);
}

SP_PLACEMENT_LANES __m512i sp_placement__lanes_of(uint64_t number)
{
	return _mm512_set1_epi64((int64_t)number);
}

SP_PLACEMENT_LANES __m512i sp_placement__hash_lanes(const sp_placement *placement, __m512i keys)
{
	__m512i h = _mm512_xor_si512(keys, sp_placement__lanes_of(placement->seed[0]));

	h = _mm512_mullo_epi64(h, sp_placement__lanes_of(SP_PLACEMENT_MIX));
	h = _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
	h = _mm512_mullo_epi64(h, sp_placement__lanes_of(placement->seed[1]));
	return _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
}

SP_PLACEMENT_LANES __m512i sp_placement__part_lanes(const sp_placement *placement, __m512i hashes)
{
	__m512i parts = sp_placement__lanes_of(placement->part_count);

	return _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(hashes, 32), parts), 32);
}

SP_PLACEMENT_LANES __m512i sp_placement__bucket_lanes(const sp_placement *placement, __m512i hashes)
{
	__m512i buckets = sp_placement__lanes_of(placement->part_buckets);
	__m512i in_part = _mm512_srli_epi64(_mm512_mul_epu32(hashes, buckets), 32);
	__m512i part = sp_placement__part_lanes(placement, hashes);

	return _mm512_add_epi64(in_part, _mm512_mul_epu32(part, buckets));
}

/* `pilots`: one per lane. */
SP_PLACEMENT_LANES __m512i sp_placement__slot_lanes(const sp_placement *placement, __m512i hashes,
						    __m512i pilots)
{
	uint64_t moves = sp_placement_moves(placement->part_slots);
	__m512i move = _mm512_and_si512(pilots, sp_placement__lanes_of(moves));
	__m512i part = sp_placement__part_lanes(placement, hashes), x;

	x = _mm512_mullo_epi64(_mm512_sub_epi64(pilots, move),
			       sp_placement__lanes_of(SP_PLACEMENT_PILOT));
	x = _mm512_mullo_epi64(_mm512_xor_si512(hashes, x),
			       sp_placement__lanes_of(SP_PLACEMENT_SPREAD));
	x = _mm512_mul_epu32(_mm512_srli_epi64(x, 32),
			     sp_placement__lanes_of(placement->part_slots - moves));
	x = _mm512_add_epi64(_mm512_srli_epi64(x, 32), move);
	part = _mm512_mul_epu32(part, sp_placement__lanes_of(placement->part_slots));
	return _mm512_add_epi64(part, x);
}

/* The pilots [8] of these buckets, one per lane. */
SP_PLACEMENT_LANES __m512i sp_placement__pilot_lanes(const uint8_t *pilots, const uint64_t *buckets)
{
	uint64_t bytes = 0;

#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++)
		bytes |= (uint64_t)pilots[buckets[i]] << 8 * i;
	return _mm512_cvtepu8_epi64(_mm_cvtsi64_si128((int64_t)bytes));
}

#endif

#endif
