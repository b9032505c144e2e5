#include "storage/placement_internal.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

/*
 * Buckets are placed from the largest to the smallest.  Each takes the first
 * pilot that sends its keys to free slots.  Where there is none, it takes the
 * pilot that drives the fewest and smallest buckets out, and those are placed
 * again: as in cuckoo hashing, but a bucket has 256 nests.  Buckets that were
 * placed last are not driven out, or two would chase each other for ever.
 *
 * Pilots of one hash move all keys of a bucket on by the same number of slots.
 * So 64 pilots are tried at once: the 64 slots from each key's origin on are one
 * word of the bits that say what is taken, and a bit that is in none of these
 * words is a pilot that will do.
 */

enum {
	PILOTS = 256,
	/* Keys of a bucket; with two or three on average nobody ever sees more. */
	MAX_BUCKET = 48,
	RECENT = 16,
	/* Buckets that are placed, over those there are, before a seed is given up. */
	MAX_MOVES = 20,
};

#define NOBODY UINT32_MAX

typedef struct search {
	const sp_rows_shape *shape;
	uint64_t *hashes; /* bucket by bucket */
	uint8_t *pilots;
	uint32_t *starts; /* [part_buckets + 1]: where a bucket's hashes begin */
	uint32_t *owners; /* [part_slots]: the bucket that has the slot */
	uint32_t *next;   /* [part_buckets]: the bucket below on its stack */
	uint64_t *taken;  /* [part_slots / 64 + 2]: a bit for each slot */

	/* Buckets to be placed: a stack for each size. */
	uint32_t tops[MAX_BUCKET + 1];
	size_t largest;

	uint32_t origins[MAX_BUCKET]; /* of the bucket and the hash that were looked at last */
	uint32_t recent[RECENT];
	size_t placed;
	uint64_t walk; /* where to begin among the pilots; any number will do */
} search;

static size_t size_of(const search *s, uint32_t bucket)
{
	return s->starts[bucket + 1] - s->starts[bucket];
}

static void push(search *s, uint32_t bucket)
{
	size_t size = size_of(s, bucket);

	s->next[bucket] = s->tops[size];
	s->tops[size] = bucket;
	if (size > s->largest)
		s->largest = size;
}

/* The largest bucket that waits; NOBODY when none does. */
static uint32_t pop(search *s)
{
	uint32_t bucket;

	while (s->largest != 0 && s->tops[s->largest] == NOBODY)
		s->largest--;
	if (s->largest == 0)
		return NOBODY;
	bucket = s->tops[s->largest];
	s->tops[s->largest] = s->next[bucket];
	return bucket;
}

static bool is_taken(const search *s, size_t slot)
{
	return s->taken[slot / 64] >> (slot % 64) & 1;
}

static void slots_of(const search *s, uint32_t bucket, uint8_t pilot, uint32_t *slots)
{
	const uint64_t *hashes = s->hashes + s->starts[bucket];

	for (size_t i = 0; i < size_of(s, bucket); i++)
		slots[i] = (uint32_t)sp_placement_slot_of(hashes[i], pilot, s->shape->part_slots);
}

static bool all_different(const uint32_t *slots, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (slots[i] == slots[j])
				return false;
	return true;
}

/* The 64 bits from `slot` on. */
static uint64_t taken_from(const search *s, size_t slot)
{
	uint64_t low = s->taken[slot / 64], high = s->taken[slot / 64 + 1];

	return low >> (slot % 64) | high << 1 << (63 - slot % 64);
}

/*
 * Bit t is set when pilot first + t sends all keys of the bucket to free slots,
 * each to one of its own; `first` is the first pilot of a hash.
 */
static uint64_t free_among(search *s, uint32_t bucket, size_t first)
{
	const uint64_t *hashes = s->hashes + s->starts[bucket];
	uint64_t part_slots = s->shape->part_slots, occupied = 0;
	size_t count = size_of(s, bucket);

	for (size_t i = 0; i < count; i++) {
		s->origins[i] = (uint32_t)sp_placement_origin(hashes[i], first, part_slots);
		occupied |= taken_from(s, s->origins[i]);
	}
	return all_different(s->origins, count) ? ~occupied : 0;
}

static bool is_recent(const search *s, uint32_t bucket)
{
	for (size_t i = 0; i < RECENT; i++)
		if (s->recent[i] == bucket)
			return true;
	return false;
}

/* What driving out the owners of `slots` costs; SIZE_MAX when one of them was placed just now. */
static size_t cost_of(const search *s, const uint32_t *slots, size_t count)
{
	size_t cost = 0;

	for (size_t i = 0; i < count; i++) {
		size_t size;

		if (!is_taken(s, slots[i]))
			continue;
		if (is_recent(s, s->owners[slots[i]]))
			return SIZE_MAX;
		size = size_of(s, s->owners[slots[i]]);
		cost += size * size;
	}
	return cost;
}

static void drive_out(search *s, uint32_t bucket)
{
	uint32_t slots[MAX_BUCKET];

	slots_of(s, bucket, s->pilots[bucket], slots);
	for (size_t i = 0; i < size_of(s, bucket); i++)
		s->taken[slots[i] / 64] &= ~(UINT64_C(1) << (slots[i] % 64));
	push(s, bucket);
}

