#ifndef SP_ENGINE_OPS_SPARSE_SEGMENT_H
#define SP_ENGINE_OPS_SPARSE_SEGMENT_H

#include "engine/graph/op.h"
#include "storage/table/table.h"

/* Rows of a table to be pooled: summed, and divided by their number or its square root. */
typedef struct sp_sparse_rows {
	const void *data; /* [.., width] */
	size_t width;
	const int64_t *indices; /* of one segment */
	size_t count;           /* >= 1 */
	sp_combiner combiner;
} sp_sparse_rows;

/* Pools floats into out [width]. */
void sp_sparse_rows_pool(float *out, const sp_sparse_rows *rows);

#endif
