#ifndef SP_BASE_RING_H
#define SP_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A queue of items of one size, in a ring that grows; {0} is an empty one.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_ring {
	char *items;
	size_t first, count, capacity; /* the capacity is a power of two, or 0 */
} sp_ring;

void sp_ring_fini(sp_ring *ring);

/* Makes room for one more item; false: out of memory. */
bool sp_ring_reserve(sp_ring *ring, size_t item_size);

static inline void *sp_ring_at(const sp_ring *ring, size_t i, size_t item_size)
{
	return ring->items + ((ring->first + i) & (ring->capacity - 1)) * item_size;
}

/* A new item at the end; NULL: out of memory. */
static inline void *sp_ring_push(sp_ring *ring, size_t item_size)
{
	return sp_ring_reserve(ring, item_size) ? sp_ring_at(ring, ring->count++, item_size) : NULL;
}

/* The oldest item; the ring is not empty. */
static inline void *sp_ring_oldest(const sp_ring *ring, size_t item_size)
{
	return sp_ring_at(ring, 0, item_size);
}

/* Removes the oldest item, which is valid until the next push; the ring is not empty. */
static inline void *sp_ring_pop(sp_ring *ring, size_t item_size)
{
	void *item = sp_ring_at(ring, 0, item_size);

	ring->first = (ring->first + 1) & (ring->capacity - 1);
	ring->count--;
	return item;
}

#endif
