#include <string.h>

#include "engine/ops/array.h"

/*
 * Batch and Unbatch, with which servers of TensorFlow's run several requests as one: here a batch
 * is one request.  Batch answers its inputs, batch_index [1, 3], which says that all their rows
 * are of batch `id`, and id, 0.  Unbatch answers the rows of the tensor that are of batch `id`:
 * all there are.
 */
typedef struct batch_state {
	int64_t most; /* rows */
} batch_state;

static sp_status prepare_batch(sp_prepare *prepare, sp_error *err)
{
	batch_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	if (prepare->in_count == 0)
		return sp_error_set(err, SP_INVALID, "Batch of no tensors");
	SP_TRY(sp_node_attr_int(prepare->node, "max_batch_size", 0, &state->most, err));
	SP_TRY(sp_prepare_outputs(prepare, prepare->in_count + 2, SP_INT64, err));
	for (size_t i = 0; i < prepare->in_count; i++) {
		SP_TRY(sp_array__movable(prepare, prepare->in_dtypes[i], err));
		prepare->out_dtypes[i] = prepare->in_dtypes[i];
	}
	return SP_OK;
}

static sp_status run_batch(const sp_call *call)
{
	const batch_state *state = call->state;
	sp_shape index = sp_shape_matrix(1, 3), scalar = sp_shape_scalar();
	int64_t rows = call->in[0]->shape.rank == 0 ? 0 : call->in[0]->shape.dims[0];

	for (size_t i = 0; i < call->in_count; i++) {
		if (call->in[i]->shape.rank == 0 || call->in[i]->shape.dims[0] != rows)
			return sp_call_invalid(call, "input %zu has not as many rows as input 0",
					       i);
		sp_array__pass(call, i, i);
	}
	if (rows > state->most)
		return sp_call_invalid(call, "%lld rows for a batch of at most %lld",
				       (long long)rows, (long long)state->most);
	SP_TRY(sp_call_output(call, call->in_count, SP_INT64, &index));
	SP_TRY(sp_call_output(call, call->in_count + 1, SP_INT64, &scalar));
	sp_tensor_i64(call->out[call->in_count])[0] = 0;
	sp_tensor_i64(call->out[call->in_count])[1] = 0;
	sp_tensor_i64(call->out[call->in_count])[2] = rows;
	*sp_tensor_i64(call->out[call->in_count + 1]) = 0;
	return SP_OK;
}

static sp_status prepare_unbatch(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_array__prepare(prepare, 3, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT64, err));
	return sp_prepare_input_dtype(prepare, 2, SP_INT64, err);
}

static sp_status run_unbatch(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *index = call->in[1];
	const int64_t *of = sp_tensor_i64(index);
	sp_shape shape = in->shape;
	size_t row;

	SP_TRY(sp_array__need_rank(call, 2, 0));
	if (shape.rank == 0)
		return sp_call_invalid(call, "a scalar has no rows");
	if (index->shape.rank != 2 || index->count != 3 || of[0] != *sp_tensor_i64(call->in[2]) ||
	    of[1] != 0 || of[2] < 0 || of[2] > shape.dims[0])
		return sp_call_invalid(call, "batch_index does not say how many of %lld rows",
				       (long long)shape.dims[0]);
	if (of[2] == shape.dims[0]) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	row = in->count / (size_t)shape.dims[0] * sp_dtype_size(in->dtype);
	shape.dims[0] = of[2];
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count != 0)
		memcpy(call->out[0]->data, in->data, (size_t)shape.dims[0] * row);
	return SP_OK;
}

const sp_op sp_op_Batch = {.name = "Batch",
			   .outputs = "batched_tensors:T batch_index id",
			   .prepare = prepare_batch,
			   .run = run_batch};
const sp_op sp_op_Unbatch = {.name = "Unbatch",
			     .outputs = "unbatched_tensor",
			     .prepare = prepare_unbatch,
			     .run = run_unbatch};
