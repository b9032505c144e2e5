#include "storage/cache/row_cache.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "storage/region.h"
#include "storage/cache/cache_set.h"

/*
 * A set-associative cache: a key's hash chooses a set of sixteen ways.  A set is a head
 * (storage/cache/cache_set.h) and sixteen slots of key and row, so a hit reads the head and one
 * slot.
 *
 * Rows are read and written as atomic words, with acquire and release: a reader discards what it
 * has copied if the set's sequence number shows a write.
 */

enum {
	WAYS = SP_CACHE_SET_WAYS,
	BLOCK = 16,           /* keys whose memory is prefetched together */
	WINDOW = 128,         /* uses per way until counts are halved */
	TICKS_PER_ROUND = 64, /* lru: ticks in as many uses as there are ways */
	PROBATION = 6,        /* lru: ways of a set that rows used only once can occupy */
	NO_WAY = SP_CACHE_SET_NONE,
};

typedef struct row_slot {
	_Atomic int64_t key;
	_Atomic uint64_t words[];
} row_slot;

struct sp_row_cache {
	atomic_size_t users;
	sp_region region;
	size_t sets, set_size, slot_size, row_size;
	sp_row_cache_policy policy;
	uint64_t window; /* uses per epoch (lfu), per tick (lru) */
	uint64_t key_of_hash[2];
	_Atomic uint64_t uses;
};

/* The set and tag of a key. */
typedef struct key_location {
	sp_cache_set *set;
	uint64_t hash;
	unsigned tag;
} key_location;

/* ---- layout ---- */

static row_slot *slot_of(const sp_row_cache *cache, sp_cache_set *set, unsigned way)
{
	return (row_slot *)((char *)(set + 1) + way * cache->slot_size);
}

static key_location locate(const sp_row_cache *cache, int64_t key)
{
	uint64_t h = (uint64_t)key ^ cache->key_of_hash[0];

	h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
	h = (h ^ (h >> 32) ^ cache->key_of_hash[1]) * 0xd6e8feb86659fd93u;
	h ^= h >> 32;
	return (key_location){
		.set = (sp_cache_set *)((char *)cache->region.data +
					(size_t)(((__uint128_t)h * cache->sets) >> 64) *
						cache->set_size),
		.hash = h,
		.tag = 1 + (unsigned)(((h & 0xffff) * 255) >> 16),
	};
}

/* The way that holds the key, or NO_WAY. */
static unsigned find_way(const sp_row_cache *cache, const key_location *location, int64_t key)
{
	for (unsigned half = 0; half < 2; half++) {
		uint64_t left = sp_cache_set_matches(location->set, half, location->tag);

		for (; left != 0; left &= left - 1) {
			unsigned way = sp_cache_set_first(half, left);
			row_slot *slot = slot_of(cache, location->set, way);

			if (atomic_load_explicit(&slot->key, memory_order_acquire) == key)
				return way;
		}
	}
	return NO_WAY;
}

/* ---- scores ---- */

static uint32_t now(const sp_row_cache *cache)
{
	return (uint32_t)(atomic_load_explicit(&cache->uses, memory_order_relaxed) / cache->window);
}

static void age(const sp_row_cache *cache, sp_cache_set *set, uint32_t time)
{
	if (cache->policy == SP_ROW_CACHE_LFU)
		sp_cache_set_halve(set, time);
	else
		sp_cache_set_tick(set, time);
}

static void record_use(const sp_row_cache *cache, sp_cache_set *set, unsigned way, uint32_t time)
{
	unsigned score;

	age(cache, set, time);
	score = sp_cache_set_score(set, way);
	if (score < SP_CACHE_SET_MAX_SCORE)
		sp_cache_set_put_score(set, way,
				       cache->policy == SP_ROW_CACHE_LFU ? score + 1
									 : SP_CACHE_SET_MAX_SCORE);
}

/* ---- reading ---- */

static void copy_row(const sp_row_cache *cache, const row_slot *slot, uint64_t *row)
{
	for (size_t i = 0; i < cache->slot_size / 8 - 1; i++)
		row[i] = atomic_load_explicit(&slot->words[i], memory_order_acquire);
}

