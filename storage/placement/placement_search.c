#include "storage/placement/placement_internal.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

/*
 * Buckets are placed from the largest to the smallest.  Each takes the first pilot that sends its
 * keys to free slots.  If there is none, it takes the pilot that evicts the fewest and smallest
 * buckets, which are then placed again: cuckoo hashing with 256 choices.  Buckets placed just
 * before are not evicted, so that two buckets do not evict each other forever.
 *
 * The 64 pilots of one hash shift all keys of a bucket by the same number of slots, so they are
 * tried at once: the 64 slots from a key's origin on are a word of the bitmap of taken slots, and a
 * bit that is clear in the words of all keys is a valid pilot.  The costs of evictions are summed
 * for 64 pilots at once, too.
 *
 * Buckets and slots are numbered with 16 bits, so that most of the data read at random stays in the
 * first level cache.
 */

enum {
	PILOTS = 256,
	/* Largest bucket; with two or three keys on average larger ones do not occur. */
	MAX_BUCKET = 48,
	RECENT = 16,
	/* Placements per bucket, evictions included, before a seed is given up. */
	MAX_MOVES = 20,
};

#define NOBODY UINT16_MAX

typedef struct search {
	const sp_placement *placement;
	uint64_t *hashes; /* bucket by bucket */
	uint8_t *pilots;
	uint64_t *taken;  /* [part_slots / 64 + 2]: a bit for each slot */
	uint16_t *starts; /* [part_buckets + 1]: where a bucket's hashes begin */
	uint16_t *owners; /* [part_slots]: the bucket that holds the slot */
	uint16_t *next;   /* [part_buckets]: the next bucket on its stack */
	uint8_t *costs;   /* [part_slots]: of evicting the slot's owner; 0 when it is free */

	/* Buckets to be placed: a stack for each size. */
	uint16_t tops[MAX_BUCKET + 1];
	size_t largest;

	uint16_t recent[RECENT];
	size_t placed;
	uint64_t walk; /* state of the generator of starting pilots */
} search;

static size_t size_of(const search *s, uint16_t bucket)
{
	return (size_t)(s->starts[bucket + 1] - s->starts[bucket]);
}

static void push(search *s, uint16_t bucket)
{
	size_t size = size_of(s, bucket);

	s->next[bucket] = s->tops[size];
	s->tops[size] = bucket;
	if (size > s->largest)
		s->largest = size;
}

/* Takes the largest bucket that is not placed; NOBODY when all are placed. */
static uint32_t pop(search *s)
{
	uint16_t bucket;

	while (s->largest != 0 && s->tops[s->largest] == NOBODY)
		s->largest--;
	if (s->largest == 0)
		return NOBODY;
	bucket = s->tops[s->largest];
	s->tops[s->largest] = s->next[bucket];
	return bucket;
}

/* Functions inlined with a constant number of keys. */
#define INLINE static inline __attribute__((always_inline))

INLINE bool all_different(const uint16_t *slots, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (slots[i] == slots[j])
				return false;
	return true;
}

/* The 64 bits of the bitmap from `slot` on. */
INLINE uint64_t taken_from(const search *s, size_t slot)
{
	uint64_t low = s->taken[slot / 64], high = s->taken[slot / 64 + 1];

	return low >> (slot % 64) | high << 1 << (63 - slot % 64);
}

/* Computes the origins of the bucket's keys [count] under the hash whose first pilot is `first`. */
INLINE void find_origins(const search *s, uint16_t bucket, size_t count, size_t first,
			 uint16_t *origins)
{
	const uint64_t *hashes = s->hashes + s->starts[bucket];
	uint64_t part_slots = s->placement->part_slots;

	for (size_t i = 0; i < count; i++)
		origins[i] = (uint16_t)sp_placement_origin(hashes[i], first, part_slots);
}

/*
 * Bit t is set when pilot first + t sends the keys of the bucket to different free slots;
 * `first` is the first pilot of a hash.
 */
INLINE uint64_t free_among(const search *s, uint16_t bucket, size_t count, size_t first,
			   uint16_t *origins)
{
	uint64_t occupied = 0;

	find_origins(s, bucket, count, first, origins);
	for (size_t i = 0; i < count; i++)
		occupied |= taken_from(s, origins[i]);
	return all_different(origins, count) ? ~occupied : 0;
}

