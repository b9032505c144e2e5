#include "storage/placement/placement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/parallel.h"
#include "storage/placement/placement_internal.h"
#include "storage/placement/placement_lanes.h"

/*
 * Keys are hashed and scattered to parts; then each part is searched on its own
 * (storage/placement/placement_search.c), in memory that fits into a core's cache.
 *
 * Repeated keys are rare.  They make a search fail, and are removed only then.
 */

enum {
	/*
	 * Average keys per part: few enough for a core's cache, enough for parts of similar size.
	 */
	PART_KEYS = 1 << 15,
	/* Two buckets for five keys: with fewer, a pilot of one byte is often not enough. */
	BUCKETS = 2,
	BUCKET_KEYS = 5,
	/* One slot in fifty stays empty; small parts get a little more room. */
	SPARE_PARTS = 50,
	SPARE_SLOTS = 2,
	MAX_SEEDS = 20,
};

typedef struct build {
	sp_placement *placement;
	size_t threads;
	const atomic_bool *stop; /* NULL: nobody stops it */
	size_t count;            /* of keys; without repeats after drop_repeats() */
	sp_region keys;          /* int64 [count] */
	sp_region hashes;        /* of the keys, sorted by part */
	sp_region pilots;
	sp_placement_parts parts; /* of these hashes */
	size_t *places; /* [threads, part_count]: where a share's next hash of a part is written */
} build;

static void build_fini(build *b)
{
	sp_region_fini(&b->keys);
	sp_region_fini(&b->hashes);
	sp_region_fini(&b->pilots);
	sp_free(b->parts.starts);
}

void sp_placement__choose_seed(sp_placement *placement)
{
	uint64_t seed[2];

	if (getrandom(seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
		seed[0] = placement->seed[0] * UINT64_C(6364136223846793005) +
			  (uint64_t)sp_clock_now_ns();
		seed[1] = placement->seed[1] * UINT64_C(6364136223846793005) +
			  (uint64_t)(uintptr_t)placement;
	}
	placement->seed[0] = seed[0];
	placement->seed[1] = seed[1] | 1;
}

#if defined(__x86_64__)

SP_PLACEMENT_AVX512 static void hash_avx512(const sp_placement *placement, const int64_t *keys,
					    size_t count, uint64_t *hashes)
{
	for (size_t i = 0; i < count; i += SP_PLACEMENT_WIDTH) {
		__mmask8 lanes = sp_placement__lane_mask(count - i);
		__m512i some = _mm512_maskz_loadu_epi64(lanes, keys + i);

		_mm512_mask_storeu_epi64(hashes + i, lanes,
					 sp_placement__hash_lanes(placement, some));
	}
}

#endif

void sp_placement_hash_all(const sp_placement *placement, const int64_t *keys, size_t count,
			   uint64_t *hashes)
{
	const sp_placement of = *placement; /* a local copy, which `hashes` cannot alias */

#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512)) {
		hash_avx512(&of, keys, count, hashes);
		return;
	}
#endif
	for (size_t i = 0; i < count; i++)
		hashes[i] = sp_placement_hash(&of, keys[i]);
}

/*
 * The inverse of the odd number `m` modulo 2^64.  Each round of Newton's iteration doubles the
 * correct bits.
 */
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

static unhash unhash_of(const sp_placement *placement)
{
	return (unhash){.seed = placement->seed[0],
			.first = inverse_of(placement->seed[1]),
			.second = inverse_of(SP_PLACEMENT_MIX)};
}

/* The inverse of sp_placement_hash(). */
static int64_t key_of(const unhash *u, uint64_t h)
{
	h = (h ^ h >> 32) * u->first;
	h = (h ^ h >> 32) * u->second;
	return (int64_t)(h ^ u->seed);
}

/* The keys [*first, *end) that a thread hashes. */
static void share_of(const build *b, size_t share, size_t *first, size_t *end)
{
	*first = b->count / b->threads * share;
	*end = share + 1 == b->threads ? b->count : b->count / b->threads * (share + 1);
}

/* Counts the keys of a share by part. */
static sp_status count_share(void *context, size_t share, sp_error *err)
{
	const build *b = context;
	const sp_placement *placement = b->placement;
	const int64_t *keys = b->keys.data;
	size_t *places = b->places + share * placement->part_count, first, end;

	(void)err;
	memset(places, 0, placement->part_count * sizeof(*places));
	share_of(b, share, &first, &end);
	for (size_t i = first; i < end; i++)
		places[sp_placement_part(placement, sp_placement_hash(placement, keys[i]))]++;
	return SP_OK;
}

/* Turns counts into positions: each part holds its shares one behind the other. */
static void make_places(build *b)
{
	size_t parts = b->placement->part_count, at = 0;

	for (size_t p = 0; p < parts; p++) {
		b->parts.starts[p] = at;
		for (size_t t = 0; t < b->threads; t++) {
			size_t size = b->places[t * parts + p];

			b->places[t * parts + p] = at;
			at += size;
		}
		b->parts.sizes[p] = at - b->parts.starts[p];
	}
}

