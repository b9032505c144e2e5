#include "engine/op.h"

static sp_status prepare_no_op(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 0, err));
	return sp_prepare_outputs(prepare, 0, SP_INVALID_DTYPE, err);
}

static sp_status run_no_op(const sp_call *call)
{
	(void)call;
	return SP_OK;
}

const sp_op sp_op_NoOp = {
	.name = "NoOp",
	.prepare = prepare_no_op,
	.run = run_no_op,
};
