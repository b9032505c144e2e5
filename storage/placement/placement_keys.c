#include "storage/placement/placement_keys.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "storage/placement/placement_internal.h"

/*
 * Each part has room for a sixteenth more keys than it gets on average, which is eight standard
 * deviations of the smallest parts.  Keys that do not fit (because there are more than expected, or
 * one key is repeated often) go to an overflow list.  If it is not empty in the end, all keys are
 * divided again.
 */
enum { SPARE_SHARE = 16, SPARE_KEYS = 64 };

/* Hashes per cache line. */
enum { LINE = 8 };

enum { KEY_BLOCK = 128 }; /* keys that are hashed together */

#define NO_ROOM SIZE_MAX

struct sp_placement_keys {
	sp_placement placement; /* part_count and the seed are set */
	size_t expected;
	size_t room;          /* hashes that fit into a part; 0: all keys go to the overflow list */
	sp_region hashes;     /* uint64 [part_count, room] */
	atomic_size_t *taken; /* [part_count]: positions reserved in a part */
	sp_placement_parts parts; /* filled by list_parts() */

	pthread_mutex_t lock; /* for what follows */
	sp_region overflow;   /* int64: the overflow list */
	size_t overflow_count;
};

static sp_status no_memory(size_t count, sp_error *err)
{
	return sp_no_memory(err, "placing %zu keys", count);
}

static bool make_parts(sp_placement_keys *keys)
{
	size_t parts = sp_placement__part_count(keys->expected), room = keys->expected / parts, all;

	room += room / SPARE_SHARE + SPARE_KEYS;
	/* An odd number of lines, or many parts would start in the same set of a cache. */
	room = (room / LINE | 1) * LINE;
	if (!sp_size_mul(&all, parts, room) || !sp_size_mul(&all, all, sizeof(uint64_t)) ||
	    !sp_region_resize(&keys->hashes, all))
		return false;
	keys->taken = sp_alloc_zero(parts, sizeof(*keys->taken));
	keys->parts.starts = sp_alloc_zero(parts, 2 * sizeof(size_t));
	if (keys->taken == NULL || keys->parts.starts == NULL)
		return false;
	keys->room = room;
	keys->placement.part_count = parts;
	sp_placement__choose_seed(&keys->placement);
	return true;
}

sp_status sp_placement_keys_create(sp_placement_keys **out, size_t expected, sp_error *err)
{
	sp_placement_keys *keys = sp_alloc_zero(1, sizeof(*keys));

	if (keys == NULL)
		return no_memory(expected, err);
	pthread_mutex_init(&keys->lock, NULL);
	keys->expected = expected;
	if (expected != 0 && !make_parts(keys)) {
		sp_placement_keys_destroy(keys);
		return no_memory(expected, err);
	}
	*out = keys;
	return SP_OK;
}

void sp_placement_keys_destroy(sp_placement_keys *keys)
{
	if (keys == NULL)
		return;
	sp_region_fini(&keys->hashes);
	sp_region_fini(&keys->overflow);
	sp_free(keys->taken);
	sp_free(keys->parts.starts);
	pthread_mutex_destroy(&keys->lock);
	sp_free(keys);
}

/* ------------------------------------------------------------ put aside */

/* Under the lock: makes room for `count` more keys, growing by at least half. */
static bool reserve_overflow(sp_placement_keys *keys, size_t count)
{
	size_t needed, size, grown = keys->overflow.size + keys->overflow.size / 2;

	if (!sp_size_add(&needed, keys->overflow_count, count) ||
	    !sp_size_mul(&size, needed, sizeof(int64_t)))
		return false;
	if (size <= keys->overflow.size)
		return true;
	return sp_region_resize(&keys->overflow, size > grown ? size : grown / 8 * 8);
}

/* Under the lock, after reserve_overflow(): appends the keys, without the `marks` marks among them.
 */
