#include "storage/index.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/size.h"

_Static_assert(sizeof(sp_index_bucket) == 64, "a bucket is a cache line");

enum {
	/* Moves before we take the index for too full; at this load a walk ends after a few. */
	MAX_MOVES = 500,
	/* One slot in five stays empty, and small indexes get a little more room. */
	LOAD_PARTS = 8,
	LOAD_WHOLE = 10,
	SPARE_BUCKETS = 2,
};

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two rounds of multiply and fold, each with a secret. */
static inline uint64_t hash_of(const sp_index *index, int64_t key)
{
	uint64_t h = fold((uint64_t)key ^ index->seed[0], UINT64_C(0x9e3779b97f4a7c15));

	return fold(h ^ index->seed[1], UINT64_C(0xd6e8feb86659fd93));
}

/* A hash as a number below `count`, without a division. */
static inline size_t reduce(uint64_t hash, size_t count)
{
	return (size_t)(((unsigned __int128)hash * count) >> 64);
}

static inline sp_index_bucket *first_of(const sp_index *index, uint64_t hash)
{
	return (sp_index_bucket *)index->region.data + reduce(hash, index->bucket_count);
}

/* The other half of the hash leads. */
static inline sp_index_bucket *second_of(const sp_index *index, uint64_t hash)
{
	return (sp_index_bucket *)index->region.data +
	       reduce(hash << 32 | hash >> 32, index->bucket_count);
}

/*
 * Which slot it is, is a matter of chance: a branch on it would be mispredicted
 * most of the time.  SP_INDEX_NONE has all bits set, so the answer is gathered
 * inverted.
 */
static inline uint32_t row_in(const sp_index_bucket *bucket, int64_t key)
{
	uint32_t inverted = 0;

#pragma GCC unroll 5
	for (int s = 0; s < SP_INDEX_BUCKET_SLOTS; s++)
		inverted |= -(uint32_t)(bucket->keys[s] == key) & ~bucket->rows[s];
	return ~inverted;
}

static void choose_seed(sp_index *index)
{
	if (getrandom(index->seed, sizeof(index->seed), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(index->seed)) {
		index->seed[0] += (uint64_t)sp_clock_now_ns();
		index->seed[1] += (uint64_t)(uintptr_t)index;
	}
}

/* Buckets for `keys` keys. */
static size_t buckets_for(size_t keys)
{
	size_t slots_times = LOAD_PARTS * SP_INDEX_BUCKET_SLOTS;

	return keys / slots_times * LOAD_WHOLE + keys % slots_times * LOAD_WHOLE / slots_times +
	       SPARE_BUCKETS;
}

static bool make_buckets(sp_index *index, size_t count)
{
	sp_index_bucket *buckets;
	size_t size;

	if (!sp_size_mul(&size, count, sizeof(*buckets)) || !sp_region_resize(&index->region, size))
		return false;
	buckets = index->region.data;
	for (size_t i = 0; i < count; i++) {
		memset(&buckets[i], 0xff, sizeof(buckets[i])); /* key -1, SP_INDEX_NONE */
		buckets[i].spilled = 0;
	}
	index->bucket_count = count;
	choose_seed(index);
	return true;
}

sp_status sp_index_init(sp_index *index, size_t expected, sp_error *err)
{
	*index = (sp_index){0};
	if (expected > SP_INDEX_MAX_ROWS)
		return sp_error_set(err, SP_UNSUPPORTED, "%zu keys are too many for one index",
				    expected);
	if (!make_buckets(index, buckets_for(expected)))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an index of %zu keys",
				    expected);
	return SP_OK;
}

void sp_index_fini(sp_index *index)
{
	sp_region_fini(&index->region);
	*index = (sp_index){0};
}

static bool put_in_empty(sp_index_bucket *bucket, int64_t key, uint32_t row)
{
	for (int s = 0; s < SP_INDEX_BUCKET_SLOTS; s++)
		if (bucket->keys[s] == SP_INDEX_EMPTY_KEY) {
			bucket->keys[s] = key;
			bucket->rows[s] = row;
			return true;
		}
	return false;
}

/* Takes the place of some key in a full bucket; that key is what is left to be placed. */
static void displace(sp_index *index, sp_index_bucket *bucket, int64_t *key, uint32_t *row)
{
	int64_t other_key;
	uint32_t other_row;
	size_t slot;

	index->walk = index->walk * UINT64_C(6364136223846793005) + 1442695040888963407u;
	slot = reduce(index->walk, SP_INDEX_BUCKET_SLOTS);
	other_key = bucket->keys[slot];
	other_row = bucket->rows[slot];
	bucket->keys[slot] = *key;
	bucket->rows[slot] = *row;
	*key = other_key;
	*row = other_row;
}

/*
 * Places a key that is not there.  False when the index is too full: then
 * (*key, *row) is a pair that has no place, not always the one that came.
 */
