#ifndef SP_BASE_ARENA_LIST_H
#define SP_BASE_ARENA_LIST_H

#include <string.h>

#include "base/arena.h"

/*
 * Appends an element of zeros to an array in the arena, and returns it; NULL when out of memory.
 * The array is copied to one of twice the size whenever `*count` is a power of two.
 *
 * items  the address of the array's pointer
 *
 * Threads: one thread at a time per arena.
 */
static inline void *sp_arena_append(sp_arena *arena, void *items, size_t *count, size_t size)
{
	char *old, *array;

	memcpy(&old, items, sizeof(old));
	array = old;
	if ((*count & (*count - 1)) == 0) {
		array = sp_arena_zeros(arena, *count != 0 ? 2 * *count : 1, size);
		if (array == NULL)
			return NULL;
		if (*count != 0)
			memcpy(array, old, *count * size);
		memcpy(items, &array, sizeof(array));
	}
	return array + (*count)++ * size;
}

#endif
