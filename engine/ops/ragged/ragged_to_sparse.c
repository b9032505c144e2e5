#include "engine/graph/op.h"

#include <string.h>

#include "engine/ops/ragged/ragged.h"

/*
 * RaggedTensorToSparse: the index of a value is its row in each of the nested splits, its position
 * in the innermost row, and its position in the inner (dense) dimensions.
 */
typedef struct nest {
	sp_splits *levels; /* [depth], outermost first */
	size_t *rows;      /* [depth] the current row of each level */
	size_t depth;
	const sp_tensor *values;
	size_t inner; /* elements of a value row */
} nest;

static sp_status read_nest(const sp_call *call, nest *n)
{
	n->depth = call->in_count - 1;
	n->values = call->in[n->depth];
	SP_TRY(sp_splits__read_all(call, n->depth, true, &n->levels));
	n->inner = (size_t)sp_shape_product(&n->values->shape, 1, n->values->shape.rank);
	SP_CALL_ARRAY(n->rows, call, n->depth);
	memset(n->rows, 0, n->depth * sizeof(*n->rows));
	return SP_OK;
}

/* The index of value row `item` in all levels: index[0 ... depth]. */
static void locate(nest *n, int64_t item, int64_t *index)
{
	for (size_t k = n->depth; k-- > 0;) {
		const int64_t *at = n->levels[k].at;

		while (at[n->rows[k] + 1] <= item)
			n->rows[k]++;
		index[k + 1] = item - at[n->rows[k]];
		item = (int64_t)n->rows[k];
	}
	index[0] = item;
}

static void write_indices(nest *n, int64_t *indices, size_t rank)
{
	const sp_shape *shape = &n->values->shape;

	for (int64_t item = 0; item < shape->dims[0]; item++)
		for (size_t cell = 0; cell < n->inner; cell++, indices += rank) {
			size_t rest = cell;

			locate(n, item, indices);
			for (int d = shape->rank - 1; d > 0; d--) {
				indices[n->depth + (size_t)d] = (int64_t)rest % shape->dims[d];
				rest /= (size_t)shape->dims[d];
			}
		}
}

static void write_shape(const nest *n, int64_t *dims)
{
	*dims++ = (int64_t)n->levels[0].rows;
	for (size_t k = 0; k < n->depth; k++, dims++) {
		const sp_splits *level = &n->levels[k];

		*dims = 0;
		for (size_t row = 0; row < level->rows; row++)
			if (level->at[row + 1] - level->at[row] > *dims)
				*dims = level->at[row + 1] - level->at[row];
	}
	for (int d = 1; d < n->values->shape.rank; d++)
		*dims++ = n->values->shape.dims[d];
}

static sp_status run_to_sparse(const sp_call *call)
{
	sp_shape shape;
	size_t rank;
	nest n = {.depth = 0};

	SP_TRY(read_nest(call, &n));
	rank = n.depth + (size_t)n.values->shape.rank;
	SP_TRY(sp_call_output_matrix(call, 0, SP_INT64, (int64_t)n.values->count, (int64_t)rank));
	if (n.values->count != 0)
		write_indices(&n, sp_tensor_i64(call->out[0]), rank);
	shape = sp_shape_vector((int64_t)n.values->count);
	sp_call_forward(call, 1, n.depth, &shape);
	SP_TRY(sp_call_output_vector(call, 2, SP_INT64, (int64_t)rank));
	write_shape(&n, sp_tensor_i64(call->out[2]));
	return SP_OK;
}

SP_DEFINE_TYPED_OP(RaggedTensorToSparse, "sparse_indices sparse_values sparse_dense_shape", 0,
		   "index+ T -> int64 T int64", run_to_sparse);
