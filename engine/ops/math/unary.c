#include "engine/ops/math/unary.h"

sp_status sp_unary__prepare(sp_prepare *prepare, sp_unary_fn *const kernels[SP_DTYPE_COUNT],
			    sp_dtype result, sp_error *err)
{
	sp_unary_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	dtype = prepare->in_dtypes[0];
	state->kernel = kernels[dtype];
	if (state->kernel == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	state->result = result != SP_INVALID_DTYPE ? result : dtype;
	return sp_prepare_outputs(prepare, 1, state->result, err);
}

void sp_unary__by_float(const void *from, void *to, size_t count, sp_float_fn *steps,
			sp_widen_fn *widen, sp_narrow_fn *narrow)
{
	enum { BLOCK = 64 * SP_FLOAT_PACKET };
	const uint16_t *elements = from;
	uint16_t *results = to;
	float block[BLOCK];

	for (size_t i = 0, n; i < count; i += n) {
		n = count - i < BLOCK ? count - i : BLOCK;
		widen(elements + i, block, n);
		steps(block, block, n);
		narrow(block, results + i, n);
	}
}

sp_status sp_unary__run(const sp_call *call)
{
	const sp_unary_state *state = call->state;

	SP_TRY(sp_call_output_over(call, 0, 0, state->result));
	state->kernel(call->in[0]->data, call->out[0]->data, call->in[0]->count);
	return SP_OK;
}