static void append_overflow(sp_placement_keys *keys, const int64_t *some, size_t count,
			    size_t marks)
{
	int64_t *to = (int64_t *)keys->overflow.data + keys->overflow_count;

	keys->overflow_count += count - marks;
	for (size_t i = 0; marks != 0 && i < count; i++) {
		*to = some[i]; /* a mark is overwritten by the next key */
		to += !sp_key_is_mark(some[i]);
	}
	if (marks == 0 && count != 0)
		memcpy(to, some, count * sizeof(*some));
}

/* Counts marks outside the lock, which is held only while keys are copied. */
static bool add_overflow(sp_placement_keys *keys, const int64_t *some, size_t count, size_t *held)
{
	size_t marks = 0;
	bool fits;

	pthread_mutex_lock(&keys->lock);
	fits = reserve_overflow(keys, count); /* refuses an impossible count before keys are read */
	pthread_mutex_unlock(&keys->lock);
	for (size_t i = 0; fits && i < count; i++)
		marks += sp_key_is_mark(some[i]);
	pthread_mutex_lock(&keys->lock);
	fits = fits && reserve_overflow(keys, count); /* others may have appended meanwhile */
	if (fits)
		append_overflow(keys, some, count, marks);
	pthread_mutex_unlock(&keys->lock);
	*held = count - marks;
	return fits;
}

/* ---------------------------------------------------------- to their parts */

/* Reserves `count` positions of a part and returns the first; NO_ROOM if they do not fit. */
static size_t reserve_positions(sp_placement_keys *keys, size_t part, size_t count)
{
	atomic_size_t *taken = &keys->taken[part];
	size_t at = atomic_load_explicit(taken, memory_order_relaxed);

	do {
		if (count > keys->room - at)
			return NO_ROOM;
	} while (!atomic_compare_exchange_weak_explicit(
		taken, &at, at + count, memory_order_relaxed, memory_order_relaxed));
	return part * keys->room + at;
}

/* Counts the keys of one block by part; returns their number without marks. */
static size_t count_block(const sp_placement *placement, const int64_t *some, size_t count,
			  size_t *counts)
{
	uint64_t hashes[KEY_BLOCK];
	size_t held = 0;

	sp_placement_hash_all(placement, some, count, hashes);
	for (size_t i = 0; i < count; i++) {
		bool holds = !sp_key_is_mark(some[i]);

		counts[sp_placement_part(placement, hashes[i])] += holds;
		held += holds;
	}
	return held;
}

/*
 * Writes each key's hash to the next position of its part.  Prefetches the cache line that the part
 * will fill next.
 */
static bool scatter_block(sp_placement_keys *keys, const int64_t *some, size_t count,
			  size_t *places)
{
	const sp_placement placement = keys->placement;
	uint64_t *to = keys->hashes.data, hashes[KEY_BLOCK];
	size_t held;

	sp_placement_hash_all(&placement, some, count, hashes);
	for (size_t i = 0; i < count; i++) {
		size_t *place = &places[sp_placement_part(&placement, hashes[i])];

		if (sp_key_is_mark(some[i]))
			continue;
		if (*place != NO_ROOM) {
			__builtin_prefetch(to + *place + LINE, 1);
			to[(*place)++] = hashes[i];
		} else if (!add_overflow(keys, &some[i], 1, &held)) {
			return false;
		}
	}
	return true;
}

static size_t block_of(size_t left)
{
	return left < KEY_BLOCK ? left : KEY_BLOCK;
}

/* Counts keys by part first, so that positions of a part are reserved once. */
static bool add_many(sp_placement_keys *keys, const int64_t *some, size_t count, size_t *held)
{
	size_t parts = keys->placement.part_count;
	size_t *places = sp_alloc_zero(parts, sizeof(*places));
	bool fits = true;

	if (places == NULL)
		return false;
	*held = 0;
	for (size_t i = 0; i < count; i += KEY_BLOCK)
		*held += count_block(&keys->placement, some + i, block_of(count - i), places);
	for (size_t p = 0; p < parts; p++)
		if (places[p] != 0)
			places[p] = reserve_positions(keys, p, places[p]);
	for (size_t i = 0; i < count && fits; i += KEY_BLOCK)
		fits = scatter_block(keys, some + i, block_of(count - i), places);
	sp_free(places);
	return fits;
}

