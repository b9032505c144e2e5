#include "engine/graph/op.h"

/* The value of a Const is its attribute's tensor, which lives as long as the graph. */
static sp_status prepare_const(sp_prepare *prepare, sp_error *err)
{
	const sp_tensor *value;
	sp_dtype dtype;

	SP_TRY(sp_prepare_inputs(prepare, 0, err));
	SP_TRY(sp_node_attr_tensor(prepare->node, "value", &value, err));
	SP_TRY(sp_node_attr_type(prepare->node, "dtype", value->dtype, &dtype, err));
	if (dtype != value->dtype)
		return sp_error_set(err, SP_INVALID, "a constant of %s holds %s",
				    sp_dtype_name(dtype), sp_dtype_name(value->dtype));
	prepare->state = (void *)value;
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status run_const(const sp_call *call)
{
	*call->out[0] = *(const sp_tensor *)call->state;
	call->out[0]->block = NULL;
	return SP_OK;
}

SP_DEFINE_OP(Const, NULL, 0, prepare_const, run_const);
