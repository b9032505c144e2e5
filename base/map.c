#include "base/map.h"

#include <string.h>

#include "base/hash.h"

/*
 * Open addressing; the buckets hold indices into `entries`, which is in order of insertion, so
 * that growing moves small integers only.
 */

static uint64_t hash_of(sp_bytes key)
{
	return sp_siphash13(sp_hash_process_key(), key.data, key.size);
}

void sp_map_init(sp_map *map, sp_arena *arena)
{
	*map = (sp_map){.arena = arena};
}

/* The bucket of the key, or the free bucket where it belongs. */
static uint32_t *find_bucket(const sp_map *map, sp_bytes key, uint64_t hash)
{
	size_t mask = 2 * map->capacity - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		uint32_t *bucket = &map->buckets[i];
		const sp_map_entry *entry;

		if (*bucket == 0)
			return bucket;
		entry = &map->entries[*bucket - 1];
		if (entry->hash == hash && sp_bytes_equal(entry->key, key))
			return bucket;
	}
}

/* Doubles the room.  The old arrays stay in the arena: together they are smaller than the new ones.
 */
static bool grow(sp_map *map)
{
	size_t capacity = map->capacity != 0 ? 2 * map->capacity : 16;
	sp_map_entry *entries;
	uint32_t *buckets;

	if (capacity > UINT32_MAX / 2)
		return false;
	entries = sp_arena_array(map->arena, capacity, sizeof(*entries));
	buckets = sp_arena_zeros(map->arena, 2 * capacity, sizeof(*buckets));
	if (entries == NULL || buckets == NULL)
		return false;
	if (map->count != 0)
		memcpy(entries, map->entries, map->count * sizeof(*entries));
	map->entries = entries;
	map->buckets = buckets;
	map->capacity = capacity;
	for (size_t i = 0; i < map->count; i++)
		*find_bucket(map, entries[i].key, entries[i].hash) = (uint32_t)i + 1;
	return true;
}

bool sp_map_get(const sp_map *map, sp_bytes key, uint64_t *value)
{
	const uint32_t *bucket;

	if (map->count == 0)
		return false;
	bucket = find_bucket(map, key, hash_of(key));
	if (*bucket == 0)
		return false;
	if (value != NULL)
		*value = map->entries[*bucket - 1].value;
	return true;
}

static sp_map_result insert(sp_map *map, sp_bytes key, uint64_t value, bool overwrite)
{
	uint64_t hash = hash_of(key);
	uint32_t *bucket;

	if (map->count == map->capacity && !grow(map))
		return SP_MAP_NO_MEMORY;
	bucket = find_bucket(map, key, hash);
	if (*bucket != 0) {
		if (overwrite)
			map->entries[*bucket - 1].value = value;
		return SP_MAP_PRESENT;
	}
	map->entries[map->count] = (sp_map_entry){key, hash, value};
	*bucket = (uint32_t)++map->count;
	return SP_MAP_ADDED;
}

sp_map_result sp_map_add(sp_map *map, sp_bytes key, uint64_t value)
{
	return insert(map, key, value, false);
}

sp_map_result sp_map_put(sp_map *map, sp_bytes key, uint64_t value)
{
	return insert(map, key, value, true);
}
