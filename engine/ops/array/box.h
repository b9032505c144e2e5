#ifndef SP_ENGINE_OPS_BOX_H
#define SP_ENGINE_OPS_BOX_H

#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/tensor.h"

/*
 * A box of elements to copy, with its own stride on either side: what slices,
 * transposes, concats, tiles, pads and reversals have in common.
 *
 *     to[i0 * to[0] + i1 * to[1] + ...] = from[i0 * from[0] + i1 * from[1] + ...]
 *
 * for every index below dims.  Strides are in bytes and may be negative; those
 * of `from` may be 0 (repeat).  Threads: pure.
 */
#define SP_BOX_MAX_RANK (2 * SP_MAX_RANK)

typedef struct sp_box {
	int rank;
	int64_t dims[SP_BOX_MAX_RANK];
	int64_t to[SP_BOX_MAX_RANK];
	int64_t from[SP_BOX_MAX_RANK];
} sp_box;

/*
 * Copies the elements of `size` bytes.  `to` and `from` are where index 0 of
 * every dimension lies; they may be NULL when a dimension is 0.  The two sides
 * must not overlap, but for elements that are never written.
 */
void sp_box__copy(const sp_box *box, void *to, const void *from, size_t size);

/* Row-major strides of the shape, in bytes.  All 0 where a dimension is 0. */
void sp_box__strides(const sp_shape *shape, size_t size, int64_t strides[SP_MAX_RANK]);

/* Adds a dimension at the end. */
static inline void sp_box__add(sp_box *box, int64_t dim, int64_t to, int64_t from)
{
	box->dims[box->rank] = dim;
	box->to[box->rank] = to;
	box->from[box->rank] = from;
	box->rank++;
}

#endif
