#ifndef SP_ENGINE_OPS_ND_INDEX_H
#define SP_ENGINE_OPS_ND_INDEX_H

#include "engine/graph/op.h"

/*
 * Indices of several dimensions, as GatherNd and ScatterNd take them: the last dimension of
 * `indices` holds `depth` numbers, an index into the first `depth` dimensions of a shape.  It
 * selects a row of `row_count` elements.
 *
 * Threads: immutable once made.
 */
typedef struct sp_nd_index {
	sp_tensor indices; /* int32 or int64 */
	size_t count;      /* of rows selected */
	int depth;
	size_t row_count;
	int64_t dims[SP_MAX_RANK];
	int64_t strides[SP_MAX_RANK]; /* in rows */
} sp_nd_index;

/*
 * Reads input `input` (int16, int32 or int64) as indices into `shape`.  SP_INVALID when it is a
 * scalar or its depth exceeds the rank of the shape.
 */
SP_MUST_CHECK sp_status sp_nd_index__make(sp_nd_index *out, const sp_call *call, size_t input,
					  const sp_shape *shape);

/* The row of the shape that index i selects; SP_INVALID when it is out of range. */
SP_MUST_CHECK sp_status sp_nd_index__at(const sp_nd_index *index, const sp_call *call, size_t i,
					size_t *row);

#endif
