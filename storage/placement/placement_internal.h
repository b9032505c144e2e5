#ifndef SP_STORAGE_PLACEMENT_PLACEMENT_INTERNAL_H
#define SP_STORAGE_PLACEMENT_PLACEMENT_INTERNAL_H

#include "storage/placement/placement.h"

/* Hashes that lie in their parts. */
typedef struct sp_placement_parts {
	uint64_t *hashes;
	size_t *starts; /* [part_count]: where a part's hashes begin */
	size_t *sizes;  /* [part_count]: how many they are */
} sp_placement_parts;

/* How many parts so many keys fill. */
size_t sp_placement__part_count(size_t key_count);

/* Another one than it has. */
void sp_placement__choose_seed(sp_rows_shape *shape);

static inline bool sp_placement__is_stopped(const atomic_bool *stop)
{
	return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
}

/*
 * Pilots for hashes under the seed and the part_count of *shape, whose other
 * fields about placing are filled.  SP_BUSY when there are none under this seed,
 * when two hashes are the same, and when *stop has become true.  After a failure
 * *pilots is memory of any content.
 */
SP_MUST_CHECK sp_status sp_placement__place(sp_region *pilots, sp_rows_shape *shape,
					    const sp_placement_parts *parts, size_t threads,
					    const atomic_bool *stop, sp_error *err);

/* Hashes become keys again, without gaps; gives how many. */
size_t sp_placement__turn_back(const sp_rows_shape *shape, const sp_placement_parts *parts,
			       int64_t *keys);

/* sp_placement_find(); `tried`: how many seeds have been of no use. */
SP_MUST_CHECK sp_status sp_placement__find(sp_region *pilots, sp_rows_shape *shape, sp_region *keys,
					   size_t key_count, int tried, size_t threads,
					   const atomic_bool *stop, sp_error *err);

/*
 * Pilots [part_buckets] for one part's hashes [count], in any order.  SP_BUSY
 * when there are none under this seed, or two hashes are the same.
 */
SP_MUST_CHECK sp_status sp_placement__search(const sp_rows_shape *shape, const uint64_t *hashes,
					     size_t count, uint8_t *pilots, sp_error *err);

#endif
