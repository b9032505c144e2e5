#include "base/ring.h"

#include <string.h>

#include "base/alloc.h"

enum { FIRST_CAPACITY = 64 };

void sp_ring_fini(sp_ring *ring)
{
	sp_free(ring->items);
	*ring = (sp_ring){.items = NULL};
}

bool sp_ring_reserve(sp_ring *ring, size_t item_size)
{
	size_t capacity = ring->capacity != 0 ? ring->capacity * 2 : FIRST_CAPACITY;
	char *items;

	if (ring->count < ring->capacity)
		return true;
	items = sp_alloc_zero(capacity, item_size);
	if (items == NULL)
		return false;
	for (size_t i = 0; i < ring->count; i++)
		memcpy(items + i * item_size, sp_ring_at(ring, i, item_size), item_size);
	sp_free(ring->items);
	ring->items = items;
	ring->first = 0;
	ring->capacity = capacity;
	return true;
}