/* Places the bucket in the slots at distance `move` from its origins, which are free. */
INLINE void place_bucket(search *s, uint16_t bucket, size_t count, const uint16_t *origins,
			 size_t first, size_t move)
{
	size_t cost = count * count;

	for (size_t i = 0; i < count; i++) {
		size_t slot = origins[i] + move;

		s->taken[slot / 64] |= UINT64_C(1) << (slot % 64);
		s->owners[slot] = bucket;
		s->costs[slot] = cost < UINT8_MAX ? (uint8_t)cost : UINT8_MAX;
	}
	s->pilots[bucket] = (uint8_t)(first + move);
	s->recent[s->placed++ % RECENT] = bucket;
}

/* A different starting pilot for each bucket: with one for all, keys would cluster. */
static size_t random_bits(search *s)
{
	s->walk = s->walk * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (size_t)(s->walk >> 56);
}

INLINE bool place_keys_freely(search *s, uint16_t bucket, size_t count)
{
	size_t moves = sp_placement_moves(s->placement->part_slots), begin = random_bits(s) / 4;
	uint16_t origins[MAX_BUCKET];

	for (size_t first = 0; first < PILOTS; first += moves + 1) {
		uint64_t some = free_among(s, bucket, count, first, origins) &
				(UINT64_MAX >> (63 - moves));
		uint64_t after = some & (UINT64_MAX << begin);

		if (some == 0)
			continue;
		place_bucket(s, bucket, count, origins, first,
			     (size_t)__builtin_ctzll(after != 0 ? after : some));
		return true;
	}
	return false;
}

/* Tries to place the bucket without evictions. */
static bool place_freely(search *s, uint16_t bucket)
{
	size_t count = size_of(s, bucket);

	switch (count) {
	case 1:
		return place_keys_freely(s, bucket, 1);
	case 2:
		return place_keys_freely(s, bucket, 2);
	case 3:
		return place_keys_freely(s, bucket, 3);
	case 4:
		return place_keys_freely(s, bucket, 4);
	default:
		return place_keys_freely(s, bucket, count);
	}
}

/* ------------------------------------------------------------------ evicting */

