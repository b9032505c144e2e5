#ifndef SP_STORAGE_PLACEMENT_INTERNAL_H
#define SP_STORAGE_PLACEMENT_INTERNAL_H

#include "storage/placement.h"

/*
 * Pilots [part_buckets] for one part's hashes [count], in any order.  SP_BUSY
 * when there are none under this seed, or two hashes are the same.
 */
SP_MUST_CHECK sp_status sp_placement__search(const sp_rows_shape *shape, const uint64_t *hashes,
					     size_t count, uint8_t *pilots, sp_error *err);

#endif
