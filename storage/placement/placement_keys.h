#ifndef SP_STORAGE_PLACEMENT_PLACEMENT_KEYS_H
#define SP_STORAGE_PLACEMENT_PLACEMENT_KEYS_H

#include <stdatomic.h>

#include "base/status.h"
#include "storage/placement/placement.h"
#include "storage/region.h"

/*
 * Collects keys, which arrive in pieces, and builds their placement
 * (storage/placement/placement.h).  If their number is known beforehand, keys are hashed and
 * scattered to parts as they arrive.
 *
 * Threads: add() may run in many threads at once; everything else is called by
 * one thread at a time.
 */
typedef struct sp_placement_keys sp_placement_keys;

/*
 * expected: the number of keys, 0 when unknown.  With more or many fewer keys
 * sp_placement_keys_find() takes longer.
 */
SP_MUST_CHECK sp_status sp_placement_keys_create(sp_placement_keys **out, size_t expected,
						 sp_error *err);

/* The marks -1 and -2 are dropped; *held: the number of other keys. */
SP_MUST_CHECK sp_status sp_placement_keys_add(sp_placement_keys *keys, const int64_t *some,
					      size_t count, size_t *held, sp_error *err);

/*
 * The placement of all keys added, each counted once: fills *placement and allocates *pilots
 * [part_count * part_buckets].  Consumes the keys, also when it fails.  Uses up to `threads`
 * threads, the caller's included.  SP_BUSY soon after *stop has become true; stop NULL: never.
 */
SP_MUST_CHECK sp_status sp_placement_keys_find(sp_region *pilots, sp_placement *placement,
					       sp_placement_keys *keys, size_t threads,
					       const atomic_bool *stop, sp_error *err);

/* NULL is fine. */
void sp_placement_keys_destroy(sp_placement_keys *keys);

#endif
