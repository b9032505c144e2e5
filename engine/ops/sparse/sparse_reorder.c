#include "engine/graph/op.h"

#include <string.h>

#include "engine/ops/array/elements.h"
#include "engine/ops/sparse/sparse.h"

/* SparseReorder: stable row-major order. */
static sp_status run_reorder(const sp_call *call)
{
	const sp_tensor *indices = call->in[0], *values = call->in[1];
	const size_t *order;
	sp_sparse in;
	size_t row;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &in));
	SP_TRY(sp_sparse__order(call, in.indices, in.count, in.rank, &order));
	if (order == NULL) {
		sp_call_forward(call, 0, 0, &indices->shape);
		sp_call_forward(call, 1, 1, &values->shape);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, SP_INT64, &indices->shape));
	SP_TRY(sp_call_output(call, 1, values->dtype, &values->shape));
	row = in.rank * sizeof(*in.indices);
	for (size_t i = 0; i < in.count; i++) {
		memcpy((char *)call->out[0]->data + i * row, in.indices + order[i] * in.rank, row);
		sp_element__copy(call->out[1]->data, i, values->data, order[i],
				 sp_dtype_size(values->dtype));
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(SparseReorder, "output_indices output_values", SP_OP_MOVES,
		   "int64 T int64 -> int64 T", run_reorder);