static sp_status scatter_share(void *context, size_t share, sp_error *err)
{
	const build *b = context;
	const sp_placement *placement = b->placement;
	const int64_t *keys = b->keys.data;
	uint64_t *hashes = b->parts.hashes;
	size_t *places = b->places + share * placement->part_count, first, end;

	(void)err;
	share_of(b, share, &first, &end);
	for (size_t i = first; i < end; i++) {
		uint64_t hash = sp_placement_hash(placement, keys[i]);

		hashes[places[sp_placement_part(placement, hash)]++] = hash;
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
	uint64_t *hashes = b->parts.hashes + b->parts.starts[part];
	size_t *size = &b->parts.sizes[part], count = 0;

	(void)err;
	qsort(hashes, *size, sizeof(*hashes), by_value);
	for (size_t i = 0; i < *size; i++)
		if (i == 0 || hashes[i] != hashes[i - 1])
			hashes[count++] = hashes[i];
	*size = count;
	return SP_OK;
}

/* ---------------------------------------------------------------- pilots */

typedef struct placing {
	const sp_placement *placement;
	const sp_placement_parts *parts;
	uint8_t *pilots;
	const atomic_bool *stop;
} placing;

static sp_status search_part(void *context, size_t part, sp_error *err)
{
	const placing *p = context;

	if (sp_placement__is_stopped(p->stop))
		return sp_error_set(err, SP_BUSY, "placing %zu keys was stopped",
				    p->placement->key_count);
	return sp_placement__search(p->placement, p->parts->hashes + p->parts->starts[part],
				    p->parts->sizes[part],
				    p->pilots + part * p->placement->part_buckets, err);
}

/* All parts get as many slots as the fullest one needs. */
static void set_sizes(sp_placement *placement, size_t fullest)
{
	placement->part_slots = fullest + fullest / SPARE_PARTS + SPARE_SLOTS;
	placement->slot_count = placement->part_count * placement->part_slots;
	placement->part_buckets = placement->key_count / placement->part_count * BUCKETS /
					  BUCKET_KEYS +
				  1;
}

static void make_room(sp_placement *placement, const sp_placement_parts *parts)
{
	size_t fullest = 0;

	placement->key_count = 0;
	for (size_t p = 0; p < placement->part_count; p++) {
		placement->key_count += parts->sizes[p];
		if (parts->sizes[p] > fullest)
			fullest = parts->sizes[p];
	}
	set_sizes(placement, fullest);
}

/* Of n parts with m keys on average, the fullest has about m + sqrt(2 m ln n). */
void sp_placement_expect(sp_placement *out, size_t key_count)
{
	size_t parts = sp_placement__part_count(key_count);
	double average = (double)key_count / (double)parts;
	double above = sqrt(2 * average * log((double)parts));

	*out = (sp_placement){.key_count = key_count, .part_count = parts};
	set_sizes(out, (size_t)(average + above + 0.5));
}

sp_status sp_placement__place(sp_region *pilots, sp_placement *placement,
			      const sp_placement_parts *parts, size_t threads,
			      const atomic_bool *stop, sp_error *err)
{
	placing p = {.placement = placement, .parts = parts, .stop = stop};

	make_room(placement, parts);
	SP_NEED_MEMORY(sp_region_resize(pilots, placement->part_count * placement->part_buckets),
		       err, "placing %zu keys", placement->key_count);
	p.pilots = pilots->data;
	return sp_parallel_run(threads, placement->part_count, search_part, &p, err);
}

/* ------------------------------------------------------------------- all */

size_t sp_placement__recover_keys(const sp_placement *placement, const sp_placement_parts *parts,
				  int64_t *keys)
{
	unhash u = unhash_of(placement);
	size_t count = 0;

	for (size_t p = 0; p < placement->part_count; p++)
		for (size_t i = 0; i < parts->sizes[p]; i++)
			keys[count++] = key_of(&u, parts->hashes[parts->starts[p] + i]);
	return count;
}

size_t sp_placement__part_count(size_t key_count)
{
	return key_count / PART_KEYS + (key_count % PART_KEYS != 0 || key_count == 0);
}

/* Chooses the number of parts and allocates for them. */
static sp_status divide(build *b, sp_error *err)
{
	size_t parts = sp_placement__part_count(b->count);

	b->placement->part_count = parts;
	if (b->threads > parts) /* a small set is finished before more threads have started */
		b->threads = parts;
	b->parts.starts = sp_alloc_zero(parts, (2 + b->threads) * sizeof(size_t));
	SP_NEED_MEMORY(b->parts.starts != NULL &&
			       sp_region_resize(&b->hashes, b->count * sizeof(uint64_t)),
		       err, "placing %zu keys", b->count);
	b->parts.hashes = b->hashes.data;
	b->parts.sizes = b->parts.starts + parts;
	b->places = b->parts.sizes + parts;
	return SP_OK;
}

static sp_status find(build *b, int tried, sp_error *err)
{
	SP_TRY(divide(b, err));
	for (int tries = tried; tries < MAX_SEEDS; tries++) {
		sp_status status;

		sp_placement__choose_seed(b->placement);
		SP_TRY(scatter(b, err));
		if (tries == 1)
			SP_TRY(sp_parallel_run(b->threads, b->placement->part_count, drop_repeats,
					       b, err));
		status = sp_placement__place(&b->pilots, b->placement, &b->parts, b->threads,
					     b->stop, err);
		if (status != SP_BUSY || sp_placement__is_stopped(b->stop))
			return status;
		b->count = sp_placement__recover_keys(b->placement, &b->parts, b->keys.data);
	}
	return sp_error_set(err, SP_INTERNAL, "no places for %zu keys under %d seeds", b->count,
			    MAX_SEEDS);
}

sp_status sp_placement__find(sp_region *pilots, sp_placement *placement, sp_region *keys,
			     size_t key_count, int tried, size_t threads, const atomic_bool *stop,
			     sp_error *err)
{
	build b = {.placement = placement,
		   .threads = threads,
		   .stop = stop,
		   .count = key_count,
		   .keys = *keys};
	sp_status status;

	*keys = (sp_region){0};
	status = find(&b, tried, err);
	if (status == SP_OK) {
		*pilots = b.pilots;
		b.pilots = (sp_region){0};
	}
	build_fini(&b);
	return status;
}
