#ifndef SP_STORAGE_FRESH_FRESH_INTERNAL_H
#define SP_STORAGE_FRESH_FRESH_INTERNAL_H

#include <stdatomic.h>

#include "storage/fresh/fresh.h"
#include "storage/region.h"

/*
 *   fresh.c       all tables: states, who sees them, and the memory limit
 *   fresh_rows.c  one table: its index, and the memory of its rows
 */

/* A row, which does not change while any reader may see it. */
typedef struct sp_fresh_row {
	uint64_t state;             /* that made it visible */
	struct sp_fresh_row *older; /* what earlier states see; NULL: nothing */
	int64_t step;
	float elements[];
} sp_fresh_row;

/* A row that a newer one has replaced, and the first state that sees that one. */
typedef struct sp_fresh_replaced {
	sp_fresh_row *row;
	uint64_t state;
} sp_fresh_replaced;

/* A place of an index; an empty one has the key SP_FRESH_EMPTY. */
typedef struct sp_fresh_place {
	_Atomic int64_t key;
	_Atomic(sp_fresh_row *) newest;
} sp_fresh_place;

/* The places of some of the keys; replaced by one of twice the size when it is nearly full. */
typedef struct sp_fresh_index {
	size_t mask;   /* places - 1; a power of two */
	size_t count;  /* the writer's: places taken */
	sp_region own; /* this memory */
	struct sp_fresh_index *next;
	uint64_t replaced; /* the state whose readers see the next one */
	sp_fresh_place places[];
} sp_fresh_index;

/* An index grows in parts, each of which takes little time. */
enum { SP_FRESH_PARTS = 64 };

typedef struct sp_fresh_chunk {
	sp_region own; /* this memory */
	struct sp_fresh_chunk *next;
	size_t used;
} sp_fresh_chunk;

struct sp_fresh_rows {
	struct sp_fresh *all;
	size_t dim;
	size_t row_size;
	uint64_t seed;                                   /* of the hashes of keys */
	_Atomic(sp_fresh_index *) parts[SP_FRESH_PARTS]; /* NULL: no keys */

	/* The writer's. */
	sp_fresh_chunk *chunks; /* rows are taken from the first */
	/*
	 * Replaced rows in the order of their states, a ring: the first ones are free again.  Apart
	 * from the rows, so that no memory is touched that no cache has.
	 */
	sp_region ring;
	size_t ring_places; /* a power of two */
	size_t ring_first, ring_count;
	uint64_t oldest; /* state that is seen; what is replaced up to it is free */
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
	sp_fresh_index *replaced; /* the writer's: indexes that readers may still use */
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
 * A block of memory that begins with its own region, within the limit of all tables: SP_BUSY above
 * it.
 */
SP_MUST_CHECK sp_status sp_fresh__take(sp_fresh *fresh, sp_region *out, size_t size);

/* Returns a block; `own` may be within it. */
void sp_fresh__give_back(sp_fresh *fresh, const sp_region *own);

/* Frees the memory of a table. */
void sp_fresh__clear(sp_fresh_rows *rows);

#endif
