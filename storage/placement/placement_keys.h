#ifndef SP_STORAGE_PLACEMENT_PLACEMENT_KEYS_H
#define SP_STORAGE_PLACEMENT_PLACEMENT_KEYS_H

#include "storage/placement/placement.h"

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

/* As sp_placement_find(), for all keys added.  Consumes them, also when it fails. */
SP_MUST_CHECK sp_status sp_placement_keys_find(sp_region *pilots, sp_placement *placement,
					       sp_placement_keys *keys, size_t threads,
					       const atomic_bool *stop, sp_error *err);

/* NULL is fine. */
void sp_placement_keys_destroy(sp_placement_keys *keys);

#endif
