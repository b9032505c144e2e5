#include <string.h>

#include "storage/fresh/fresh_internal.h"

enum {
	FIRST_BUCKETS = 64,     /* of an index */
	FIRST_RING = 1024,      /* replaced rows */
	FIRST_CHUNK = 64 << 10, /* bytes */
	LARGEST_CHUNK = 16 << 20,
	EMPTY = -1, /* DeepRec's reserved values, which are no keys */
	DELETED = -2,
};

/* ------------------------------------------------------------------- the index */

static inline uint64_t hash_of(const sp_fresh_rows *rows, int64_t key)
{
	uint64_t h = (uint64_t)key ^ rows->seed;

	h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
	h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
	return h ^ (h >> 32);
}

static inline size_t part_of(uint64_t hash)
{
	return hash >> 58;
}

_Static_assert(SP_FRESH_PARTS == 64, "a part is chosen by six bits");

/* The bucket of the key, or the empty one where it would be inserted. */
static inline sp_fresh_bucket *find_bucket(sp_fresh_index *index, uint64_t hash, int64_t key)
{
	for (size_t i = hash & index->mask;; i = (i + 1) & index->mask) {
		sp_fresh_bucket *bucket = &index->buckets[i];
		int64_t held = atomic_load_explicit(&bucket->key, memory_order_acquire);

		if (held == key || held == EMPTY)
			return bucket;
	}
}

/* Stores the row before the key, so that a reader who sees the key sees its row. */
static void insert_key(sp_fresh_index *index, sp_fresh_bucket *bucket, int64_t key,
		       sp_fresh_row *row)
{
	atomic_store_explicit(&bucket->newest, row, memory_order_relaxed);
	atomic_store_explicit(&bucket->key, key, memory_order_release);
	index->count++;
}

static sp_status create_index(sp_fresh_index **out, sp_fresh *fresh, size_t buckets)
{
	sp_fresh_index *index;
	sp_region region;

	SP_TRY(sp_fresh__alloc(fresh, &region,
			       sizeof(*index) + buckets * sizeof(index->buckets[0])));
	index = region.data;
	*index = (sp_fresh_index){.mask = buckets - 1, .region = region};
	for (size_t i = 0; i < buckets; i++) {
		atomic_init(&index->buckets[i].key, EMPTY);
		atomic_init(&index->buckets[i].newest, NULL);
	}
	*out = index;
	return SP_OK;
}

/* Readers of states before the next one may still use the old index. */
static void replace_index(sp_fresh_rows *rows, size_t part, sp_fresh_index *old,
			  sp_fresh_index *index)
{
	atomic_store_explicit(&rows->parts[part], index, memory_order_release);
	if (old == NULL)
		return;
	old->replaced = sp_fresh__next_state(rows->fresh);
	old->next = rows->fresh->replaced;
	rows->fresh->replaced = old;
}

/* The part's index, grown if one more key does not fit. */
static sp_status get_index(sp_fresh_index **out, sp_fresh_rows *rows, size_t part)
{
	sp_fresh_index *old = atomic_load_explicit(&rows->parts[part], memory_order_relaxed);
	size_t buckets = FIRST_BUCKETS;

	*out = old;
	if (old != NULL) {
		if (old->count < old->mask / 4 * 3)
			return SP_OK;
		buckets = 2 * (old->mask + 1);
	}
	SP_TRY(create_index(out, rows->fresh, buckets));
	for (size_t i = 0; old != NULL && i <= old->mask; i++) {
		int64_t key = atomic_load_explicit(&old->buckets[i].key, memory_order_relaxed);

		if (key != EMPTY)
			insert_key(*out, find_bucket(*out, hash_of(rows, key), key), key,
				   atomic_load_explicit(&old->buckets[i].newest,
							memory_order_relaxed));
	}
	replace_index(rows, part, old, *out);
	return SP_OK;
}

/* ------------------------------------------------------------------- rows' memory */

static size_t next_chunk_size(const sp_fresh_rows *rows)
{
	size_t size = FIRST_CHUNK, least = sizeof(sp_fresh_chunk) + rows->row_size;

	if (rows->chunks != NULL && rows->chunks->region.size < LARGEST_CHUNK)
		size = 2 * rows->chunks->region.size;
	else if (rows->chunks != NULL)
		size = LARGEST_CHUNK;
	return size < least ? least : size;
}

/* Near the memory limit a small chunk may fit where a large one does not. */
static sp_status add_chunk(sp_fresh_rows *rows)
{
	size_t size = next_chunk_size(rows), least = sizeof(sp_fresh_chunk) + rows->row_size;
	sp_fresh_chunk *chunk;
	sp_region region;
	sp_status status = sp_fresh__alloc(rows->fresh, &region, size);

	if (status == SP_BUSY && size > FIRST_CHUNK)
		status = sp_fresh__alloc(rows->fresh, &region,
					 least > FIRST_CHUNK ? least : FIRST_CHUNK);
	SP_TRY(status);
	chunk = region.data;
	*chunk = (sp_fresh_chunk){.region = region,
				  .next = rows->chunks,
				  .used = (sizeof(*chunk) + 63) & ~(size_t)63};
	rows->chunks = chunk;
	return SP_OK;
}

