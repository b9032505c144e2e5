#ifndef SP_ENGINE_OPS_RANK_KEY_H
#define SP_ENGINE_OPS_RANK_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/dtype.h"

/*
 * Maps numbers of any real type to uint64_t keys of the same order: a < b exactly when
 * key(a) < key(b).  -0.0 and 0.0 have the same key.  The key of NaN is 0, below that of any number.
 *
 * Threads: pure.
 */

/* Whether the type has keys: every integer and floating type. */
bool sp_rank_key__has(sp_dtype dtype);

/* Writes the keys of elements first ... first + n - 1 of `data`. */
void sp_rank_key__read(uint64_t *keys, sp_dtype dtype, const void *data, size_t first, size_t n);

#endif
