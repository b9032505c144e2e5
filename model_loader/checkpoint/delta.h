#ifndef SP_MODEL_LOADER_CHECKPOINT_DELTA_H
#define SP_MODEL_LOADER_CHECKPOINT_DELTA_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"
#include "model_loader/checkpoint/bundle.h"

/*
 * Reads an ordinary variable with a delta applied to its full checkpoint.
 *
 * A delta has most variables whole, under their own names.  For a sparsely updated variable it may
 * have only the rows that changed since the full checkpoint: NAME-sparse_incr_keys [n], row
 * numbers, and NAME-sparse_incr_values [n, ...], the rows.  For a partitioned variable these are
 * stored by part, NAME/part_<i>-sparse_incr_keys, with row numbers that start at 0 in each part;
 * TensorFlow's partitioners give every part rows / parts rows, and one more to the first rows %
 * parts of them.
 *
 * The result is that of sp_bundle_read_slice() of `full`, with the delta applied.  `delta` may be
 * NULL.  `known` is that slice of `full` if it was read before, else NULL.  If the delta has
 * nothing of the variable, *out is *known and shares its bytes.
 *
 * SP_CORRUPT when the delta's rows do not fit the variable; SP_UNSUPPORTED when a variable has
 * changed rows and the slice omits columns.
 */
SP_MUST_CHECK sp_status sp_delta_read_slice(const sp_bundle *full, const sp_bundle *delta,
					    sp_bytes name, sp_bytes slice, const sp_tensor *known,
					    sp_arena *arena, sp_tensor *out, sp_error *err);

#endif
