#ifndef SP_MODEL_LOADER_CHECKPOINT_TENSOR_SLICE_H
#define SP_MODEL_LOADER_CHECKPOINT_TENSOR_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"

/*
 * A rectangular piece of a tensor: start and length per dimension.  Length SP_SLICE_FULL, with
 * start 0, is the whole dimension.
 *
 * Source: tensor_slice.h and ParseShapeAndSlice of TensorFlow 2.15.
 */
#define SP_SLICE_FULL (-1)

typedef struct sp_tensor_slice {
	int32_t rank; /* 0 ... SP_MAX_RANK */
	int64_t start[SP_MAX_RANK];
	int64_t length[SP_MAX_RANK];
} sp_tensor_slice;

/* The slice that is the whole tensor. */
sp_tensor_slice sp_tensor_slice_all(const sp_shape *shape);

/* Replaces SP_SLICE_FULL by the dimension; false when the slice does not fit the shape. */
bool sp_tensor_slice_resolve(sp_tensor_slice *slice, const sp_shape *shape);

/* The shape of a resolved slice. */
sp_shape sp_tensor_slice_shape(const sp_tensor_slice *slice);

/*
 * Parses "30 16 10,300:0,16" (see sp_bundle_read_slice()).  The dims must be those of `shape`.  ""
 * is the whole tensor.  The result is resolved.  SP_INVALID for any other text.
 */
SP_MUST_CHECK sp_status sp_tensor_slice_parse(sp_tensor_slice *out, sp_bytes text,
					      const sp_shape *shape, sp_error *err);

/* Whether two resolved slices of one tensor have an element in common. */
bool sp_tensor_slice_overlap(const sp_tensor_slice *a, const sp_tensor_slice *b);

/*
 * Copies the intersection of the slices `from` (the place of tensor `src`) and `to` (that of
 * `dst`).  Both are resolved, the tensors have their shapes and the same dtype.
 *
 * `seen` has a bit per element of dst, which is set when the element is written.  False, with dst
 * only partly written, when a bit was set before: slices overlap.  *copied is increased by the
 * number of elements copied.
 */
bool sp_tensor_slice_copy(sp_tensor *dst, const sp_tensor_slice *to, const sp_tensor *src,
			  const sp_tensor_slice *from, uint64_t *seen, size_t *copied);

#endif
