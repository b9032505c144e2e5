#ifndef SP_STORAGE_CACHE_KEY_MISS_H
#define SP_STORAGE_CACHE_KEY_MISS_H

#include <stddef.h>
#include <stdint.h>

/* A cache miss. */
typedef struct sp_key_miss {
	int64_t key;
	uint32_t read; /* index of the read of one table */
	uint32_t at;   /* index of the key in that read */
} sp_key_miss;

/*
 * Sorts by sp_rocks_compare()'s order of keys, in place.  Unlike qsort() it never allocates, and it
 * makes at most 64 passes over the keys, whatever keys a client sends.  Threads: pure.
 */
void sp_key_miss_sort(sp_key_miss *misses, size_t count);

#endif
