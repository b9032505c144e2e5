#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"

/*
 * Fill: a tensor of shape `dims` (input 0) filled with `value` (input 1).  Empty: a tensor of
 * zeros; TensorFlow leaves it uninitialised without `init`.
 */

static sp_status run(const sp_call *call)
{
	const sp_tensor *value = call->in[1];
	sp_shape shape;

	SP_TRY(sp_call_need_scalar(call, 1));
	SP_TRY(sp_array__shape(call, 0, true, &shape));
	SP_TRY(sp_call_output(call, 0, value->dtype, &shape));
	sp_elements__fill(call->out[0]->data, call->out[0]->count, value->data,
			  sp_dtype_size(value->dtype));
	return SP_OK;
}

SP_DEFINE_TYPED_OP(Fill, NULL, SP_OP_MOVES, "index E -> E", run);

static sp_status prepare_empty(sp_prepare *prepare, sp_error *err)
{
	sp_dtype *dtype = sp_prepare_state(prepare, sizeof(*dtype));

	SP_NEED_MEMORY(dtype, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "int32", err));
	SP_TRY(sp_node_attr_type(prepare->node, "dtype", SP_INVALID_DTYPE, dtype, err));
	SP_TRY(sp_array__movable(prepare, *dtype, err));
	return sp_prepare_outputs(prepare, 1, *dtype, err);
}

static sp_status run_empty(const sp_call *call)
{
	sp_shape shape;

	SP_TRY(sp_array__shape(call, 0, false, &shape));
	SP_TRY(sp_call_output(call, 0, *(const sp_dtype *)call->state, &shape));
	sp_tensor_repeat_last(call->out[0], 0);
	return SP_OK;
}

SP_DEFINE_OP(Empty, NULL, 0, prepare_empty, run_empty);
