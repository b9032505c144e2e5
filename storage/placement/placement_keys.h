#ifndef SP_STORAGE_PLACEMENT_PLACEMENT_KEYS_H
#define SP_STORAGE_PLACEMENT_PLACEMENT_KEYS_H

#include "storage/placement/placement.h"

/*
 * Keys that come one piece after the other, on their way to places
 * (storage/placement/placement.h).  Where it is known about how many there will be, each
 * goes to its part as it comes, hashed, and nothing has to be read twice.
 *
 * Threads: add() may run in many threads at once; everything else is called by
 * one thread at a time.
 */
typedef struct sp_placement_keys sp_placement_keys;

/*
 * expected: how many will come, 0 when that is not known.  More do no harm but take
 * longer, and so do much fewer.
 */
SP_MUST_CHECK sp_status sp_placement_keys_create(sp_placement_keys **out, size_t expected,
						 sp_error *err);

/* -1 and -2 among them are left out; *held: how many are not. */
SP_MUST_CHECK sp_status sp_placement_keys_add(sp_placement_keys *keys, const int64_t *some,
					      size_t count, size_t *held, sp_error *err);

/* What sp_placement_find() does, of all that were added; they are used up, whatever comes out. */
SP_MUST_CHECK sp_status sp_placement_keys_find(sp_region *pilots, sp_rows_shape *shape,
					       sp_placement_keys *keys, size_t threads,
					       const atomic_bool *stop, sp_error *err);

/* NULL is fine. */
void sp_placement_keys_destroy(sp_placement_keys *keys);

#endif