static void drive_out(search *s, uint16_t bucket)
{
	const uint64_t *hashes = s->hashes + s->starts[bucket];

	for (size_t i = 0; i < size_of(s, bucket); i++) {
		size_t slot = sp_placement_slot_of(hashes[i], s->pilots[bucket],
						   s->placement->part_slots);

		s->taken[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
		s->costs[slot] = 0;
	}
	push(s, bucket);
}

/*
 * Whether any slot at distance `move` from the origins [count] is of a bucket placed just before.
 */
static bool are_recent(const search *s, const uint16_t *origins, size_t count, size_t move)
{
	for (size_t i = 0; i < count; i++) {
		size_t slot = origins[i] + move;

		for (size_t k = 0; s->costs[slot] != 0 && k < RECENT; k++)
			if (s->recent[k] == s->owners[slot])
				return true;
	}
	return false;
}

/* The cost of evictions for each of the moves [PILOTS / 4] from the origins [count]. */
static void sum_costs(const search *s, const uint16_t *origins, size_t count, uint16_t *costs)
{
	memset(costs, 0, PILOTS / 4 * sizeof(*costs));
	for (size_t i = 0; i < count; i++)
		for (size_t t = 0; t < PILOTS / 4; t++)
			costs[t] = (uint16_t)(costs[t] + s->costs[origins[i] + t]);
}

/* Finds the cheapest move if it costs less than *least; false when none does. */
static bool cheapest_move(search *s, uint16_t bucket, size_t first, size_t *least, size_t *move)
{
	size_t moves = sp_placement_moves(s->placement->part_slots), count = size_of(s, bucket);
	size_t begin = random_bits(s);
	uint16_t origins[MAX_BUCKET], costs[PILOTS / 4];
	bool found = false;

	find_origins(s, bucket, count, first, origins);
	if (!all_different(origins, count))
		return false;
	sum_costs(s, origins, count, costs);
	for (size_t t = 0; t <= moves; t++) {
		size_t candidate = (begin + t) & moves;

		if (costs[candidate] < *least && !are_recent(s, origins, count, candidate)) {
			found = true;
			*least = costs[candidate];
			*move = candidate;
		}
	}
	return found;
}

/* Places the bucket by the pilot with the cheapest evictions; false when there is none. */
static bool place_by_eviction(search *s, uint16_t bucket)
{
	size_t moves = sp_placement_moves(s->placement->part_slots),
	       begin = random_bits(s) & ~moves;
	size_t least = SIZE_MAX, first = 0, move = 0, count = size_of(s, bucket);
	uint16_t origins[MAX_BUCKET];

	for (size_t t = 0; t < PILOTS && least > 1; t += moves + 1)
		if (cheapest_move(s, bucket, (begin + t) % PILOTS, &least, &move))
			first = (begin + t) % PILOTS;
	if (least == SIZE_MAX)
		return false;
	find_origins(s, bucket, count, first, origins);
	for (size_t i = 0; i < count; i++)
		if (s->costs[origins[i] + move] != 0)
			drive_out(s, s->owners[origins[i] + move]);
	place_bucket(s, bucket, count, origins, first, move);
	return true;
}

/* Sorts hashes by bucket: counting sort. */
static void group(search *s, const uint64_t *hashes, size_t count)
{
	uint16_t *ends = s->starts + 1; /* during the sort: where the next hash goes */
	size_t buckets = s->placement->part_buckets, at = 0;

	memset(s->starts, 0, (buckets + 1) * sizeof(*s->starts));
	for (size_t i = 0; i < count; i++)
		ends[sp_placement_bucket_of(hashes[i], buckets)]++;
	for (size_t b = 0; b < buckets; b++) {
		size_t size = ends[b];

		ends[b] = (uint16_t)at;
		at += size;
	}
	for (size_t i = 0; i < count; i++)
		s->hashes[ends[sp_placement_bucket_of(hashes[i], buckets)]++] = hashes[i];
}

/* Puts all buckets on the stacks of their sizes; false when one has too many keys. */
static bool fill_stacks(search *s)
{
	memset(s->tops, 0xff, sizeof(s->tops));
	memset(s->recent, 0xff, sizeof(s->recent));
	memset(s->pilots, 0, s->placement->part_buckets);
	for (size_t b = 0; b < s->placement->part_buckets; b++) {
		size_t size = size_of(s, (uint16_t)b);

		if (size > MAX_BUCKET)
			return false;
		if (size != 0)
			push(s, (uint16_t)b);
	}
	return true;
}

static bool place_all(search *s)
{
	size_t most = MAX_MOVES * s->placement->part_buckets;
	uint16_t bucket;

	if (!fill_stacks(s))
		return false;
	while ((bucket = pop(s)) != NOBODY) {
		if (s->placed > most)
			return false;
		if (!place_freely(s, bucket) && !place_by_eviction(s, bucket))
			return false;
	}
	return true;
}

static sp_status no_places(size_t count, sp_error *err)
{
	return sp_error_set(err, SP_BUSY, "no places for %zu keys under this seed", count);
}

sp_status sp_placement__search(const sp_placement *placement, const uint64_t *hashes, size_t count,
			       uint8_t *pilots, sp_error *err)
{
	size_t buckets = placement->part_buckets, slots = placement->part_slots,
	       words = slots / 64 + 2;
	search s = {.placement = placement, .pilots = pilots};
	bool placed = false;

	if (slots > UINT16_MAX) /* far more hashes than a part has: many are repeats */
		return no_places(count, err);
	/* 64 slots are read at once, even from the last origin on. */
	s.taken = sp_alloc((words + count) * sizeof(uint64_t) +
			   (2 * buckets + 1 + slots) * sizeof(uint16_t) + slots + PILOTS / 4);
	SP_NEED_MEMORY(s.taken, err, "placing %zu keys", count);
	memset(s.taken, 0, words * sizeof(*s.taken));
	s.hashes = s.taken + words;
	s.starts = (uint16_t *)(s.hashes + count);
	s.next = s.starts + buckets + 1;
	s.owners = s.next + buckets;
	s.costs = (uint8_t *)(s.owners + slots);
	memset(s.costs, 0, slots + PILOTS / 4);
	group(&s, hashes, count);
	placed = place_all(&s);
	sp_free(s.taken);
	return placed ? SP_OK : no_places(count, err);
}
