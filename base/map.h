#ifndef SP_BASE_MAP_H
#define SP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"

/*
 * A hash map from byte strings to uint64_t, without removal.  Keys are not copied: their
 * bytes must outlive the map.  Hashing is keyed per process, so that names in a hostile file
 * cannot be chosen to collide.
 *
 * Memory comes from the arena given at init and lives as long.
 *
 * Threads: one thread while the map is filled; afterwards any number may read.
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

/* Whether the key is present; sets *value unless `value` is NULL. */
bool sp_map_get(const sp_map *map, sp_bytes key, uint64_t *value);

typedef enum sp_map_result { SP_MAP_ADDED, SP_MAP_PRESENT, SP_MAP_NO_MEMORY } sp_map_result;

/* Adds the key; a present key keeps its value. */
sp_map_result sp_map_add(sp_map *map, sp_bytes key, uint64_t value);

/* Adds or overwrites. */
sp_map_result sp_map_put(sp_map *map, sp_bytes key, uint64_t value);

#endif
