#ifndef SP_STORAGE_CACHE_KEY_MISS_H
#define SP_STORAGE_CACHE_KEY_MISS_H

#include <stddef.h>
#include <stdint.h>

/* A key that a cache lacks. */
typedef struct sp_key_miss {
	int64_t key;
	uint32_t read;
	uint32_t at; /* index of the key in the read */
} sp_key_miss;

/*
 * Sorts in the order of sp_rocks_compare(), in place.  Unlike qsort() it never allocates, and it
 * makes at most 64 passes over the keys, whatever a client sends.  Threads: pure.
 */
void sp_key_miss_sort(sp_key_miss *misses, size_t count);

#endif
