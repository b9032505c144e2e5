#include <math.h>

#include "engine/graph/op.h"

/* CheckNumerics, CheckNumericsV2: forwards the input, or fails if it holds a NaN or an infinity. */

enum { HAS_NAN = 1, HAS_MINUS_INF = 2, HAS_PLUS_INF = 4 };

typedef struct check_state {
	sp_bytes message;
} check_state;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	check_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "F -> F", err));
	return sp_node_attr_bytes(prepare->node, "message", "", &state->message, err);
}

static unsigned kind_of(double value)
{
	if (isnan(value))
		return HAS_NAN;
	if (isinf(value))
		return value < 0 ? HAS_MINUS_INF : HAS_PLUS_INF;
	return 0;
}

static unsigned kinds_of(const sp_tensor *in)
{
	unsigned kinds = 0;

	switch (in->dtype) {
	case SP_FLOAT:
		for (size_t i = 0; i < in->count; i++)
			kinds |= kind_of(((const float *)in->data)[i]);
		break;
	case SP_DOUBLE:
		for (size_t i = 0; i < in->count; i++)
			kinds |= kind_of(((const double *)in->data)[i]);
		break;
	case SP_HALF:
		for (size_t i = 0; i < in->count; i++)
			kinds |= kind_of(sp_half_to_float(((const uint16_t *)in->data)[i]));
		break;
	default:
		for (size_t i = 0; i < in->count; i++)
			kinds |= kind_of(sp_bfloat16_to_float(((const uint16_t *)in->data)[i]));
		break;
	}
	return kinds;
}

static sp_status run(const sp_call *call)
{
	const check_state *state = call->state;
	unsigned kinds = kinds_of(call->in[0]);
	int size = state->message.size < 200 ? (int)state->message.size : 200;

	if (kinds != 0)
		return sp_call_invalid(
			call, "%.*s : Tensor had%s%s%s values", size,
			size != 0 ? state->message.data : "", kinds & HAS_MINUS_INF ? " -Inf" : "",
			kinds & HAS_PLUS_INF ? " +Inf" : "", kinds & HAS_NAN ? " NaN" : "");
	sp_call_forward(call, 0, 0, &call->in[0]->shape);
	return SP_OK;
}

SP_DEFINE_OP(CheckNumerics, NULL, 0, prepare, run);
SP_DEFINE_OP(CheckNumericsV2, NULL, 0, prepare, run);
