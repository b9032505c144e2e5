#include "engine/ops/list/list.h"

/*
 * FakeParam: a placeholder for an output that only the other branch produces; it is read only when
 * that branch was taken. As in TensorFlow it is a scalar zero; for a variant it is an empty
 * optional.
 */
static sp_status prepare_fake(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "-> @dtype", "dtype", err);
}

static sp_status run_fake(const sp_call *call)
{
	const sp_list_state *state = call->state;
	const sp_list nothing = {.dtype = SP_VARIANT,
				 .shape = {.rank = -1},
				 .max_count = -1,
				 .kind = SP_LIST_OPTIONAL};
	sp_shape scalar = sp_shape_scalar();

	if (state->dtype == SP_VARIANT)
		return sp_list_new(call, call->out[0], &nothing, 0, 0);
	return sp_list__zeros(call, 0, state->dtype, &scalar);
}

SP_DEFINE_OP(FakeParam, NULL, SP_OP_PER_REQUEST, prepare_fake, run_fake);