/* In these slots, which are free. */
static void settle(search *s, uint32_t bucket, uint8_t pilot, const uint32_t *slots)
{
	for (size_t i = 0; i < size_of(s, bucket); i++) {
		s->taken[slots[i] / 64] |= UINT64_C(1) << (slots[i] % 64);
		s->owners[slots[i]] = bucket;
	}
	s->pilots[bucket] = pilot;
	s->recent[s->placed++ % RECENT] = bucket;
}

/* The pilot that drives out the least; false when none will do. */
static bool cheapest_pilot(search *s, uint32_t bucket, uint8_t *pilot)
{
	size_t least = SIZE_MAX, count = size_of(s, bucket);

	s->walk = s->walk * UINT64_C(6364136223846793005) + 1442695040888963407u;
	for (size_t t = 0; t < PILOTS && least > 1; t++) {
		uint8_t candidate = (uint8_t)(t + (s->walk >> 56));
		uint32_t slots[MAX_BUCKET];
		size_t cost;

		slots_of(s, bucket, candidate, slots);
		cost = cost_of(s, slots, count);
		if (cost < least && all_different(slots, count)) {
			least = cost;
			*pilot = candidate;
		}
	}
	return least != SIZE_MAX;
}

/* Any of the pilots that will do: were it always the first, keys would crowd together. */
static bool settle_freely(search *s, uint32_t bucket)
{
	size_t moves = sp_placement_moves(s->shape->part_slots);

	s->walk = s->walk * UINT64_C(6364136223846793005) + 1442695040888963407u;
	for (size_t first = 0; first < PILOTS; first += moves + 1) {
		uint64_t some = free_among(s, bucket, first) & (UINT64_MAX >> (63 - moves));
		uint64_t after = some & (UINT64_MAX << (s->walk >> 58));
		size_t move;

		if (some == 0)
			continue;
		move = (size_t)__builtin_ctzll(after != 0 ? after : some);
		for (size_t i = 0; i < size_of(s, bucket); i++)
			s->origins[i] += (uint32_t)move;
		settle(s, bucket, (uint8_t)(first + move), s->origins);
		return true;
	}
	return false;
}

static bool settle_by_force(search *s, uint32_t bucket)
{
	uint32_t slots[MAX_BUCKET];
	uint8_t pilot = 0;

	if (!cheapest_pilot(s, bucket, &pilot))
		return false;
	slots_of(s, bucket, pilot, slots);
	for (size_t i = 0; i < size_of(s, bucket); i++)
		if (is_taken(s, slots[i]))
			drive_out(s, s->owners[slots[i]]);
	settle(s, bucket, pilot, slots);
	return true;
}

/* Hashes by bucket: counted, then each to its place. */
static void group(search *s, const uint64_t *hashes, size_t count)
{
	uint32_t *ends = s->starts + 1; /* while they are filled, where the next hash goes */
	size_t buckets = s->shape->part_buckets, at = 0;

	memset(s->starts, 0, (buckets + 1) * sizeof(*s->starts));
	for (size_t i = 0; i < count; i++)
		ends[sp_placement_bucket_of(hashes[i], buckets)]++;
	for (size_t b = 0; b < buckets; b++) {
		size_t size = ends[b];

		ends[b] = (uint32_t)at;
		at += size;
	}
	for (size_t i = 0; i < count; i++)
		s->hashes[ends[sp_placement_bucket_of(hashes[i], buckets)]++] = hashes[i];
}

/* All buckets on their stacks; false when one has too many keys. */
static bool fill_stacks(search *s)
{
	memset(s->tops, 0xff, sizeof(s->tops));
	memset(s->recent, 0xff, sizeof(s->recent));
	memset(s->pilots, 0, s->shape->part_buckets);
	for (uint32_t b = 0; b < s->shape->part_buckets; b++) {
		if (size_of(s, b) > MAX_BUCKET)
			return false;
		if (size_of(s, b) != 0)
			push(s, b);
	}
	return true;
}

static bool place_all(search *s)
{
	size_t most = MAX_MOVES * s->shape->part_buckets;
	uint32_t bucket;

	if (!fill_stacks(s))
		return false;
	while ((bucket = pop(s)) != NOBODY) {
		if (s->placed > most)
			return false;
		if (!settle_freely(s, bucket) && !settle_by_force(s, bucket))
			return false;
	}
	return true;
}

sp_status sp_placement__search(const sp_rows_shape *shape, const uint64_t *hashes, size_t count,
			       uint8_t *pilots, sp_error *err)
{
	size_t buckets = shape->part_buckets, words = shape->part_slots / 64 + 2;
	search s = {.shape = shape, .pilots = pilots};
	bool placed;

	s.taken = sp_alloc((words + count) * sizeof(uint64_t) +
			   (2 * buckets + 1 + shape->part_slots) * sizeof(uint32_t));
	if (s.taken == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to place %zu keys", count);
	memset(s.taken, 0, words * sizeof(*s.taken));
	s.hashes = s.taken + words;
	s.starts = (uint32_t *)(s.hashes + count);
	s.next = s.starts + buckets + 1;
	s.owners = s.next + buckets;
	group(&s, hashes, count);
	placed = place_all(&s);
	sp_free(s.taken);
	if (!placed)
		return sp_error_set(err, SP_BUSY, "no places for %zu keys under this seed", count);
	return SP_OK;
}