/* Copies the row; a miss if the set was written meanwhile. */
static sp_row_cache_result read_one(sp_row_cache *cache, const key_location *location, int64_t key,
				    uint64_t *row, uint32_t time)
{
	sp_cache_set *set = location->set;
	uint32_t before = atomic_load_explicit(&set->sequence, memory_order_acquire);
	unsigned way = find_way(cache, location, key);
	const row_slot *slot;
	bool absent;

	if (before % 2 != 0 || way == NO_WAY)
		return SP_ROW_CACHE_MISS;
	slot = slot_of(cache, set, way);
	absent = sp_cache_set_is_absent(set, way);
	if (!absent)
		copy_row(cache, slot, row);
	if (atomic_load_explicit(&set->sequence, memory_order_relaxed) != before)
		return SP_ROW_CACHE_MISS;
	record_use(cache, set, way, time);
	return absent ? SP_ROW_CACHE_ABSENT : SP_ROW_CACHE_ROW;
}

/* The parts of the head that a read needs may lie in two cache lines. */
static void prefetch_set(const sp_cache_set *set)
{
	__builtin_prefetch(set);
	__builtin_prefetch(&set->score[WAYS - 1]);
}

static void prefetch_slot(const sp_row_cache *cache, const key_location *location)
{
	for (unsigned half = 0; half < 2; half++) {
		uint64_t left = sp_cache_set_matches(location->set, half, location->tag);
		const char *slot;

		if (left == 0)
			continue;
		slot = (const char *)slot_of(cache, location->set, sp_cache_set_first(half, left));
		for (size_t at = 0; at < cache->slot_size; at += 64)
			__builtin_prefetch(slot + at);
	}
}

static void read_block(sp_row_cache *cache, const int64_t *keys, size_t count,
		       sp_row_cache_result *results, char *rows, uint32_t time)
{
	key_location locations[BLOCK];

	for (size_t i = 0; i < count; i++) {
		locations[i] = locate(cache, keys[i]);
		prefetch_set(locations[i].set);
	}
	for (size_t i = 0; i < count; i++)
		prefetch_slot(cache, &locations[i]);
	for (size_t i = 0; i < count; i++)
		results[i] = read_one(cache, &locations[i], keys[i],
				      (uint64_t *)(rows + i * sp_row_cache_row_stride(cache)),
				      time);
}

void sp_row_cache_read(sp_row_cache *cache, const int64_t *keys, size_t count,
		       sp_row_cache_result *results, void *rows)
{
	uint32_t time = now(cache);

	atomic_fetch_add_explicit(&cache->uses, count, memory_order_relaxed);
	for (size_t done = 0, piece; done < count; done += piece) {
		piece = count - done < BLOCK ? count - done : BLOCK;
		read_block(cache, keys + done, piece, results + done,
			   (char *)rows + done * sp_row_cache_row_stride(cache), time);
	}
}

/* ---- filling ---- */

static void store_row(sp_row_cache *cache, const key_location *location, unsigned way, int64_t key,
		      const char *row)
{
	row_slot *slot = slot_of(cache, location->set, way);

	sp_cache_set_put(location->set, way, location->tag, row == NULL);
	atomic_store_explicit(&slot->key, key, memory_order_release);
	for (size_t at = 0; row != NULL && at < cache->row_size; at += 8) {
		uint64_t word = 0;

		memcpy(&word, row + at, cache->row_size - at < 8 ? cache->row_size - at : 8);
		atomic_store_explicit(&slot->words[at / 8], word, memory_order_release);
	}
}

/*
 * lfu: whether the new key has a higher score than the way's key.  If so, the evicted key gets the
 * new key's ghost.
 */
static bool admit(const sp_row_cache *cache, const key_location *candidate, unsigned way,
		  unsigned *score)
{
	sp_cache_set *set = candidate->set;
	bool empty = sp_cache_set_tag(set, way) == 0;
	unsigned ghost, old_score = empty ? 0 : sp_cache_set_score(set, way);
	int64_t old_key;

	*score = sp_cache_set_miss(set, candidate->hash, &ghost);
	if (!empty && *score <= old_score)
		return false;
	old_key = atomic_load_explicit(&slot_of(cache, set, way)->key, memory_order_relaxed);
	sp_cache_set_put_ghost(set, ghost, locate(cache, old_key).hash, old_score);
	return true;
}

