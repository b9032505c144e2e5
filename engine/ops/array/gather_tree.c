#include "engine/ops/array/array.h"

/*
 * GatherTree, Addons>GatherTree: the beams of a beam search (tf.contrib, TensorFlow Addons) as
 * [time, batch, beam] int32, from two tensors of that shape: the token of each step, and the beam
 * of the step before that it continues.  A beam is followed backwards from the last step of its
 * sequence; what lies after its first end_token, or after the sequence, is end_token.
 */
static sp_status prepare_tree(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 4, err));
	for (size_t i = 0; i < 4; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_INT32, err));
	return sp_prepare_outputs(prepare, 1, SP_INT32, err);
}

static sp_status check_inputs(const sp_call *call)
{
	SP_TRY(sp_array__need_rank(call, 0, 3));
	SP_TRY(sp_array__need_rank(call, 2, 1));
	SP_TRY(sp_array__need_rank(call, 3, 0));
	if (!sp_shape_equal(&call->in[0]->shape, &call->in[1]->shape))
		return sp_call_invalid(call, "step_ids and parent_ids are of unequal shapes");
	if (call->in[2]->shape.dims[0] != call->in[0]->shape.dims[1])
		return sp_call_invalid(call, "%lld sequence lengths for a batch of %lld",
				       (long long)call->in[2]->shape.dims[0],
				       (long long)call->in[0]->shape.dims[1]);
	return SP_OK;
}

/* Follows one beam of a row; `out` has the strides of the inputs. */
static sp_status follow(const sp_call *call, int64_t row, int64_t beam, int64_t steps)
{
	const sp_shape *shape = &call->in[0]->shape;
	const int32_t *ids = sp_tensor_i32(call->in[0]), *parents = sp_tensor_i32(call->in[1]);
	int64_t width = shape->dims[2], stride = shape->dims[1] * width, parent = beam;
	int32_t *out = sp_tensor_i32(call->out[0]), end = *sp_tensor_i32(call->in[3]);
	bool finished = false;

	for (int64_t step = steps - 1; step >= 0; step--) {
		int64_t at = step * stride + row * width;

		if (parent < 0 || parent >= width)
			return sp_call_invalid(
				call,
				"Saw invalid parent id %lld at (batch, time, beam) == "
				"(%lld, %lld, %lld)",
				(long long)parent, (long long)row, (long long)step,
				(long long)beam);
		out[at + beam] = ids[at + parent];
		parent = parents[at + parent];
	}
	for (int64_t step = 0; step < steps; step++) {
		int32_t *id = &out[step * stride + row * width + beam];

		if (finished)
			*id = end;
		else
			finished = *id == end;
	}
	return SP_OK;
}

static sp_status run_tree(const sp_call *call)
{
	const sp_shape *shape = &call->in[0]->shape;
	int32_t end;

	SP_TRY(check_inputs(call));
	SP_TRY(sp_call_output(call, 0, SP_INT32, shape));
	end = *sp_tensor_i32(call->in[3]);
	sp_array__fill(call->out[0]->data, call->out[0]->count, &end, sizeof(end));
	for (int64_t row = 0; row < shape->dims[1]; row++) {
		int64_t steps = sp_tensor_i32(call->in[2])[row];

		if (steps > shape->dims[0])
			steps = shape->dims[0];
		for (int64_t beam = 0; beam < shape->dims[2]; beam++)
			SP_TRY(follow(call, row, beam, steps));
	}
	return SP_OK;
}

SP_DEFINE_OP(GatherTree, "beams", 0, prepare_tree, run_tree);
const sp_op sp_op_Addons_GatherTree = {
	.name = "Addons>GatherTree", .outputs = "beams", .prepare = prepare_tree, .run = run_tree};
