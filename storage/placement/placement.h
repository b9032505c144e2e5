#ifndef SP_STORAGE_PLACEMENT_PLACEMENT_H
#define SP_STORAGE_PLACEMENT_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keys to slots: an almost minimal perfect hash, built for one set of keys, that maps each of them
 * to a slot of its own.
 *
 *   h      = a seeded permutation of all 64-bit numbers, applied to the key
 *   part   = (h / 2^32) * part_count / 2^32
 *   bucket = (h mod 2^32) * part_buckets / 2^32
 *   pilot  = pilots[part, bucket]: bits 6-7 choose one of four hashes,
 *            bits 0-5 an offset of 0 to 63 slots
 *   x      = (h ^ PILOT * (pilot - pilot mod 64)) * SPREAD mod 2^64
 *   slot   = (x / 2^32) * (part_slots - 63) / 2^32 + pilot mod 64
 *
 * In a part of less than 4096 slots the whole pilot chooses the hash and there is no offset: an
 * offset makes the first and the last 63 slots hard to reach, too large a share of a small part.
 *
 * Two or three keys share a bucket on average; its pilot is chosen so that they get free slots.  A
 * key outside the set is mapped to some slot, too, which holds another key or none: the caller
 * compares keys.  The slot number is in range for any bytes of pilots.
 *
 * h is a permutation: different keys have different hashes, and a key can be computed from its
 * hash.  Every set has a random seed, so that nobody can choose keys that crowd into one bucket.
 *
 * Source: G. E. Pibiri, R. Trani, "PTHash: Revisiting FCH Minimal Perfect Hashing", 2021; R. Groot
 * Koerkamp, "PtrHash: Minimal Perfect Hashing at RAM Throughput", 2025, for parts, 8-bit pilots and
 * the way to find them.
 *
 * Threads: pure.
 */
#define SP_PLACEMENT_MIX    UINT64_C(0xd6e8feb86659fd93)
#define SP_PLACEMENT_PILOT  UINT64_C(0x517cc1b727220a95)
#define SP_PLACEMENT_SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* DeepRec's marks of empty and deleted slots: no row has these keys. */
#define SP_KEY_EMPTY   INT64_C(-1)
#define SP_KEY_DELETED INT64_C(-2)

static inline bool sp_key_is_mark(int64_t key)
{
	return key == SP_KEY_EMPTY || key == SP_KEY_DELETED;
}

/* The parameters of the hash, beside the pilots [part_count * part_buckets]. */
typedef struct sp_placement {
	size_t key_count;
	size_t slot_count; /* part_count * part_slots */
	size_t part_count; /* keys are divided into parts by their hash */
	size_t part_slots;
	size_t part_buckets;
	uint64_t seed[2]; /* the second is odd */
} sp_placement;

/* Upper bound of the parts, and of the buckets and slots of a part. */
#define SP_PLACEMENT_MOST UINT32_MAX

static inline uint64_t sp_placement_hash(const sp_placement *placement, int64_t key)
{
	uint64_t h = ((uint64_t)key ^ placement->seed[0]) * SP_PLACEMENT_MIX;

	h = (h ^ h >> 32) * placement->seed[1];
	return h ^ h >> 32;
}

static inline size_t sp_placement_part(const sp_placement *placement, uint64_t hash)
{
	return (hash >> 32) * placement->part_count >> 32;
}

/* The bucket within the part. */
static inline size_t sp_placement_bucket_of(uint64_t hash, uint64_t part_buckets)
{
	return (hash & UINT32_MAX) * part_buckets >> 32;
}

/* The position in the array of pilots. */
static inline size_t sp_placement_bucket(const sp_placement *placement, uint64_t hash)
{
	return sp_placement_part(placement, hash) * placement->part_buckets +
	       sp_placement_bucket_of(hash, placement->part_buckets);
}

/* Mask of the bits of a pilot that are the offset. */
static inline uint64_t sp_placement_moves(uint64_t part_slots)
{
	return part_slots >= 4096 ? 63 : 0;
}

/* The slot before the offset is added, within the key's part. */
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

static inline size_t sp_placement_slot(const sp_placement *placement, uint64_t hash, uint8_t pilot)
{
	return sp_placement_part(placement, hash) * placement->part_slots +
	       sp_placement_slot_of(hash, pilot, placement->part_slots);
}

/*
 * The sizes that a placement of `key_count` different keys will have; the seed is left 0.  Slots
 * depend on the fullest part, which chance decides: within a percent of the number of keys.
 */
void sp_placement_expect(sp_placement *out, size_t key_count);

/* hashes[i] = hash of keys[i]. */
void sp_placement_hash_all(const sp_placement *placement, const int64_t *keys, size_t count,
			   uint64_t *hashes);

#endif