static void fill_set(sp_row_cache *cache, const key_location *location, int64_t key,
		     const void *row)
{
	sp_cache_set *set = location->set;
	unsigned way = sp_cache_set_victim(set), score;

	if (find_way(cache, location, key) != NO_WAY)
		return; /* another request has filled it */
	if (cache->policy == SP_ROW_CACHE_LRU)
		score = sp_cache_set_insertion_score(set, PROBATION);
	else if (!admit(cache, location, way, &score))
		return;
	store_row(cache, location, way, key, row);
	sp_cache_set_put_score(set, way, score);
}

void sp_row_cache_prefetch(const sp_row_cache *cache, int64_t key)
{
	const sp_cache_set *set = locate(cache, key).set;

	__builtin_prefetch(set, 1);
	__builtin_prefetch(&set->score[WAYS - 1], 1);
}

void sp_row_cache_fill(sp_row_cache *cache, int64_t key, const void *row)
{
	key_location location = locate(cache, key);

	if (!sp_cache_set_begin_write(location.set))
		return;
	age(cache, location.set, now(cache));
	fill_set(cache, &location, key, row);
	sp_cache_set_end_write(location.set);
}

void sp_row_cache_replace(sp_row_cache *cache, int64_t key, const void *row)
{
	key_location location = locate(cache, key);
	unsigned way;

	while (!sp_cache_set_begin_write(location.set))
		sched_yield();
	way = find_way(cache, &location, key);
	if (way != NO_WAY)
		store_row(cache, &location, way, key, row);
	sp_cache_set_end_write(location.set);
}

/* ---- seeding ---- */

/*
 * An order-preserving eight-bit code of a frequency: the frequency itself below 4, else six bits of
 * exponent and two of mantissa.
 */
static unsigned encode_frequency(uint64_t frequency)
{
	unsigned exponent;

	if (frequency < 4)
		return (unsigned)frequency;
	exponent = 63 - (unsigned)__builtin_clzll(frequency) - 2;
	return (exponent + 1) << 2 | ((unsigned)(frequency >> exponent) & 3);
}

static double decode_frequency(unsigned code)
{
	return code < 4 ? code : (double)((uint64_t)(4 | (code & 3)) << ((code >> 2) - 1));
}

void sp_row_cache_seed(sp_row_cache *cache, int64_t key, const void *row, uint64_t frequency)
{
	key_location location = locate(cache, key);
	unsigned way = find_way(cache, &location, key), code = encode_frequency(frequency);

	if (way == NO_WAY) {
		way = sp_cache_set_victim(location.set);
		if (sp_cache_set_tag(location.set, way) != 0 &&
		    code <= sp_cache_set_score(location.set, way))
			return;
	}
	store_row(cache, &location, way, key, row);
	sp_cache_set_put_score(location.set, way, code);
}

static sp_cache_set *set_at(const sp_row_cache *cache, size_t number)
{
	return (sp_cache_set *)((char *)cache->region.data + number * cache->set_size);
}

void sp_row_cache_finish_seeding(sp_row_cache *cache, double total)
{
	double scale = total > 0 ? (double)cache->window / total : 0;

	for (size_t s = 0; s < cache->sets; s++)
		for (unsigned way = 0; way < WAYS; way++) {
			sp_cache_set *set = set_at(cache, s);
			double score = decode_frequency(sp_cache_set_score(set, way)) * scale;

			if (cache->policy == SP_ROW_CACHE_LRU)
				score = 0;
			sp_cache_set_put_score(set, way,
					       score < SP_CACHE_SET_MAX_SCORE
						       ? (unsigned)score
						       : SP_CACHE_SET_MAX_SCORE);
		}
}

