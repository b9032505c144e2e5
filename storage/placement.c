#include "storage/placement.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "storage/placement_internal.h"

/*
 * Keys become hashes and are scattered to their parts; then each part is a small
 * problem of its own (storage/placement_search.c), whose memory fits into a
 * core's cache.
 *
 * Nobody expects a key twice, so repeats are only looked for when a search has
 * failed, as it does for them.
 */

enum {
	/* Keys of a part on average: few enough for the cache, enough that parts come out alike. */
	PART_KEYS = 1 << 15,
	/* Two buckets for five keys: fewer are harder to place, and a pilot is only a byte. */
	BUCKETS = 2,
	BUCKET_KEYS = 5,
	/* One slot in fifty stays empty, and small parts get a little more room. */
	SPARE_PARTS = 50,
	SPARE_SLOTS = 2,
	MAX_SEEDS = 20,
};

typedef struct build {
	sp_rows_shape *shape;
	size_t threads;
	const atomic_bool *stop; /* NULL: nobody does */
	size_t count;            /* of keys; without repeats once these have been looked for */
	sp_region keys;          /* int64 [count] */
	sp_region hashes;        /* of the same, part by part */
	sp_region pilots;
	size_t *starts; /* [part_count]: where a part's hashes begin */
	size_t *sizes;  /* [part_count]: how many they are */
	size_t *places; /* [threads, part_count]: of each share of the keys, for scatter() */
} build;

static void build_fini(build *b)
{
	sp_region_fini(&b->keys);
	sp_region_fini(&b->hashes);
	sp_region_fini(&b->pilots);
	sp_free(b->starts);
}

static sp_status no_memory(const build *b, sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory to place %zu keys", b->count);
}

