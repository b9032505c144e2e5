#ifndef SP_BASE_MAP_H
#define SP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"

/*
 * Names to numbers: a hash map from byte strings to uint64_t, filled once and
 * read often.  Nothing is ever removed.  Keys are not copied: their bytes must
 * outlive the map.  Hashing is keyed per process, so that names from a hostile
 * file cannot be made to collide.
 *
 * Memory comes from the arena given at init and goes with it.
 *
 * Threads: one thread at a time while filling; any number may read after.
 */
typedef struct sp_map_entry {
	sp_bytes key;
	uint64_t hash;
	uint64_t value;
} sp_map_entry;

typedef struct sp_map {
	sp_arena *arena;
	sp_map_entry *entries; /* in the order of insertion */
	uint32_t *buckets;     /* entry index + 1; 0 is free */
	size_t count;
	size_t capacity; /* of entries; buckets has twice as many, a power of two */
} sp_map;

void sp_map_init(sp_map *map, sp_arena *arena);

/* True and *value (may be NULL) when the key is there. */
bool sp_map_get(const sp_map *map, sp_bytes key, uint64_t *value);

typedef enum sp_map_result { SP_MAP_ADDED, SP_MAP_PRESENT, SP_MAP_NO_MEMORY } sp_map_result;

/* Adds the key unless it is there; a present key keeps its value. */
sp_map_result sp_map_add(sp_map *map, sp_bytes key, uint64_t value);

/* Adds or overwrites. */
sp_map_result sp_map_put(sp_map *map, sp_bytes key, uint64_t value);

#endif
