#ifndef SP_STORAGE_REGION_H
#define SP_STORAGE_REGION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A block of memory that can grow, such as the rows of a table or the buckets of an index.
 *
 * A large one is an anonymous mapping on huge-page boundaries, with the advice to use huge pages: a
 * lookup touches memory at random, and with 4 KiB pages most of its time goes into address
 * translation.  Pages never written cost nothing, and growing moves page tables, not bytes.  A
 * small one comes from base/alloc.h.
 *
 * {0} is the empty region.
 *
 * Threads: one thread at a time.
 */
#define SP_REGION_PAGE       ((size_t)2 << 20) /* regions of this size or more are multiples of it */
#define SP_REGION_SMALL_PAGE ((size_t)4 << 10)

typedef struct sp_region {
	void *data; /* 64-byte aligned; NULL when size is 0 */
	size_t size;
	size_t mapped; /* bytes of the mapping; 0 when it comes from the allocator */
} sp_region;

/*
 * Makes it `size` bytes; the first min(old, new) bytes are kept, added ones are uninitialised.
 * `data` may move.  False when out of memory: then nothing has changed.
 */
bool sp_region_resize(sp_region *region, size_t size);

/*
 * Returns memory beyond `size`, rounded up to SP_REGION_SMALL_PAGE, to the system: the last bytes
 * are then not on a huge page.
 */
void sp_region_trim(sp_region *region);

/* Bytes taken from the system. */
static inline size_t sp_region_footprint(const sp_region *region)
{
	return region->mapped != 0 ? region->mapped : region->size;
}

/* What sp_region_footprint() will be for that many bytes; SIZE_MAX on overflow. */
size_t sp_region_expected_footprint(size_t size);

/* Frees the memory; the region is empty and can be used again. */
void sp_region_fini(sp_region *region);

#endif