static sp_fresh_replaced *ring_at(const sp_fresh_rows *rows, size_t i)
{
	return (sp_fresh_replaced *)rows->ring.data +
	       ((rows->ring_first + i) & (rows->ring_capacity - 1));
}

/* Grows the ring if one more replaced row does not fit. */
static sp_status extend_ring(sp_fresh_rows *rows)
{
	size_t capacity = rows->ring_capacity != 0 ? 2 * rows->ring_capacity : FIRST_RING;
	sp_region ring;

	if (rows->ring_count < rows->ring_capacity)
		return SP_OK;
	SP_TRY(sp_fresh__alloc(rows->fresh, &ring, capacity * sizeof(sp_fresh_replaced)));
	for (size_t i = 0; i < rows->ring_count; i++)
		((sp_fresh_replaced *)ring.data)[i] = *ring_at(rows, i);
	if (rows->ring_capacity != 0)
		sp_fresh__free(rows->fresh, &rows->ring);
	rows->ring = ring;
	rows->ring_capacity = capacity;
	rows->ring_first = 0;
	return SP_OK;
}

static void add_replaced(sp_fresh_rows *rows, sp_fresh_row *row, uint64_t state)
{
	*ring_at(rows, rows->ring_count++) = (sp_fresh_replaced){row, state};
}

static sp_status alloc_row(sp_fresh_row **out, sp_fresh_rows *rows)
{
	sp_fresh_chunk *chunk = rows->chunks;

	if (rows->ring_count != 0 && ring_at(rows, 0)->state <= rows->oldest) {
		*out = ring_at(rows, 0)->row;
		rows->ring_first++;
		rows->ring_count--;
		return SP_OK;
	}
	if (chunk == NULL || chunk->region.size - chunk->used < rows->row_size) {
		SP_TRY(add_chunk(rows));
		chunk = rows->chunks;
	}
	*out = (sp_fresh_row *)((char *)chunk + chunk->used);
	chunk->used += rows->row_size;
	return SP_OK;
}

void sp_fresh__free_rows(sp_fresh_rows *rows)
{
	for (size_t p = 0; p < SP_FRESH_PARTS; p++) {
		sp_fresh_index *index = atomic_load(&rows->parts[p]);

		if (index != NULL)
			sp_fresh__free(rows->fresh, &index->region);
	}
	if (rows->ring_capacity != 0)
		sp_fresh__free(rows->fresh, &rows->ring);
	while (rows->chunks != NULL) {
		sp_fresh_chunk *chunk = rows->chunks;

		rows->chunks = chunk->next;
		sp_fresh__free(rows->fresh, &chunk->region);
	}
}

/* ------------------------------------------------------------------- putting */

/* Entries whose memory is prefetched together. */
typedef struct block {
	int64_t keys[SP_FRESH_BLOCK];
	uint64_t hashes[SP_FRESH_BLOCK];
	const char *rows[SP_FRESH_BLOCK];
	size_t count;
} block;

static int64_t read_key(const char *bytes, size_t size)
{
	int64_t wide;
	int32_t narrow;

	if (size == sizeof(wide)) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, bytes, sizeof(narrow));
	return narrow;
}

static void read_block(block *b, const sp_fresh_rows *rows, const sp_fresh_entries *entries,
		       size_t first)
{
	size_t size = entries->key_size + rows->dim * sizeof(float), left = entries->count - first;

	b->count = left < SP_FRESH_BLOCK ? left : SP_FRESH_BLOCK;
	for (size_t i = 0; i < b->count; i++) {
		const char *entry = entries->bytes + (first + i) * size;
		sp_fresh_index *index;

		b->keys[i] = read_key(entry, entries->key_size);
		b->hashes[i] = hash_of(rows, b->keys[i]);
		b->rows[i] = entry + entries->key_size;
		index = atomic_load_explicit(&rows->parts[part_of(b->hashes[i])],
					     memory_order_relaxed);
		if (index != NULL)
			__builtin_prefetch(&index->buckets[b->hashes[i] & index->mask], 1);
	}
}

/* Prefetches the rows that will be replaced, and the memory of the rows that will be written. */
static void prefetch_rows(const block *b, const sp_fresh_rows *rows)
{
	for (size_t i = 0; i < b->count && i < rows->ring_count; i++)
		__builtin_prefetch(ring_at(rows, i)->row, 1);
	for (size_t i = 0; i < b->count; i++) {
		sp_fresh_index *index = atomic_load_explicit(&rows->parts[part_of(b->hashes[i])],
							     memory_order_relaxed);
		const sp_fresh_bucket *bucket;

		if (index == NULL)
			continue;
		bucket = find_bucket(index, b->hashes[i], b->keys[i]);
		__builtin_prefetch(atomic_load_explicit(&bucket->newest, memory_order_relaxed), 1);
	}
}