static void choose_seed(sp_rows_shape *shape)
{
	uint64_t seed[2];

	if (getrandom(seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
		seed[0] = shape->seed[0] * UINT64_C(6364136223846793005) +
			  (uint64_t)sp_clock_now_ns();
		seed[1] = shape->seed[1] * UINT64_C(6364136223846793005) +
			  (uint64_t)(uintptr_t)shape;
	}
	shape->seed[0] = seed[0];
	shape->seed[1] = seed[1] | 1;
}

/* The number that undoes a multiplication by the odd number `m`: each round doubles its bits. */
static uint64_t inverse_of(uint64_t m)
{
	uint64_t inverse = m;

	for (int bits = 3; bits < 64; bits *= 2)
		inverse *= 2 - m * inverse;
	return inverse;
}

typedef struct unhash {
	uint64_t seed, first, second;
} unhash;

static unhash unhash_of(const sp_rows_shape *shape)
{
	return (unhash){.seed = shape->seed[0],
			.first = inverse_of(shape->seed[1]),
			.second = inverse_of(SP_PLACEMENT_MIX)};
}

/* sp_placement_hash() backwards. */
static int64_t key_of(const unhash *u, uint64_t h)
{
	h = (h ^ h >> 32) * u->first;
	h = (h ^ h >> 32) * u->second;
	return (int64_t)(h ^ u->seed);
}

/* Each thread has a share of the keys. */
static void share_of(const build *b, size_t share, size_t *first, size_t *end)
{
	*first = b->count / b->threads * share;
	*end = share + 1 == b->threads ? b->count : b->count / b->threads * (share + 1);
}

/* How many of a share go to each part. */
static sp_status count_share(void *context, size_t share, sp_error *err)
{
	const build *b = context;
	const sp_rows_shape *shape = b->shape;
	const int64_t *keys = b->keys.data;
	size_t *places = b->places + share * shape->part_count, first, end;

	(void)err;
	memset(places, 0, shape->part_count * sizeof(*places));
	share_of(b, share, &first, &end);
	for (size_t i = first; i < end; i++)
		places[sp_placement_part(shape, sp_placement_hash(shape, keys[i]))]++;
	return SP_OK;
}

/* Counts become places: in each part one share lies behind the other. */
static void make_places(build *b)
{
	size_t parts = b->shape->part_count, at = 0;

	for (size_t p = 0; p < parts; p++) {
		b->starts[p] = at;
		for (size_t t = 0; t < b->threads; t++) {
			size_t size = b->places[t * parts + p];

			b->places[t * parts + p] = at;
			at += size;
		}
		b->sizes[p] = at - b->starts[p];
	}
}

static sp_status scatter_share(void *context, size_t share, sp_error *err)
{
	const build *b = context;
	const sp_rows_shape *shape = b->shape;
	const int64_t *keys = b->keys.data;
	uint64_t *hashes = b->hashes.data;
	size_t *places = b->places + share * shape->part_count, first, end;

	(void)err;
	share_of(b, share, &first, &end);
	for (size_t i = first; i < end; i++) {
		uint64_t hash = sp_placement_hash(shape, keys[i]);

		hashes[places[sp_placement_part(shape, hash)]++] = hash;
	}
	return SP_OK;
}

static sp_status scatter(build *b, sp_error *err)
{
	SP_TRY(sp_parallel_run(b->threads, b->threads, count_share, b, err));
	make_places(b);
	return sp_parallel_run(b->threads, b->threads, scatter_share, b, err);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static sp_status drop_repeats(void *context, size_t part, sp_error *err)
{
	const build *b = context;
	uint64_t *hashes = (uint64_t *)b->hashes.data + b->starts[part];
	size_t count = 0;

	(void)err;
	qsort(hashes, b->sizes[part], sizeof(*hashes), by_value);
	for (size_t i = 0; i < b->sizes[part]; i++)
		if (i == 0 || hashes[i] != hashes[i - 1])
			hashes[count++] = hashes[i];
	b->sizes[part] = count;
	return SP_OK;
}

/* All parts get the room that the fullest one needs. */
static void make_room(const build *b)
{
	sp_rows_shape *shape = b->shape;
	size_t fullest = 0;

	shape->row_count = 0;
	for (size_t p = 0; p < shape->part_count; p++) {
		shape->row_count += b->sizes[p];
		if (b->sizes[p] > fullest)
			fullest = b->sizes[p];
	}
	shape->part_slots = fullest + fullest / SPARE_PARTS + SPARE_SLOTS;
	shape->slot_count = shape->part_count * shape->part_slots;
}

static bool is_stopped(const build *b)
{
	return b->stop != NULL && atomic_load_explicit(b->stop, memory_order_relaxed);
}

static sp_status search_part(void *context, size_t part, sp_error *err)
{
	const build *b = context;

	if (is_stopped(b))
		return sp_error_set(err, SP_BUSY, "placing %zu keys was stopped", b->count);
	return sp_placement__search(b->shape, (const uint64_t *)b->hashes.data + b->starts[part],
				    b->sizes[part],
				    (uint8_t *)b->pilots.data + part * b->shape->part_buckets, err);
}

/* Hashes become keys again, without gaps. */
static void turn_back(build *b)
{
	unhash u = unhash_of(b->shape);
	int64_t *keys = b->keys.data;

	b->count = 0;
	for (size_t p = 0; p < b->shape->part_count; p++)
		for (size_t i = 0; i < b->sizes[p]; i++)
			keys[b->count++] = key_of(&u,
						  ((uint64_t *)b->hashes.data)[b->starts[p] + i]);
}

/* Into as many parts as the keys fill. */
static sp_status divide(build *b, sp_error *err)
{
	sp_rows_shape *shape = b->shape;

	shape->part_count = b->count / PART_KEYS + (b->count % PART_KEYS != 0 || b->count == 0);
	shape->part_buckets = b->count / shape->part_count * BUCKETS / BUCKET_KEYS + 1;
	if (b->threads > shape->part_count) /* a small set is done before a thread has started */
		b->threads = shape->part_count;
	b->starts = sp_alloc_zero(shape->part_count, (2 + b->threads) * sizeof(size_t));
	if (b->starts == NULL || !sp_region_resize(&b->hashes, b->count * sizeof(uint64_t)) ||
	    !sp_region_resize(&b->pilots, shape->part_count * shape->part_buckets))
		return no_memory(b, err);
	b->sizes = b->starts + shape->part_count;
	b->places = b->sizes + shape->part_count;
	return SP_OK;
}

static sp_status find(build *b, sp_error *err)
{
	SP_TRY(divide(b, err));
	for (int tries = 0; tries < MAX_SEEDS; tries++) {
		sp_status status;

		choose_seed(b->shape);
		SP_TRY(scatter(b, err));
		if (tries == 1)
			SP_TRY(sp_parallel_run(b->threads, b->shape->part_count, drop_repeats, b,
					       err));
		make_room(b);
		status = sp_parallel_run(b->threads, b->shape->part_count, search_part, b, err);
		if (status != SP_BUSY || is_stopped(b)) /* busy: another seed may do */
			return status;
		turn_back(b);
	}
	return sp_error_set(err, SP_INTERNAL, "no places for %zu keys under %d seeds", b->count,
			    MAX_SEEDS);
}

sp_status sp_placement_find(sp_region *pilots, sp_rows_shape *shape, sp_region *keys,
			    size_t key_count, size_t threads, const atomic_bool *stop,
			    sp_error *err)
{
	build b = {.shape = shape,
		   .threads = threads,
		   .stop = stop,
		   .count = key_count,
		   .keys = *keys};
	sp_status status;

	*keys = (sp_region){0};
	status = find(&b, err);
	if (status == SP_OK) {
		*pilots = b.pilots;
		b.pilots = (sp_region){0};
	}
	build_fini(&b);
	return status;
}
