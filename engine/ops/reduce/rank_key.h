#ifndef SP_ENGINE_OPS_RANK_KEY_H
#define SP_ENGINE_OPS_RANK_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/dtype.h"

/*
 * Numbers of any real type as uint64_t keys that compare as the numbers do:
 * a < b exactly when key(a) < key(b).  -0.0 equals 0.0.  A NaN is below all.
 *
 * Threads: pure.
 */

/* Whether there are keys for that type: every integer and floating type. */
bool sp_rank_key__has(sp_dtype dtype);

/* The keys of elements first ... first + n - 1 of `data`. */
void sp_rank_key__read(uint64_t *keys, sp_dtype dtype, const void *data, size_t first, size_t n);

#endif
