#include "storage/placement/placement_keys.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "storage/rows/key_block.h"
#include "storage/placement/placement_internal.h"

/*
 * Every part has room for a sixteenth more keys than it gets on average: eight
 * standard deviations of the smallest parts that there are.  Keys that find no
 * room, because there are more than expected or one of them comes all the time,
 * are put aside; and if there are any, all keys are divided anew.
 */
enum { SPARE_SHARE = 16, SPARE_KEYS = 64 };

/* Hashes of a cache line. */
enum { LINE = 8 };

#define NO_ROOM SIZE_MAX

struct sp_placement_keys {
	sp_rows_shape shape; /* part_count and the seed are set */
	size_t expected;
	size_t room;          /* hashes of a part; 0: keys do not go to parts */
	sp_region hashes;     /* uint64 [part_count, room] */
	atomic_size_t *taken; /* [part_count]: places of it that have a hash, or are to have it */
	sp_placement_parts parts; /* once all are there */

	pthread_mutex_t lock; /* for what follows */
	sp_region late;       /* int64: keys that have found no room */
	size_t late_count;
};

static sp_status no_memory(size_t count, sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory to place %zu keys", count);
}

static bool make_parts(sp_placement_keys *keys)
{
	size_t parts = sp_placement__part_count(keys->expected), room = keys->expected / parts, all;

	room += room / SPARE_SHARE + SPARE_KEYS;
	/* An odd number of lines: else many parts would begin in the same places of a cache. */
	room = (room / LINE | 1) * LINE;
	if (!sp_size_mul(&all, parts, room) || !sp_size_mul(&all, all, sizeof(uint64_t)) ||
	    !sp_region_resize(&keys->hashes, all))
		return false;
	keys->taken = sp_alloc_zero(parts, sizeof(*keys->taken));
	keys->parts.starts = sp_alloc_zero(parts, 2 * sizeof(size_t));
	if (keys->taken == NULL || keys->parts.starts == NULL)
		return false;
	keys->room = room;
	keys->shape.part_count = parts;
	sp_placement__choose_seed(&keys->shape);
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
	sp_region_fini(&keys->late);
	sp_free(keys->taken);
	sp_free(keys->parts.starts);
	pthread_mutex_destroy(&keys->lock);
	sp_free(keys);
}

/* ------------------------------------------------------------ put aside */

/*
 * Room for `count` more, and for half as many again as there are when it has to
 * grow; under the lock.
 */
static bool reserve_late(sp_placement_keys *keys, size_t count)
{
	size_t needed, size, grown = keys->late.size + keys->late.size / 2;

	if (!sp_size_add(&needed, keys->late_count, count) ||
	    !sp_size_mul(&size, needed, sizeof(int64_t)))
		return false;
	if (size <= keys->late.size)
		return true;
	return sp_region_resize(&keys->late, size > grown ? size : grown / 8 * 8);
}

/* Behind those that are there, without the marks; there is room, and under the lock. */
static void append_late(sp_placement_keys *keys, const int64_t *some, size_t count, size_t marks)
{
	int64_t *to = (int64_t *)keys->late.data + keys->late_count;

	keys->late_count += count - marks;
	for (size_t i = 0; marks != 0 && i < count; i++) {
		*to = some[i]; /* there is room for one that does not count, too */
		to += !sp_rows_is_mark(some[i]);
	}
	if (marks == 0 && count != 0)
		memcpy(to, some, count * sizeof(*some));
}

/* Counts marks while others append theirs, and holds them up for as long as copying takes. */
static bool add_late(sp_placement_keys *keys, const int64_t *some, size_t count, size_t *held)
{
	size_t marks = 0;
	bool fits;

	pthread_mutex_lock(&keys->lock);
	fits = reserve_late(keys, count); /* a count that cannot be is refused before it is read */
	pthread_mutex_unlock(&keys->lock);
	for (size_t i = 0; fits && i < count; i++)
		marks += sp_rows_is_mark(some[i]);
	pthread_mutex_lock(&keys->lock);
	fits = fits && reserve_late(keys, count); /* others may have come between */
	if (fits)
		append_late(keys, some, count, marks);
	pthread_mutex_unlock(&keys->lock);
	*held = count - marks;
	return fits;
}

/* ---------------------------------------------------------- to their parts */

/* The place of the first of `count` hashes of a part; NO_ROOM when they do not all fit. */
static size_t take_room(sp_placement_keys *keys, size_t part, size_t count)
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

/* How many of these, of one block, go to each part; gives how many that are in all. */
static size_t count_block(const sp_rows_shape *shape, const int64_t *some, size_t count,
			  size_t *counts)
{
	uint64_t hashes[SP_KEY_BLOCK];
	size_t held = 0;

	sp_key_block_hash(shape, some, count, hashes);
	for (size_t i = 0; i < count; i++) {
		bool holds = !sp_rows_is_mark(some[i]);

		counts[sp_placement_part(shape, hashes[i])] += holds;
		held += holds;
	}
	return held;
}

