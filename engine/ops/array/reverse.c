#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * ReverseV2: reverses the listed dimensions; Reverse: those that a list of booleans marks.
 * ReverseSequence: reverses the first seq_lengths[b] elements along seq_dim for each b along
 * batch_dim.
 */

/* -------------------------------------------------------------- ReverseV2 */

static sp_status reverse(const sp_call *call, const bool backwards[SP_MAX_RANK])
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	const char *from = in->data;
	sp_strided_copy plan = {.rank = in->shape.rank};
	bool changes = false;

	for (int d = 0; d < plan.rank; d++)
		changes |= backwards[d] && in->shape.dims[d] > 1;
	if (!changes) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	if (in->count == 0)
		return SP_OK;
	memcpy(plan.dims, in->shape.dims, sizeof(in->shape.dims));
	sp_strided_copy__strides(&in->shape, size, plan.to);
	for (int d = 0; d < plan.rank; d++) {
		plan.from[d] = backwards[d] ? -plan.to[d] : plan.to[d];
		if (backwards[d])
			from += (plan.dims[d] - 1) * plan.to[d];
	}
	sp_strided_copy__run(&plan, call->out[0]->data, from, size);
	return SP_OK;
}

static sp_status run_reverse(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *marks = call->in[1];

	if (in->shape.rank == 0) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (marks->count != (size_t)in->shape.rank)
		return sp_call_invalid(call, "%zu marks for rank %d", marks->count, in->shape.rank);
	return reverse(call, sp_tensor_bool(marks));
}

static sp_status run_reverse_v2(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *axes = call->in[1];
	bool backwards[SP_MAX_RANK] = {false};

	if (in->shape.rank == 0) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_call_need_rank(call, 1, 1));
	for (size_t i = 0; i < axes->count; i++) {
		int axis;

		SP_TRY(sp_call_axis(call, sp_tensor_index(axes, i), in->shape.rank, &axis));
		if (backwards[axis])
			return sp_call_invalid(call, "axis %d is given twice", axis);
		backwards[axis] = true;
	}
	return reverse(call, backwards);
}

/* -------------------------------------------------------- ReverseSequence */

typedef struct sequence_state {
	int64_t seq_dim;
	int64_t batch_dim;
} sequence_state;

static sp_status prepare_sequence(sp_prepare *prepare, sp_error *err)
{
	sequence_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "E index -> E", err));
	SP_TRY(sp_node_attr_int(prepare->node, "seq_dim", -1, &state->seq_dim, err));
	SP_TRY(sp_node_attr_int(prepare->node, "batch_dim", 0, &state->batch_dim, err));
	if (state->seq_dim < 0 || state->batch_dim < 0 || state->seq_dim == state->batch_dim)
		return sp_error_set(err, SP_INVALID, "seq_dim is %lld and batch_dim %lld",
				    (long long)state->seq_dim, (long long)state->batch_dim);
	return SP_OK;
}

static sp_status check_lengths(const sp_call *call)
{
	const sequence_state *state = call->state;
	const sp_shape *in = &call->in[0]->shape;
	const sp_tensor *lengths = call->in[1];

	if (state->seq_dim >= in->rank || state->batch_dim >= in->rank)
		return sp_call_invalid(call, "seq_dim is %lld and batch_dim %lld for rank %d",
				       (long long)state->seq_dim, (long long)state->batch_dim,
				       in->rank);
	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (lengths->shape.dims[0] != in->dims[state->batch_dim])
		return sp_call_invalid(call, "%zu lengths for a batch of %lld", lengths->count,
				       (long long)in->dims[state->batch_dim]);
	for (size_t i = 0; i < lengths->count; i++) {
		int64_t length = sp_tensor_index(lengths, i);

		if (length < 0 || length > in->dims[state->seq_dim])
			return sp_call_invalid(call, "seq_lengths[%zu] is %lld, not in [0, %lld]",
					       i, (long long)length,
					       (long long)in->dims[state->seq_dim]);
	}
	return SP_OK;
}

static sp_status run_sequence(const sp_call *call)
{
	const sequence_state *state = call->state;
	const sp_tensor *in = call->in[0], *lengths = call->in[1];
	size_t size = sp_dtype_size(in->dtype);
	sp_strided_copy plan = {.rank = in->shape.rank};
	int seq = (int)state->seq_dim, batch = (int)state->batch_dim;
	int64_t step, stride;

	SP_TRY(check_lengths(call));
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	if (in->count == 0)
		return SP_OK;
	memcpy(plan.dims, in->shape.dims, sizeof(in->shape.dims));
	sp_strided_copy__strides(&in->shape, size, plan.to);
	memcpy(plan.from, plan.to, sizeof(plan.from));
	step = plan.to[seq];
	stride = plan.to[batch];
	plan.dims[batch] = 1;
	for (size_t b = 0; b < lengths->count; b++) {
		int64_t length = sp_tensor_index(lengths, b);
		char *to = (char *)call->out[0]->data + (int64_t)b * stride;
		const char *from = (const char *)in->data + (int64_t)b * stride;

		plan.dims[seq] = length;
		plan.from[seq] = -step;
		if (length != 0)
			sp_strided_copy__run(&plan, to, from + (length - 1) * step, size);
		plan.dims[seq] = in->shape.dims[seq] - length;
		plan.from[seq] = step;
		if (plan.dims[seq] != 0)
			sp_strided_copy__run(&plan, to + length * step, from + length * step, size);
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(Reverse, NULL, 0, "E bool -> E", run_reverse);
SP_DEFINE_OP(ReverseSequence, NULL, 0, prepare_sequence, run_sequence);
SP_DEFINE_TYPED_OP(ReverseV2, NULL, 0, "E index -> E", run_reverse_v2);
