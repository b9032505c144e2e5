#ifndef SP_ENGINE_OPS_STRIDED_COPY_H
#define SP_ENGINE_OPS_STRIDED_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/tensor.h"

/*
 * Copies elements with separate strides for source and destination: the base of slices, transposes,
 * concats, tiles, pads and reversals.
 *
 *     to[i0 * to[0] + i1 * to[1] + ...] = from[i0 * from[0] + i1 * from[1] + ...]
 *
 * for every index below dims.  Strides are in bytes and may be negative; those of `from` may be 0
 * (repeat).  Threads: pure.
 */
#define SP_STRIDED_COPY_MAX_RANK (2 * SP_MAX_RANK)

typedef struct sp_strided_copy {
	int rank;
	int64_t dims[SP_STRIDED_COPY_MAX_RANK];
	int64_t to[SP_STRIDED_COPY_MAX_RANK];
	int64_t from[SP_STRIDED_COPY_MAX_RANK];
} sp_strided_copy;

/*
 * Copies elements of `size` bytes.  `to` and `from` are the addresses of the elements with index 0
 * in every dimension; they may be NULL when a dimension is 0.  The elements written must not
 * overlap those read.
 */
void sp_strided_copy__run(const sp_strided_copy *plan, void *to, const void *from, size_t size);

/* Row-major strides of the shape, in bytes.  All are 0 if a dimension is 0. */
void sp_strided_copy__strides(const sp_shape *shape, size_t size, int64_t strides[SP_MAX_RANK]);

/* Adds a dimension at the end. */
static inline void sp_strided_copy__add(sp_strided_copy *plan, int64_t dim, int64_t to,
					int64_t from)
{
	plan->dims[plan->rank] = dim;
	plan->to[plan->rank] = to;
	plan->from[plan->rank] = from;
	plan->rank++;
}

#endif
