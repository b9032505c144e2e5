#include "engine/graph/op.h"

/* A placeholder that is fed never runs; its step reports that it was not fed. */
typedef struct placeholder_state {
	const char *name;
	sp_dtype dtype;
} placeholder_state;

static sp_status prepare_placeholder(sp_prepare *prepare, sp_error *err)
{
	placeholder_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "a placeholder");
	SP_TRY(sp_prepare_inputs(prepare, 0, err));
	state->name = prepare->node->name;
	SP_TRY(sp_node_attr_type(prepare->node, "dtype", SP_INVALID_DTYPE, &state->dtype, err));
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

static sp_status run_placeholder(const sp_call *call)
{
	const placeholder_state *state = call->state;

	return sp_call_invalid(call, "must feed placeholder '%s' of dtype %s", state->name,
			       sp_dtype_name(state->dtype));
}

SP_DEFINE_OP(Placeholder, NULL, SP_OP_STATEFUL, prepare_placeholder, run_placeholder);
SP_DEFINE_OP(PlaceholderV2, NULL, SP_OP_STATEFUL, prepare_placeholder, run_placeholder);
