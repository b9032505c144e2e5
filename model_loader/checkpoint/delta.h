#ifndef SP_MODEL_LOADER_CHECKPOINT_DELTA_H
#define SP_MODEL_LOADER_CHECKPOINT_DELTA_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"
#include "model_loader/checkpoint/bundle.h"

/*
 * An ordinary variable as it is after a delta on a full checkpoint.
 *
 * A delta has most variables whole, under their own name.  Of one that is
 * updated sparsely it may have only the rows that changed since the full
 * checkpoint: NAME-sparse_incr_keys [n], row numbers, and
 * NAME-sparse_incr_values [n, ...], the rows.  Of a partitioned variable they
 * come by part, NAME/part_<i>-sparse_incr_keys, with row numbers that start at
 * 0 in each part; TensorFlow's partitioners give every part rows / parts rows,
 * and the first rows % parts of them one more.
 *
 * As sp_bundle_read_slice() of `full`, with the delta applied.  `delta` may be NULL.
 * `known` is that slice of `full` where it was read before, else NULL.  Where the
 * delta has nothing of the variable, *out is *known and shares its bytes.
 *
 * SP_CORRUPT when the delta's rows do not fit the variable; SP_UNSUPPORTED when
 * the slice leaves out columns of a variable of which there are changed rows.
 */
SP_MUST_CHECK sp_status sp_delta_read_slice(const sp_bundle *full, const sp_bundle *delta,
					    sp_bytes name, sp_bytes slice, const sp_tensor *known,
					    sp_arena *arena, sp_tensor *out, sp_error *err);

#endif