/*
 * Each of a block to the place of its part, and the place moves on.  Behind the line that it is
 * on, nothing has been written yet: asked for now, that will be in the cache when it is.
 */
static bool scatter_block(sp_placement_keys *keys, const int64_t *some, size_t count,
			  size_t *places)
{
	const sp_rows_shape shape = keys->shape;
	uint64_t *to = keys->hashes.data, hashes[SP_KEY_BLOCK];
	size_t held;

	sp_key_block_hash(&shape, some, count, hashes);
	for (size_t i = 0; i < count; i++) {
		size_t *place = &places[sp_placement_part(&shape, hashes[i])];

		if (sp_rows_is_mark(some[i]))
			continue;
		if (*place != NO_ROOM) {
			__builtin_prefetch(to + *place + LINE, 1);
			to[(*place)++] = hashes[i];
		} else if (!add_late(keys, &some[i], 1, &held)) {
			return false;
		}
	}
	return true;
}

static size_t block_of(size_t left)
{
	return left < SP_KEY_BLOCK ? left : SP_KEY_BLOCK;
}

/* All at once: a part's are counted, then it is asked for room once. */
static bool add_many(sp_placement_keys *keys, const int64_t *some, size_t count, size_t *held)
{
	size_t parts = keys->shape.part_count;
	size_t *places = sp_alloc_zero(parts, sizeof(*places));
	bool fits = true;

	if (places == NULL)
		return false;
	*held = 0;
	for (size_t i = 0; i < count; i += SP_KEY_BLOCK)
		*held += count_block(&keys->shape, some + i, block_of(count - i), places);
	for (size_t p = 0; p < parts; p++)
		if (places[p] != 0)
			places[p] = take_room(keys, p, places[p]);
	for (size_t i = 0; i < count && fits; i += SP_KEY_BLOCK)
		fits = scatter_block(keys, some + i, block_of(count - i), places);
	sp_free(places);
	return fits;
}

/* One by one: there are fewer than parts. */
static bool add_few(sp_placement_keys *keys, const int64_t *some, size_t count, size_t *held)
{
	const sp_rows_shape *shape = &keys->shape;
	size_t aside;

	*held = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t hash = sp_placement_hash(shape, some[i]);
		size_t at;

		if (sp_rows_is_mark(some[i]))
			continue;
		at = take_room(keys, sp_placement_part(shape, hash), 1);
		if (at != NO_ROOM)
			((uint64_t *)keys->hashes.data)[at] = hash;
		else if (!add_late(keys, &some[i], 1, &aside))
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
		fits = add_late(keys, some, count, held);
	else if (count < keys->shape.part_count)
		fits = add_few(keys, some, count, held);
	else
		fits = add_many(keys, some, count, held);
	return fits ? SP_OK : no_memory(count, err);
}

/* ------------------------------------------------------------------ places */

/* Gives how many keys are in parts. */
static size_t list_parts(sp_placement_keys *keys)
{
	size_t parts = keys->shape.part_count, count = 0;

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

/* All are in parts, and these are not much smaller than they should be. */
static bool are_as_expected(const sp_placement_keys *keys, size_t in_parts)
{
	return keys->late_count == 0 &&
	       (keys->shape.part_count == 1 || in_parts >= keys->expected / 2);
}

static sp_status place_parts(sp_region *pilots, sp_rows_shape *shape, const sp_placement_keys *keys,
			     size_t threads, const atomic_bool *stop, sp_error *err)
{
	sp_status status;

	shape->part_count = keys->shape.part_count;
	memcpy(shape->seed, keys->shape.seed, sizeof(shape->seed));
	status = sp_placement__place(pilots, shape, &keys->parts, threads, stop, err);
	if (status != SP_OK)
		sp_region_fini(pilots);
	return status;
}

/* Those that are in parts go behind the late ones, as keys. */
static sp_status gather(sp_placement_keys *keys, size_t in_parts, sp_error *err)
{
	if (!reserve_late(keys, in_parts))
		return no_memory(in_parts, err);
	keys->late_count += sp_placement__turn_back(&keys->shape, &keys->parts,
						    (int64_t *)keys->late.data + keys->late_count);
	sp_region_fini(&keys->hashes);
	return SP_OK;
}

sp_status sp_placement_keys_find(sp_region *pilots, sp_rows_shape *shape, sp_placement_keys *keys,
				 size_t threads, const atomic_bool *stop, sp_error *err)
{
	size_t in_parts = keys->room != 0 ? list_parts(keys) : 0;
	bool tried = keys->room != 0 && are_as_expected(keys, in_parts);

	if (tried) {
		sp_status status = place_parts(pilots, shape, keys, threads, stop, err);

		if (status != SP_BUSY || sp_placement__is_stopped(stop))
			return status;
	}
	if (keys->room != 0)
		SP_TRY(gather(keys, in_parts, err));
	return sp_placement__find(pilots, shape, &keys->late, keys->late_count, tried, threads,
				  stop, err);
}
