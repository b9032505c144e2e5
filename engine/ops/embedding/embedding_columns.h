#ifndef SP_ENGINE_OPS_EMBEDDING_COLUMNS_H
#define SP_ENGINE_OPS_EMBEDDING_COLUMNS_H

#include "engine/graph/op.h"
#include "engine/ops/embedding/column_spec.h"

/* The keys of a column that remain after filtering, with their rows in ascending order. */
typedef struct sp_column_keys {
	sp_dtype dtype; /* of the source; here they are int64 */
	const int64_t *keys;
	const int64_t *segments;
	const float *weights; /* NULL without */
	size_t count;
	bool one_each; /* every row has one key without a weight, so that rows need no combining */
	sp_shape lead; /* the row dimensions */
	size_t row_count;
} sp_column_keys;

/*
 * Reads the keys of a column from its inputs; the result lives as long as the request.  SP_INVALID
 * when the inputs are malformed.
 */
SP_MUST_CHECK sp_status sp_column_read_keys(const sp_call *call, const sp_column_spec *spec,
					    const sp_tensor *const *in, sp_column_keys *out);

/*
 * rows [pooling->segment_count, width]: combined rows keys[..] of table [.., width].  Without
 * pooling: those rows, [count, width].
 *
 * Numerics: rows are added in their order: with u = 2^-24 and s the sum of the n terms' absolute
 * values, the error of a sum is at most (n + 1) * u * s.
 */
void sp_column_combine(float *rows, size_t width, const float *table, const int64_t *keys,
		       size_t count, const sp_pooling *pooling);

#endif
