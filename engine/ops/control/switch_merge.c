#include "engine/graph/op.h"

/*
 * Conditionals of TensorFlow 1. Switch sets one of its outputs and leaves the other dead; nodes
 * with a dead input do not run. Merge forwards the input that is not dead.
 */

static sp_status run_switch(const sp_call *call)
{
	const sp_tensor *predicate = call->in[1];

	SP_TRY(sp_call_need_rank(call, 1, 0));
	sp_call_forward(call, *sp_tensor_bool(predicate) ? 1 : 0, 0, &call->in[0]->shape);
	return SP_OK;
}

/* Forwards the first input that is set; without one the outputs stay unset. */
static sp_status run_merge(const sp_call *call)
{
	for (size_t i = 0; i < call->in_count; i++) {
		if (!sp_tensor_is_set(call->in[i]))
			continue;
		sp_call_forward(call, 0, i, &call->in[i]->shape);
		SP_TRY(sp_call_output_scalar(call, 1, SP_INT32));
		*sp_tensor_i32(call->out[1]) = (int32_t)i;
		return SP_OK;
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(Switch, "output_false output_true", SP_OP_MAKES_DEAD, "T bool -> T T",
		   run_switch);
SP_DEFINE_TYPED_OP(RefSwitch, "output_false output_true", SP_OP_MAKES_DEAD, "T bool -> T T",
		   run_switch);
SP_DEFINE_TYPED_OP(Merge, "output value_index", SP_OP_TAKES_DEAD | SP_OP_MAKES_DEAD,
		   "T+ -> T int32", run_merge);
SP_DEFINE_TYPED_OP(RefMerge, "output value_index", SP_OP_TAKES_DEAD | SP_OP_MAKES_DEAD,
		   "T+ -> T int32", run_merge);
