#ifndef SP_STORAGE_PLACEMENT_PLACEMENT_INTERNAL_H
#define SP_STORAGE_PLACEMENT_PLACEMENT_INTERNAL_H

#include <stdatomic.h>

#include "base/status.h"
#include "storage/placement/placement.h"
#include "storage/region.h"

/* Hashes sorted by part. */
typedef struct sp_placement_parts {
	uint64_t *hashes;
	size_t *starts; /* [part_count]: index of a part's first hash */
	size_t *sizes;  /* [part_count]: number of its hashes */
} sp_placement_parts;

/* The number of parts for this many keys. */
size_t sp_placement__part_count(size_t key_count);

/* Draws a new random seed. */
void sp_placement__choose_seed(sp_placement *placement);

static inline bool sp_placement__is_stopped(const atomic_bool *stop)
{
	return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
}

/*
 * Finds pilots for these hashes under the seed and part_count of *placement and fills its other
 * fields.  SP_BUSY when there are none under this seed, when two hashes are equal, and after *stop
 * has become true.  After a failure *pilots is undefined.
 */
SP_MUST_CHECK sp_status sp_placement__place(sp_region *pilots, sp_placement *placement,
					    const sp_placement_parts *parts, size_t threads,
					    const atomic_bool *stop, sp_error *err);

/* Recovers the keys of all hashes, without gaps; returns their number. */
size_t sp_placement__recover_keys(const sp_placement *placement, const sp_placement_parts *parts,
				  int64_t *keys);

/*
 * Builds the placement of keys [key_count], without the marks; repeated keys count once.  Takes
 * ownership of `keys`, and needs twice their size meanwhile.  Fills *placement and allocates
 * *pilots [part_count * part_buckets].  `tried`: how many seeds have failed before.
 */
SP_MUST_CHECK sp_status sp_placement__find(sp_region *pilots, sp_placement *placement,
					   sp_region *keys, size_t key_count, int tried,
					   size_t threads, const atomic_bool *stop, sp_error *err);

/*
 * Pilots [part_buckets] for one part's hashes [count], in any order.  SP_BUSY when there are none
 * under this seed, or two hashes are the same.
 */
SP_MUST_CHECK sp_status sp_placement__search(const sp_placement *placement, const uint64_t *hashes,
					     size_t count, uint8_t *pilots, sp_error *err);

#endif
