#include <string.h>

#include "engine/ops/ops.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/ops/reduce/row_set.h"

/*
 * Unique: the distinct elements of a vector in the order of their first appearance, and for each
 * element of the vector its index among them.  UniqueV2: the same for the slices along an axis.
 * UniqueWithCounts*: also how often each one appears.  UniqueWithCountsV3 is DeepRec's and takes a
 * vector of integers.
 */

typedef struct unique_state {
	bool has_axis;
	bool has_counts;
	sp_dtype idx_dtype;
} unique_state;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	unique_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_op *op = prepare->node->op;
	bool is_deeprec = op == &sp_op_UniqueWithCountsV3;

	SP_NEED_MEMORY(state, err, "an operator");
	state->has_axis = op == &sp_op_UniqueV2 || op == &sp_op_UniqueWithCountsV2;
	state->has_counts = op != &sp_op_Unique && op != &sp_op_UniqueV2;
	SP_TRY(sp_prepare_inputs(prepare, state->has_axis ? 2 : 1, err));
	if (is_deeprec)
		SP_TRY(sp_prepare_input_index(prepare, 0, err));
	if (!sp_rows__comparable(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	if (state->has_axis)
		SP_TRY(sp_prepare_input_index(prepare, 1, err));
	SP_TRY(sp_array__index_type(prepare, is_deeprec ? "CounterType" : "out_idx", SP_INT32,
				    &state->idx_dtype, err));
	SP_TRY(sp_prepare_outputs(prepare, state->has_counts ? 3 : 2, state->idx_dtype, err));
	prepare->out_dtypes[0] = prepare->in_dtypes[0];
	return SP_OK;
}

/* The axis input holds one number; for a vector it may be empty. */
static sp_status read_axis(const sp_call *call, int *axis)
{
	const unique_state *state = call->state;

	*axis = 0;
	if (state->has_axis) {
		SP_TRY(sp_call_need_rank(call, 1, 1));
		if (call->in[1]->count > 1)
			return sp_call_invalid(call, "axis has %zu elements, more than 1",
					       call->in[1]->count);
		if (call->in[1]->count == 1)
			return sp_call_axis(call, sp_tensor_index(call->in[1], 0),
					    call->in[0]->shape.rank, axis);
	}
	return sp_call_need_rank(call, 0, 1);
}

/* Output 0: the distinct slices. */
static sp_status write_firsts(const sp_call *call, const sp_rows *rows, int axis,
			      const uint32_t *firsts, size_t count)
{
	size_t size = sp_dtype_size(rows->dtype), row = rows->inner * size;
	sp_shape shape = call->in[0]->shape;
	char *to;

	shape.dims[axis] = (int64_t)count;
	SP_TRY(sp_call_output(call, 0, rows->dtype, &shape));
	to = call->out[0]->data;
	if (call->out[0]->count == 0)
		return SP_OK;
	if (row == 8 && rows->outer == 1) {
		for (size_t i = 0; i < count; i++)
			memcpy(to + 8 * i, (const char *)rows->data + 8 * firsts[i], 8);
		return SP_OK;
	}
	for (size_t outer = 0; outer < rows->outer; outer++)
		for (size_t i = 0; i < count; i++, to += row)
			memcpy(to, (const char *)rows->data + (outer * rows->n + firsts[i]) * row,
			       row);
	return SP_OK;
}

static sp_status write_numbers(const sp_call *call, size_t i, const uint32_t *numbers, size_t n)
{
	const unique_state *state = call->state;

	SP_TRY(sp_call_output_vector(call, i, state->idx_dtype, (int64_t)n));
	for (size_t k = 0; k < n; k++)
		sp_array__put_index(call->out[i], k, numbers[k]);
	return SP_OK;
}

static sp_status run(const sp_call *call)
{
	const unique_state *state = call->state;
	const sp_shape *in = &call->in[0]->shape;
	uint32_t *ids, *firsts;
	sp_row_set set;
	sp_rows rows;
	size_t count;
	int axis;

	SP_TRY(read_axis(call, &axis));
	rows = (sp_rows){.dtype = call->in[0]->dtype,
			 .data = call->in[0]->data,
			 .outer = (size_t)sp_shape_product(in, 0, axis),
			 .n = (size_t)in->dims[axis],
			 .inner = (size_t)sp_shape_product(in, axis + 1, in->rank)};
	SP_TRY(sp_row_set__init(&set, call, &rows));
	SP_CALL_ARRAY(ids, call, rows.n);
	SP_CALL_ARRAY(firsts, call, rows.n);
	count = sp_row_set__number(&set, ids, firsts);
	SP_TRY(write_firsts(call, &rows, axis, firsts, count));
	SP_TRY(write_numbers(call, 1, ids, rows.n));
	if (!state->has_counts)
		return SP_OK;
	memset(firsts, 0,
	       count * sizeof(*firsts)); /* firsts was consumed; now it holds the counts */
	for (size_t i = 0; i < rows.n; i++)
		firsts[ids[i]]++;
	return write_numbers(call, 2, firsts, count);
}

SP_DEFINE_OP(Unique, "y idx", 0, prepare, run);
SP_DEFINE_OP(UniqueV2, "y idx", 0, prepare, run);
SP_DEFINE_OP(UniqueWithCounts, "y idx count", 0, prepare, run);
SP_DEFINE_OP(UniqueWithCountsV2, "y idx count", 0, prepare, run);
SP_DEFINE_OP(UniqueWithCountsV3, "unique_keys unique_idxs unique_counts", 0, prepare, run);