bool sp_row_cache_next(sp_row_cache *cache, size_t *at, sp_row_cache_entry *entry)
{
	for (; *at < cache->sets * WAYS; ++*at) {
		sp_cache_set *set = set_at(cache, *at / WAYS);
		unsigned way = (unsigned)(*at % WAYS);
		const row_slot *slot = slot_of(cache, set, way);

		if (sp_cache_set_tag(set, way) == 0 || sp_cache_set_is_absent(set, way))
			continue;
		entry->key = atomic_load(&slot->key);
		entry->uses = cache->policy == SP_ROW_CACHE_LFU ? sp_cache_set_score(set, way) : 1;
		copy_row(cache, slot, entry->row);
		++*at;
		return true;
	}
	return false;
}

/* ---- life ---- */

void sp_row_cache_clear(sp_row_cache *cache)
{
	for (size_t s = 0; s < cache->sets; s++)
		memset(set_at(cache, s), 0, sizeof(sp_cache_set));
}

/* The number of sets that fit in the memory; at least one. */
static size_t count_sets(const sp_row_cache *cache, const sp_row_cache_options *options)
{
	size_t most = options->max_rows / WAYS + options->max_rows / (WAYS * 8) + 1;
	size_t cap = options->cap_bytes, sets;

	if (cap >= SP_REGION_PAGE)
		cap -= cap % SP_REGION_SMALL_PAGE;
	sets = cap / cache->set_size;
	if (options->max_rows != 0 && sets > most)
		sets = most;
	return sets > 1 ? sets : 1;
}

static sp_status allocate(sp_row_cache *cache, const sp_row_cache_options *options, sp_error *err)
{
	if (options->row_size == 0 || options->row_size > SIZE_MAX / (WAYS * 4))
		return sp_error_set(err, SP_INVALID, "a cache of rows of %zu bytes",
				    options->row_size);
	cache->row_size = options->row_size;
	cache->slot_size = sizeof(row_slot) + (options->row_size + 7) / 8 * 8;
	cache->set_size = sizeof(sp_cache_set) + WAYS * cache->slot_size;
	cache->sets = count_sets(cache, options);
	SP_NEED_MEMORY(sp_region_resize(&cache->region, cache->sets * cache->set_size), err,
		       "a cache of %zu rows of %zu bytes", cache->sets * WAYS, cache->row_size);
	sp_region_trim(&cache->region);
	return SP_OK;
}

sp_status sp_row_cache_create(sp_row_cache **out, const sp_row_cache_options *options,
			      sp_error *err)
{
	sp_row_cache *cache = sp_alloc_zero(1, sizeof(*cache));
	sp_status status;

	SP_NEED_MEMORY(cache, err, "a cache of rows");
	atomic_init(&cache->users, 1);
	cache->policy = options->policy;
	memcpy(cache->key_of_hash, sp_hash_process_key(), sizeof(cache->key_of_hash));
	status = allocate(cache, options, err);
	if (status != SP_OK) {
		sp_row_cache_destroy(cache);
		return status;
	}
	cache->window = sp_row_cache_capacity(cache);
	if (cache->policy == SP_ROW_CACHE_LFU)
		cache->window *= WINDOW;
	else
		cache->window = cache->window / TICKS_PER_ROUND + 1;
	sp_row_cache_clear(cache);
	*out = cache;
	return SP_OK;
}

sp_row_cache *sp_row_cache_share(sp_row_cache *cache)
{
	atomic_fetch_add_explicit(&cache->users, 1, memory_order_relaxed);
	return cache;
}

void sp_row_cache_destroy(sp_row_cache *cache)
{
	if (cache == NULL || atomic_fetch_sub_explicit(&cache->users, 1, memory_order_acq_rel) != 1)
		return;
	sp_region_fini(&cache->region);
	sp_free(cache);
}

size_t sp_row_cache_row_stride(const sp_row_cache *cache)
{
	return cache->slot_size - sizeof(row_slot);
}

size_t sp_row_cache_row_size(const sp_row_cache *cache)
{
	return cache->row_size;
}

double sp_row_cache_window(const sp_row_cache *cache)
{
	return (double)cache->window;
}

size_t sp_row_cache_capacity(const sp_row_cache *cache)
{
	return cache->sets * WAYS;
}

size_t sp_row_cache_footprint(const sp_row_cache *cache)
{
	return sp_region_footprint(&cache->region);
}
