#ifndef SP_STORAGE_SSD_KEY_MISS_H
#define SP_STORAGE_SSD_KEY_MISS_H

#include <stddef.h>
#include <stdint.h>

/* A key that a cache lacks, and whose it is. */
typedef struct sp_key_miss {
	int64_t key;
	uint32_t read;
	uint32_t at; /* which key of the read */
} sp_key_miss;

/*
 * Into the order of sp_rocks_compare(); equal keys in any.  In place and without memory,
 * which qsort() takes from the system for more than a few; and 64 passes over the keys at
 * most, whatever keys a client sends.  Threads: pure.
 */
void sp_key_miss_sort(sp_key_miss *misses, size_t count);

#endif
