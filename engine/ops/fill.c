#include "engine/ops/array.h"

/* Fill: a tensor of the shape `dims` (input 0), every element `value` (input 1). */

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_prepare_input_index(prepare, 0, err));
	SP_TRY(sp_array__movable(prepare, prepare->in_dtypes[1], err));
	return sp_prepare_outputs(prepare, 1, prepare->in_dtypes[1], err);
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *value = call->in[1];
	sp_shape shape;

	SP_TRY(sp_array__need_scalar(call, 1));
	SP_TRY(sp_array__shape(call, 0, true, &shape));
	SP_TRY(sp_call_output(call, 0, value->dtype, &shape));
	sp_array__fill(call->out[0]->data, call->out[0]->count, value->data,
		       sp_dtype_size(value->dtype));
	return SP_OK;
}

const sp_op sp_op_Fill = {.name = "Fill", .prepare = prepare, .run = run};
