#ifndef SP_STORAGE_PLACEMENT_PLACEMENT_H
#define SP_STORAGE_PLACEMENT_PLACEMENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "storage/region.h"
#include "storage/rows/rows.h"

/*
 * Which slot a key has: a minimal-ish perfect hash, found anew for every set of
 * keys, that sends each of them to a slot of its own.
 *
 *   h      = a seeded permutation of all 64-bit numbers, applied to the key
 *   part   = (h / 2^32) * part_count / 2^32
 *   bucket = (h mod 2^32) * part_buckets / 2^32
 *   pilot  = pilots[part, bucket]: which of four hashes, and 0 to 63 slots to move on
 *   x      = (h ^ PILOT * (pilot - pilot mod 64)) * SPREAD mod 2^64
 *   slot   = (x / 2^32) * (part_slots - 63) / 2^32 + pilot mod 64
 *
 * In a part of less than 4096 slots all of the pilot chooses the hash, and 1 takes
 * the place of 64: few origins lead to the first and the last 63 slots, and there
 * these would be too many of all.
 *
 * Two or three keys share a bucket on average, and its pilot was chosen so that their
 * slots are free.  A key that was not among them gets somebody's slot, where it
 * finds another key; so keys are compared, and nothing else is stored to tell
 * them apart.  Whatever the bytes of the pilots, the slot exists.
 *
 * h being a permutation, different keys never share it, and it can be turned
 * back.  It is seeded afresh for every set, so that nobody can choose keys that
 * crowd into one bucket.
 *
 * Source: G. E. Pibiri, R. Trani, "PTHash: Revisiting FCH Minimal Perfect
 * Hashing", 2021; R. Groot Koerkamp, "PtrHash: Minimal Perfect Hashing at RAM
 * Throughput", 2025, for parts, 8-bit pilots and the way to find them.
 *
 * Threads: pure.
 */
#define SP_PLACEMENT_MIX    UINT64_C(0xd6e8feb86659fd93)
#define SP_PLACEMENT_PILOT  UINT64_C(0x517cc1b727220a95)
#define SP_PLACEMENT_SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* The greatest number of parts, and of buckets and slots of a part. */
#define SP_PLACEMENT_MOST UINT32_MAX

/* seed[1] is odd. */
static inline uint64_t sp_placement_hash(const sp_rows_shape *shape, int64_t key)
{
	uint64_t h = ((uint64_t)key ^ shape->seed[0]) * SP_PLACEMENT_MIX;

	h = (h ^ h >> 32) * shape->seed[1];
	return h ^ h >> 32;
}

static inline size_t sp_placement_part(const sp_rows_shape *shape, uint64_t hash)
{
	return (hash >> 32) * shape->part_count >> 32;
}

/* In its part. */
static inline size_t sp_placement_bucket_of(uint64_t hash, uint64_t part_buckets)
{
	return (hash & UINT32_MAX) * part_buckets >> 32;
}

/* A position in the array of pilots. */
static inline size_t sp_placement_bucket(const sp_rows_shape *shape, uint64_t hash)
{
	return sp_placement_part(shape, hash) * shape->part_buckets +
	       sp_placement_bucket_of(hash, shape->part_buckets);
}

/* The bits of a pilot that say how many slots to move on. */
static inline uint64_t sp_placement_moves(uint64_t part_slots)
{
	return part_slots >= 4096 ? 63 : 0;
}

/* Before moving on; counted from the first slot of the key's part. */
static inline size_t sp_placement_origin(uint64_t hash, uint64_t pilot, uint64_t part_slots)
{
	uint64_t moves = sp_placement_moves(part_slots);
	uint64_t x = (hash ^ SP_PLACEMENT_PILOT * (pilot & ~moves)) * SP_PLACEMENT_SPREAD;

	return (size_t)((x >> 32) * (part_slots - moves) >> 32);
}

static inline size_t sp_placement_slot_of(uint64_t hash, uint8_t pilot, uint64_t part_slots)
{
	return sp_placement_origin(hash, pilot, part_slots) +
	       (pilot & sp_placement_moves(part_slots));
}

static inline size_t sp_placement_slot(const sp_rows_shape *shape, uint64_t hash, uint8_t pilot)
{
	return sp_placement_part(shape, hash) * shape->part_slots +
	       sp_placement_slot_of(hash, pilot, shape->part_slots);
}

/*
 * Finds a place for each of keys [key_count], among which are neither -1 nor
 * -2; repeats are one.  Takes over `keys`, and this takes twice their size.
 * Gives the pilots [part_count * part_buckets], and fills what concerns placing
 * in *shape: row_count, slot_count, part_*, seed.  Works in up to `threads`
 * threads, the caller's included.  SP_BUSY soon after *stop has become true; NULL: never.
 */
SP_MUST_CHECK sp_status sp_placement_find(sp_region *pilots, sp_rows_shape *shape, sp_region *keys,
					  size_t key_count, size_t threads, const atomic_bool *stop,
					  sp_error *err);

#endif