static bool place(sp_index *index, int64_t *key, uint32_t *row)
{
	uint64_t hash = hash_of(index, *key);
	sp_index_bucket *at = first_of(index, hash);

	if (put_in_empty(at, *key, *row))
		return true;
	for (int moves = 0; moves < MAX_MOVES; moves++) {
		sp_index_bucket *first = first_of(index, hash);

		/* From the bucket that was full to the other one of the same key. */
		if (at == first) {
			first->spilled = 1;
			at = second_of(index, hash);
		} else {
			at = first;
		}
		if (put_in_empty(at, *key, *row))
			return true;
		displace(index, at, key, row);
		hash = hash_of(index, *key);
	}
	return false;
}

/* Places every key of `old`; false when this one is too full for them. */
static bool place_all(sp_index *index, const sp_index *old)
{
	const sp_index_bucket *buckets = old->region.data;

	for (size_t i = 0; i < old->bucket_count; i++)
		for (int s = 0; s < SP_INDEX_BUCKET_SLOTS; s++) {
			int64_t key = buckets[i].keys[s];
			uint32_t row = buckets[i].rows[s];

			if (key != SP_INDEX_EMPTY_KEY && !place(index, &key, &row))
				return false;
		}
	return true;
}

/*
 * A new set of buckets, at least `bucket_count`, with all keys and, unless it
 * is empty, the pair (key, row).  A fresh seed makes it succeed sooner or
 * later; each try has a little more room, so that it is sooner.
 */
static sp_status rebuild(sp_index *index, size_t bucket_count, int64_t key, uint32_t row,
			 sp_error *err)
{
	for (;;) {
		sp_index next = {.count = index->count, .walk = index->walk};
		int64_t left_key = key;
		uint32_t left_row = row;

		if (!make_buckets(&next, bucket_count))
			return sp_error_set(err, SP_NO_MEMORY, "no memory for an index of %zu keys",
					    index->count);
		if (place_all(&next, index) &&
		    (key == SP_INDEX_EMPTY_KEY || place(&next, &left_key, &left_row))) {
			sp_index_fini(index);
			*index = next;
			return SP_OK;
		}
		sp_index_fini(&next);
		bucket_count += bucket_count / 8 + 1;
	}
}

static uint32_t find_one(const sp_index *index, uint64_t hash, int64_t key)
{
	const sp_index_bucket *first = first_of(index, hash);
	uint32_t row = row_in(first, key);

	if (row == SP_INDEX_NONE && first->spilled != 0)
		row = row_in(second_of(index, hash), key);
	return row;
}

sp_status sp_index_add(sp_index *index, int64_t key, uint32_t row, uint32_t *held, sp_error *err)
{
	assert(key != SP_INDEX_EMPTY_KEY && row < SP_INDEX_MAX_ROWS);
	*held = find_one(index, hash_of(index, key), key);
	if (*held != SP_INDEX_NONE)
		return SP_OK;
	*held = row;
	index->count++;
	if (buckets_for(index->count) > index->bucket_count)
		return rebuild(index, buckets_for(2 * index->count), key, row, err);
	if (!place(index, &key, &row))
		return rebuild(index, index->bucket_count, key, row, err);
	return SP_OK;
}

sp_status sp_index_shrink(sp_index *index, sp_error *err)
{
	size_t needed = buckets_for(index->count);

	if (needed >= index->bucket_count - index->bucket_count / 16)
		return SP_OK;
	return rebuild(index, needed, SP_INDEX_EMPTY_KEY, SP_INDEX_NONE, err);
}

void sp_index_probe_start(const sp_index *index, sp_index_probe *probe, const int64_t *keys,
			  size_t count)
{
	assert(count <= SP_INDEX_BLOCK);
	probe->keys = keys;
	probe->count = count;
	for (size_t i = 0; i < count; i++) {
		probe->hashes[i] = hash_of(index, keys[i]);
		__builtin_prefetch(first_of(index, probe->hashes[i]));
	}
}

void sp_index_probe_first(const sp_index *index, sp_index_probe *probe)
{
	probe->later_count = 0;
	for (size_t i = 0; i < probe->count; i++) {
		const sp_index_bucket *first = first_of(index, probe->hashes[i]);

		probe->rows[i] = row_in(first, probe->keys[i]);
		if (probe->rows[i] == SP_INDEX_NONE && first->spilled != 0) {
			__builtin_prefetch(second_of(index, probe->hashes[i]));
			probe->later[probe->later_count++] = (uint8_t)i;
		}
	}
}

void sp_index_probe_second(const sp_index *index, sp_index_probe *probe)
{
	for (size_t k = 0; k < probe->later_count; k++) {
		size_t i = probe->later[k];

		probe->rows[i] = row_in(second_of(index, probe->hashes[i]), probe->keys[i]);
	}
}
