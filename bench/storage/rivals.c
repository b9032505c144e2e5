#include "bench/storage/rivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Maps from a key to a pointer to its row, as they are usually written: keys are looked up one
 * after another, without prefetching.
 */

const sp_rival *const sp_rivals[] = {&sp_rival_ours,
				     &sp_rival_flat_map_huge,
				     &sp_rival_flat_map,
				     &sp_rival_chained_map,
				     &sp_rival_deeprec,
				     &sp_rival_rocksdb,
				     NULL};

void *sp_rival_need(void *memory)
{
	if (memory == NULL || memory == MAP_FAILED) {
		fprintf(stderr, "bench_store: out of memory\n");
		exit(1);
	}
	return memory;
}

void *sp_rival_map(size_t size, bool huge)
{
	void *memory = sp_rival_need(mmap(NULL, size, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

	madvise(memory, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return memory;
}

void sp_rival_unmap(void *memory, size_t size)
{
	munmap(memory, size);
}

static uint64_t hash_of(int64_t key)
{
	uint64_t h = (uint64_t)key * UINT64_C(0xd6e8feb86659fd93);

	return (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
}

static size_t slot_of(int64_t key, size_t slots)
{
	return (size_t)(((unsigned __int128)hash_of(key) * slots) >> 64);
}

/* A bump allocator. */
typedef struct heap {
	char *memory;
	size_t size, used;
} heap;

static heap make_heap(size_t size, bool huge)
{
	return (heap){.memory = sp_rival_map(size, huge), .size = size};
}

static void *take(heap *h, size_t size)
{
	void *place = h->memory + h->used;

	h->used += (size + 15) / 16 * 16;
	return place;
}

static float *take_row(heap *h, const sp_rival_data *data, uint64_t i)
{
	float *row = take(h, data->dim * sizeof(float));

	for (size_t d = 0; d < data->dim; d++)
		row[d] = sp_rival_element(i, d);
	return row;
}

static void answer(const float *row, size_t dim, float *to)
{
	if (row != NULL)
		memcpy(to, row, dim * sizeof(float));
	else
		memset(to, 0, dim * sizeof(float));
}

/* -------------------------------------------------- one table, linear probing */

typedef struct flat_slot {
	int64_t key;
	float *row; /* NULL: empty */
} flat_slot;

typedef struct flat_map {
	size_t dim, slot_count;
	flat_slot *slots;
	heap rows;
} flat_map;

static void *build_flat(const sp_rival_data *data, bool huge)
{
	flat_map *map = sp_rival_need(calloc(1, sizeof(*map)));

	map->dim = data->dim;
	map->slot_count = data->count * 10 / 7;
	map->slots = sp_rival_map(map->slot_count * sizeof(*map->slots), huge);
	map->rows = make_heap(data->count * ((data->dim * sizeof(float) + 15) / 16 * 16), huge);
	for (uint64_t i = 0; i < data->count; i++) {
		size_t s = slot_of(sp_rival_key(i), map->slot_count);

		while (map->slots[s].row != NULL)
			s = s + 1 < map->slot_count ? s + 1 : 0;
		map->slots[s] = (flat_slot){sp_rival_key(i), take_row(&map->rows, data, i)};
	}
	return map;
}

static void *build_flat_huge(const sp_rival_data *data)
{
	return build_flat(data, true);
}

static void *build_flat_plain(const sp_rival_data *data)
{
	return build_flat(data, false);
}

static void look_up_flat(void *store, const int64_t *keys, size_t count, float *rows)
{
	const flat_map *map = store;

	for (size_t i = 0; i < count; i++) {
		size_t s = slot_of(keys[i], map->slot_count);

		while (map->slots[s].row != NULL && map->slots[s].key != keys[i])
			s = s + 1 < map->slot_count ? s + 1 : 0;
		answer(map->slots[s].row, map->dim, rows + i * map->dim);
	}
}

static size_t flat_footprint(void *store)
{
	const flat_map *map = store;

	return map->slot_count * sizeof(*map->slots) + map->rows.size;
}

static void destroy_flat(void *store)
{
	flat_map *map = store;

	sp_rival_unmap(map->slots, map->slot_count * sizeof(*map->slots));
	sp_rival_unmap(map->rows.memory, map->rows.size);
	free(map);
}

const sp_rival sp_rival_flat_map = {"flat_map", build_flat_plain, look_up_flat, flat_footprint,
				    destroy_flat};
const sp_rival sp_rival_flat_map_huge = {"flat_map_huge_pages", build_flat_huge, look_up_flat,
					 flat_footprint, destroy_flat};

/* ------------------------------------- a chain per bucket, as unordered_map has */

typedef struct chain_node {
	struct chain_node *next;
	int64_t key;
	float *row;
} chain_node;

typedef struct chained_map {
	size_t dim, bucket_count;
	chain_node **buckets;
	heap heap; /* node, row, node, row ... */
} chained_map;

static void *build_chained(const sp_rival_data *data)
{
	chained_map *map = sp_rival_need(calloc(1, sizeof(*map)));
	size_t row_size = (data->dim * sizeof(float) + 15) / 16 * 16;

	map->dim = data->dim;
	map->bucket_count = data->count;
	map->buckets = sp_rival_map(map->bucket_count * sizeof(*map->buckets), false);
	map->heap = make_heap(data->count * (32 + row_size), false);
	for (uint64_t i = 0; i < data->count; i++) {
		chain_node **bucket = &map->buckets[slot_of(sp_rival_key(i), map->bucket_count)];
		chain_node *node = take(&map->heap, sizeof(*node));

		*node = (chain_node){*bucket, sp_rival_key(i), take_row(&map->heap, data, i)};
		*bucket = node;
	}
	return map;
}

static void look_up_chained(void *store, const int64_t *keys, size_t count, float *rows)
{
	const chained_map *map = store;

	for (size_t i = 0; i < count; i++) {
		const chain_node *node = map->buckets[slot_of(keys[i], map->bucket_count)];

		while (node != NULL && node->key != keys[i])
			node = node->next;
		answer(node != NULL ? node->row : NULL, map->dim, rows + i * map->dim);
	}
}

static size_t chained_footprint(void *store)
{
	const chained_map *map = store;

	return map->bucket_count * sizeof(*map->buckets) + map->heap.size;
}

static void destroy_chained(void *store)
{
	chained_map *map = store;

	sp_rival_unmap(map->buckets, map->bucket_count * sizeof(*map->buckets));
	sp_rival_unmap(map->heap.memory, map->heap.size);
	free(map);
}

const sp_rival sp_rival_chained_map = {"chained_map", build_chained, look_up_chained,
				       chained_footprint, destroy_chained};

/* ---------- as DeepRec keeps an EmbeddingVariable: slot, value pointer, header, row */

/*
 * The map is sparsehash's dense_hash_map: a power of two of slots, at most 0.8 full, quadratic
 * probing.  Values are allocated key by key in one sweep, which is more local than a real heap
 * after some use.
 */

typedef struct deeprec_header {
	int64_t frequency, version;
	float *row;
} deeprec_header;

typedef struct deeprec_value {
	const void *functions;
	deeprec_header *header;
	int64_t flag;
} deeprec_value;

typedef struct deeprec_slot {
	int64_t key;
	deeprec_value *value; /* NULL: empty */
} deeprec_slot;

typedef struct deeprec_map {
	size_t dim, slot_count; /* a power of two */
	deeprec_slot *slots;
	heap values, headers, rows; /* separate, as malloc() separates sizes */
} deeprec_map;

/* The slot of the key, or the empty slot where it belongs. */
static deeprec_slot *find_deeprec_slot(const deeprec_map *map, int64_t key)
{
	size_t at = hash_of(key) >> 32;

	for (size_t step = 1;; at += step++) {
		deeprec_slot *slot = &map->slots[at & (map->slot_count - 1)];

		if (slot->value == NULL || slot->key == key)
			return slot;
	}
}

static void *build_deeprec(const sp_rival_data *data)
{
	deeprec_map *map = sp_rival_need(calloc(1, sizeof(*map)));

	map->dim = data->dim;
	map->slot_count = 32;
	while (map->slot_count * 8 / 10 < data->count)
		map->slot_count *= 2;
	map->slots = sp_rival_map(map->slot_count * sizeof(*map->slots), false);
	map->values = make_heap(data->count * 32, false);
	map->headers = make_heap(data->count * 32, false);
	map->rows = make_heap(data->count * ((data->dim * sizeof(float) + 15) / 16 * 16), false);
	for (uint64_t i = 0; i < data->count; i++) {
		deeprec_value *value = take(&map->values, sizeof(*value));

		value->header = take(&map->headers, sizeof(*value->header));
		value->header->row = take_row(&map->rows, data, i);
		*find_deeprec_slot(map, sp_rival_key(i)) = (deeprec_slot){sp_rival_key(i), value};
	}
	return map;
}

static void look_up_deeprec(void *store, const int64_t *keys, size_t count, float *rows)
{
	const deeprec_map *map = store;

	for (size_t i = 0; i < count; i++) {
		const deeprec_value *value = find_deeprec_slot(map, keys[i])->value;

		answer(value != NULL ? value->header->row : NULL, map->dim, rows + i * map->dim);
	}
}

static size_t deeprec_footprint(void *store)
{
	const deeprec_map *map = store;

	return map->slot_count * sizeof(*map->slots) + map->values.size + map->headers.size +
	       map->rows.size;
}

static void destroy_deeprec(void *store)
{
	deeprec_map *map = store;

	sp_rival_unmap(map->slots, map->slot_count * sizeof(*map->slots));
	sp_rival_unmap(map->values.memory, map->values.size);
	sp_rival_unmap(map->headers.memory, map->headers.size);
	sp_rival_unmap(map->rows.memory, map->rows.size);
	free(map);
}

const sp_rival sp_rival_deeprec = {"deeprec_layout", build_deeprec, look_up_deeprec,
				   deeprec_footprint, destroy_deeprec};
