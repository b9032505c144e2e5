#include "engine/graph/op.h"

/*
 * Operators without outputs, which leave no step in the plan. PrintV2 would write the client's data
 * to a stream of the host, so it does nothing; import leaves its input out.
 */

static sp_status run_no_op(const sp_call *call)
{
	(void)call;
	return SP_OK;
}

SP_DEFINE_TYPED_OP(NoOp, NULL, 0, "->", run_no_op);

/* Control edges of old loops are attached to it. */
SP_DEFINE_TYPED_OP(ControlTrigger, NULL, 0, "->", run_no_op);

SP_DEFINE_TYPED_OP(PrintV2, NULL, 0, "->", run_no_op);