static bool is_finite(const char *row, size_t dim)
{
	uint32_t bits, bad = 0;

	for (size_t d = 0; d < dim; d++) {
		memcpy(&bits, row + d * sizeof(bits), sizeof(bits));
		bad |= (bits & 0x7f800000) == 0x7f800000;
	}
	return bad == 0;
}

/*
 * If the key's newest row is not committed yet, it is overwritten.  Else a new row is put before
 * it, and earlier states still see the old one.
 */
static sp_status put_row(sp_fresh_rows *rows, int64_t key, uint64_t hash, const char *elements,
			 int64_t step)
{
	uint64_t next = sp_fresh__next_state(rows->fresh);
	sp_fresh_index *index = atomic_load_explicit(&rows->parts[part_of(hash)],
						     memory_order_relaxed);
	sp_fresh_bucket *bucket = index != NULL ? find_bucket(index, hash, key) : NULL;
	sp_fresh_row *newest = NULL, *row;

	if (bucket != NULL)
		newest = atomic_load_explicit(&bucket->newest, memory_order_relaxed);
	if (newest != NULL && newest->state == next) {
		newest->step = step;
		memcpy(newest->elements, elements, rows->dim * sizeof(float));
		return SP_OK;
	}
	if (newest == NULL)
		SP_TRY(get_index(&index, rows, part_of(hash)));
	else
		SP_TRY(extend_ring(rows));
	SP_TRY(alloc_row(&row, rows));
	row->state = next;
	row->older = newest;
	row->step = step;
	memcpy(row->elements, elements, rows->dim * sizeof(float));
	if (newest != NULL) {
		atomic_store_explicit(&bucket->newest, row, memory_order_release);
		add_replaced(rows, newest, next);
		return SP_OK;
	}
	insert_key(index, find_bucket(index, hash, key), key, row);
	sp_fresh__add(&rows->fresh->keys, 1);
	return SP_OK;
}

sp_status sp_fresh_put(sp_fresh *fresh, size_t table, const sp_fresh_entries *entries,
		       sp_fresh_done *done)
{
	sp_fresh_rows *rows = &fresh->tables[table];

	while (done->entries < entries->count) {
		block b;

		read_block(&b, rows, entries, done->entries);
		prefetch_rows(&b, rows);
		for (size_t i = 0; i < b.count; i++, done->entries++) {
			if (b.keys[i] == EMPTY || b.keys[i] == DELETED)
				done->reserved++;
			else if (entries->only_finite && !is_finite(b.rows[i], rows->dim))
				done->not_finite++;
			else
				SP_TRY(put_row(rows, b.keys[i], b.hashes[i], b.rows[i],
					       entries->step));
		}
	}
	return SP_OK;
}

/* ------------------------------------------------------------------- finding */

static void prefetch_row(const sp_fresh_row *row, size_t size)
{
	enum { CACHE_LINE = 64, MAX_SIZE = 9 * CACHE_LINE };
	const char *at = (const char *)row, *end = at + (size < MAX_SIZE ? size : MAX_SIZE);

	for (; at < end; at += CACHE_LINE)
		__builtin_prefetch(at, 0, 2);
}

static const sp_fresh_row *find_newest(sp_fresh_index *index, uint64_t hash, int64_t key)
{
	sp_fresh_bucket *bucket = find_bucket(index, hash, key);

	if (key == EMPTY || atomic_load_explicit(&bucket->key, memory_order_acquire) != key)
		return NULL;
	return atomic_load_explicit(&bucket->newest, memory_order_acquire);
}

/* The row that the view sees of a key whose newest row is `row`. */
static inline const float *visible_row(const sp_fresh_row *row, const sp_fresh_view *view)
{
	while (row != NULL && row->state > view->state)
		row = row->older;
	return row != NULL && row->step > view->after_step ? row->elements : NULL;
}

void sp_fresh_find(const sp_fresh_rows *rows, const sp_fresh_view *view, const int64_t *keys,
		   size_t count, const float **found)
{
	const sp_fresh_row *newest[SP_FRESH_BLOCK];
	sp_fresh_index *indexes[SP_FRESH_BLOCK];
	uint64_t hashes[SP_FRESH_BLOCK];

	for (size_t i = 0; i < count; i++) {
		hashes[i] = hash_of(rows, keys[i]);
		indexes[i] = atomic_load_explicit(&rows->parts[part_of(hashes[i])],
						  memory_order_acquire);
		if (indexes[i] != NULL)
			__builtin_prefetch(&indexes[i]->buckets[hashes[i] & indexes[i]->mask]);
	}
	for (size_t i = 0; i < count; i++) {
		newest[i] = indexes[i] != NULL ? find_newest(indexes[i], hashes[i], keys[i]) : NULL;
		if (newest[i] != NULL)
			prefetch_row(newest[i], rows->row_size);
	}
	for (size_t i = 0; i < count; i++)
		found[i] = rows->fresh == view->fresh ? visible_row(newest[i], view) : NULL;
}