/* For fewer keys than parts. */
static bool add_few(sp_placement_keys *keys, const int64_t *some, size_t count, size_t *held)
{
	const sp_placement *placement = &keys->placement;
	size_t aside;

	*held = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t hash = sp_placement_hash(placement, some[i]);
		size_t at;

		if (sp_key_is_mark(some[i]))
			continue;
		at = reserve_positions(keys, sp_placement_part(placement, hash), 1);
		if (at != NO_ROOM)
			((uint64_t *)keys->hashes.data)[at] = hash;
		else if (!add_overflow(keys, &some[i], 1, &aside))
			return false;
		++*held;
	}
	return true;
}

sp_status sp_placement_keys_add(sp_placement_keys *keys, const int64_t *some, size_t count,
				size_t *held, sp_error *err)
{
	bool fits;

	if (keys->room == 0)
		fits = add_overflow(keys, some, count, held);
	else if (count < keys->placement.part_count)
		fits = add_few(keys, some, count, held);
	else
		fits = add_many(keys, some, count, held);
	return fits ? SP_OK : no_memory(count, err);
}

/* ------------------------------------------------------------------ places */

/* Returns the number of keys in parts. */
static size_t list_parts(sp_placement_keys *keys)
{
	size_t parts = keys->placement.part_count, count = 0;

	keys->parts.hashes = keys->hashes.data;
	keys->parts.sizes = keys->parts.starts + parts;
	for (size_t p = 0; p < parts; p++) {
		size_t size = atomic_load_explicit(&keys->taken[p], memory_order_relaxed);

		keys->parts.starts[p] = p * keys->room;
		keys->parts.sizes[p] = size;
		count += size;
	}
	return count;
}

/* Whether all keys are in parts, and parts have about the size that they should have. */
static bool are_as_expected(const sp_placement_keys *keys, size_t in_parts)
{
	return keys->overflow_count == 0 &&
	       (keys->placement.part_count == 1 || in_parts >= keys->expected / 2);
}

static sp_status place_parts(sp_region *pilots, sp_placement *placement,
			     const sp_placement_keys *keys, size_t threads, const atomic_bool *stop,
			     sp_error *err)
{
	sp_status status;

	placement->part_count = keys->placement.part_count;
	memcpy(placement->seed, keys->placement.seed, sizeof(placement->seed));
	status = sp_placement__place(pilots, placement, &keys->parts, threads, stop, err);
	if (status != SP_OK)
		sp_region_fini(pilots);
	return status;
}

/* Appends the keys in parts to the overflow list. */
static sp_status gather(sp_placement_keys *keys, size_t in_parts, sp_error *err)
{
	if (!reserve_overflow(keys, in_parts))
		return no_memory(in_parts, err);
	keys->overflow_count += sp_placement__recover_keys(&keys->placement, &keys->parts,
							   (int64_t *)keys->overflow.data +
								   keys->overflow_count);
	sp_region_fini(&keys->hashes);
	return SP_OK;
}

sp_status sp_placement_keys_find(sp_region *pilots, sp_placement *placement,
				 sp_placement_keys *keys, size_t threads, const atomic_bool *stop,
				 sp_error *err)
{
	size_t in_parts = keys->room != 0 ? list_parts(keys) : 0;
	bool tried = keys->room != 0 && are_as_expected(keys, in_parts);

	if (tried) {
		sp_status status = place_parts(pilots, placement, keys, threads, stop, err);

		if (status != SP_BUSY || sp_placement__is_stopped(stop))
			return status;
	}
	if (keys->room != 0)
		SP_TRY(gather(keys, in_parts, err));
	return sp_placement__find(pilots, placement, &keys->overflow, keys->overflow_count, tried,
				  threads, stop, err);
}
