#include "storage/rows/key_block.h"

#include <assert.h>

#include "base/cpu.h"
#include "storage/placement/placement_lanes.h"

static void find(const sp_rows *rows, const int64_t *keys, size_t count, char **slots)
{
	sp_rows_probe probes[SP_KEY_BLOCK];

	for (size_t i = 0; i < count; i++)
		sp_rows__start(rows, keys[i], &probes[i]);
	for (size_t i = 0; i < count; i++) {
		sp_rows__find_slot(rows, &probes[i]);
		slots[i] = sp_rows_is_mark(keys[i]) ? NULL : (char *)probes[i].at.slot;
	}
}

#if defined(__x86_64__)

enum { LANES = 8 };

/* Of `left` keys those that are in these lanes. */
static inline __mmask8 lanes_of(size_t left)
{
	return (__mmask8)(left < LANES ? (1u << left) - 1 : UINT8_MAX);
}

SP_PLACEMENT_AVX512 static void hash_avx512(const sp_rows_shape *shape, const int64_t *keys,
					    size_t count, uint64_t *hashes)
{
	for (size_t i = 0; i < count; i += LANES) {
		__mmask8 lanes = lanes_of(count - i);
		__m512i some = _mm512_maskz_loadu_epi64(lanes, keys + i);

		_mm512_mask_storeu_epi64(hashes + i, lanes, sp_placement__hash_lanes(shape, some));
	}
}

/* Lanes without a key are somebody's key, and their slots are not stored. */
SP_PLACEMENT_AVX512 static void find_avx512(const sp_rows *rows, const int64_t *keys, size_t count,
					    char **slots)
{
	_Alignas(64) uint64_t hashes[SP_KEY_BLOCK], buckets[SP_KEY_BLOCK];
	const sp_rows_shape shape = rows->shape;

	for (size_t i = 0; i < count; i += LANES) {
		__m512i some = _mm512_maskz_loadu_epi64(lanes_of(count - i), keys + i);
		__m512i hash = sp_placement__hash_lanes(&shape, some);

		_mm512_store_si512(hashes + i, hash);
		_mm512_store_si512(buckets + i, sp_placement__bucket_lanes(&shape, hash));
		for (size_t k = i; k < i + LANES; k++)
			__builtin_prefetch(rows->pilots + buckets[k]);
	}
	for (size_t i = 0; i < count; i += LANES) {
		__mmask8 lanes = lanes_of(count - i);
		__m512i some = _mm512_maskz_loadu_epi64(lanes, keys + i);
		__m512i pilots = sp_placement__pilot_lanes(rows->pilots, buckets + i), slot;

		slot = sp_placement__slot_lanes(&shape, _mm512_load_si512(hashes + i), pilots);
		slot = _mm512_mullo_epi64(slot, sp_placement__lanes_of(shape.slot_size));
		slot = _mm512_add_epi64(slot, sp_placement__lanes_of((uintptr_t)rows->slots));
		/* The marks are the two largest numbers. */
		slot = _mm512_maskz_mov_epi64(
			_mm512_cmplt_epu64_mask(some, sp_placement__lanes_of((uint64_t)-2)), slot);
		_mm512_mask_storeu_epi64(slots + i, lanes, slot);
	}
}

#endif

void sp_key_block_hash(const sp_rows_shape *shape, const int64_t *keys, size_t count,
		       uint64_t *hashes)
{
	const sp_rows_shape of = *shape; /* nobody writes to this one in between */

#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512)) {
		hash_avx512(&of, keys, count, hashes);
		return;
	}
#endif
	for (size_t i = 0; i < count; i++)
		hashes[i] = sp_placement_hash(&of, keys[i]);
}

void sp_key_block_find(const sp_rows *rows, const int64_t *keys, size_t count, char **slots)
{
	assert(count <= SP_KEY_BLOCK);
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512)) {
		find_avx512(rows, keys, count, slots);
		return;
	}
#endif
	find(rows, keys, count, slots);
}
