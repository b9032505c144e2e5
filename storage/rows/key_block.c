#include "storage/rows/key_block.h"

#include <assert.h>

#include "base/cpu.h"
#include "storage/placement/placement_lanes.h"

static void find_slots(const sp_rows *rows, const int64_t *keys, size_t count, char **slots)
{
	sp_rows_probe probes[SP_KEY_BLOCK];

	for (size_t i = 0; i < count; i++)
		sp_rows__start(rows, keys[i], &probes[i]);
	for (size_t i = 0; i < count; i++) {
		sp_rows__find_slot(rows, &probes[i]);
		slots[i] = sp_key_is_mark(keys[i]) ? NULL : (char *)probes[i].at.slot;
	}
}

#if defined(__x86_64__)

/* Lanes beyond the last key compute key 0, and their slots are not stored. */
SP_PLACEMENT_AVX512 static void find_slots_avx512(const sp_rows *rows, const int64_t *keys,
						  size_t count, char **slots)
{
	_Alignas(64) uint64_t hashes[SP_KEY_BLOCK], buckets[SP_KEY_BLOCK];
	const sp_placement placement = rows->shape.placement;

	for (size_t i = 0; i < count; i += SP_PLACEMENT_WIDTH) {
		__m512i some = _mm512_maskz_loadu_epi64(sp_placement__lane_mask(count - i),
							keys + i);
		__m512i hash = sp_placement__hash_lanes(&placement, some);

		_mm512_store_si512(hashes + i, hash);
		_mm512_store_si512(buckets + i, sp_placement__bucket_lanes(&placement, hash));
		for (size_t k = i; k < i + SP_PLACEMENT_WIDTH; k++)
			__builtin_prefetch(rows->pilots + buckets[k]);
	}
	for (size_t i = 0; i < count; i += SP_PLACEMENT_WIDTH) {
		__mmask8 lanes = sp_placement__lane_mask(count - i);
		__m512i some = _mm512_maskz_loadu_epi64(lanes, keys + i);
		__m512i pilots = sp_placement__pilot_lanes(rows->pilots, buckets + i), slot;

		slot = sp_placement__slot_lanes(&placement, _mm512_load_si512(hashes + i), pilots);
		slot = _mm512_mullo_epi64(slot, sp_placement__lanes_of(rows->shape.slot_size));
		slot = _mm512_add_epi64(slot, sp_placement__lanes_of((uintptr_t)rows->slots));
		/* The marks are the two largest unsigned numbers. */
		slot = _mm512_maskz_mov_epi64(
			_mm512_cmplt_epu64_mask(some, sp_placement__lanes_of((uint64_t)-2)), slot);
		_mm512_mask_storeu_epi64(slots + i, lanes, slot);
	}
}

#endif

void sp_key_block_find(const sp_rows *rows, const int64_t *keys, size_t count, char **slots)
{
	assert(count <= SP_KEY_BLOCK);
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512)) {
		find_slots_avx512(rows, keys, count, slots);
		return;
	}
#endif
	find_slots(rows, keys, count, slots);
}
