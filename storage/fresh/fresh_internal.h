#ifndef SP_STORAGE_FRESH_FRESH_INTERNAL_H
#define SP_STORAGE_FRESH_FRESH_INTERNAL_H

#include <stdatomic.h>

#include "storage/fresh/fresh.h"
#include "storage/region.h"

/*
 *   fresh.c       states, pins and the memory limit
 *   fresh_rows.c  one table: its index, and the memory of its rows
 */

/* A row; it does not change while any reader may see it. */
typedef struct sp_fresh_row {
	uint64_t state;             /* the first state that sees it */
	struct sp_fresh_row *older; /* for earlier states; NULL: they see none */
	int64_t step;
	float elements[];
} sp_fresh_row;

/* A row that a newer one has replaced, and the first state that sees the newer one. */
typedef struct sp_fresh_replaced {
	sp_fresh_row *row;
	uint64_t state;
} sp_fresh_replaced;

/* A bucket of an index; an empty one has key -1. */
typedef struct sp_fresh_bucket {
	_Atomic int64_t key;
	_Atomic(sp_fresh_row *) newest;
} sp_fresh_bucket;

/*
 * A hash table with open addressing for some of the keys; replaced by one of twice the size when it
 * is nearly full.
 */
typedef struct sp_fresh_index {
	size_t mask;      /* number of buckets, a power of two, - 1 */
	size_t count;     /* keys; used by the writer */
	sp_region region; /* that holds this index */
	struct sp_fresh_index *next;
	uint64_t replaced; /* the first state whose readers use the larger index */
	sp_fresh_bucket buckets[];
} sp_fresh_index;

/* A table has many small indexes, so that growing one takes little time. */
enum { SP_FRESH_PARTS = 64 };

typedef struct sp_fresh_chunk {
	sp_region region; /* that holds this chunk and its rows */
	struct sp_fresh_chunk *next;
	size_t used;
} sp_fresh_chunk;

struct sp_fresh_rows {
	struct sp_fresh *fresh;
	size_t dim;
	size_t row_size;
	uint64_t seed;                                   /* of the hashes of keys */
	_Atomic(sp_fresh_index *) parts[SP_FRESH_PARTS]; /* NULL: no keys */

	/* Used by the writer only. */
	sp_fresh_chunk *chunks; /* rows are allocated from the first */
	/*
	 * A ring of replaced rows in the order of their states; the first ones may be reused.  A
	 * list through the rows themselves would touch memory that is not in the processor's cache.
	 */
	sp_region ring;
	size_t ring_capacity; /* a power of two */
	size_t ring_first, ring_count;
	uint64_t oldest; /* pinned state; rows replaced in it or earlier may be reused */
};

/* On its own cache line, because other threads write its neighbours. */
typedef struct sp_fresh_slot {
	_Alignas(64) atomic_uint_least64_t state; /* pinned; 0: none */
} sp_fresh_slot;

struct sp_fresh {
	_Alignas(64) atomic_uint_least64_t state; /* of the last commit; 1 before the first */
	size_t table_count;
	size_t reader_count;
	size_t memory_limit;
	sp_fresh_rows *tables;
	sp_fresh_slot *slots;
	sp_fresh_index *replaced; /* indexes that readers may still use; used by the writer */
	atomic_uint_least64_t keys, bytes, commits; /* written by the writer */
};

/* The state that the next commit makes. */
static inline uint64_t sp_fresh__next_state(const sp_fresh *fresh)
{
	return atomic_load_explicit(&fresh->state, memory_order_relaxed) + 1;
}

static inline void sp_fresh__add(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/*
 * Allocates a region, which the caller keeps, and counts it; SP_BUSY if the memory limit does not
 * allow it.
 */
SP_MUST_CHECK sp_status sp_fresh__alloc(sp_fresh *fresh, sp_region *out, size_t size);

/* Frees a region; the struct `of` may lie in its own memory. */
void sp_fresh__free(sp_fresh *fresh, const sp_region *of);

/* Frees the memory of a table. */
void sp_fresh__free_rows(sp_fresh_rows *rows);

#endif
