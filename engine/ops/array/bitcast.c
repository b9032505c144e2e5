#include <string.h>

#include "engine/ops/ops.h"

/*
 * Bitcast: the same bytes as elements of another type.  A smaller type adds a last dimension; a
 * larger one removes the last dimension, which must equal the ratio of the sizes.
 */
typedef struct bitcast_state {
	sp_dtype to;
	size_t from_size, to_size;
} bitcast_state;

static bool is_plain(sp_dtype dtype)
{
	return sp_dtype_size(dtype) != 0 && dtype != SP_STRING && dtype != SP_RESOURCE &&
	       dtype != SP_BOOL;
}

static sp_status prepare_bitcast(sp_prepare *prepare, sp_error *err)
{
	bitcast_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype from;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_node_attr_type(prepare->node, "type", SP_INVALID_DTYPE, &state->to, err));
	from = prepare->in_dtypes[0];
	if (!is_plain(from))
		return sp_prepare_unsupported(prepare, from, err);
	if (!is_plain(state->to))
		return sp_prepare_unsupported(prepare, state->to, err);
	state->from_size = sp_dtype_size(from);
	state->to_size = sp_dtype_size(state->to);
	return sp_prepare_outputs(prepare, 1, state->to, err);
}

static sp_status result_shape(const sp_call *call, sp_shape *shape)
{
	const bitcast_state *state = call->state;
	char text[SP_SHAPE_TEXT_SIZE];

	*shape = call->in[0]->shape;
	if (state->from_size == state->to_size)
		return SP_OK;
	if (state->from_size > state->to_size) {
		if (shape->rank == SP_MAX_RANK)
			return sp_error_set(call->err, SP_UNSUPPORTED,
					    "Bitcast of shape %s gives a rank above %d",
					    sp_shape_text(shape, text), SP_MAX_RANK);
		shape->dims[shape->rank++] = (int64_t)(state->from_size / state->to_size);
		return SP_OK;
	}
	if (shape->rank == 0 ||
	    shape->dims[shape->rank - 1] != (int64_t)(state->to_size / state->from_size))
		return sp_call_invalid(call, "cannot bitcast %s of shape %s to %s",
				       sp_dtype_name(call->in[0]->dtype),
				       sp_shape_text(shape, text), sp_dtype_name(state->to));
	shape->rank--;
	return SP_OK;
}

static sp_status run_bitcast(const sp_call *call)
{
	const bitcast_state *state = call->state;
	const sp_tensor *in = call->in[0];
	sp_shape shape;

	SP_TRY(result_shape(call, &shape));
	if (state->from_size == state->to_size) {
		sp_call_forward(call, 0, 0, &shape);
		call->out[0]->dtype = state->to;
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, state->to, &shape));
	if (in->count > 0)
		memcpy(call->out[0]->data, in->data, in->count * state->from_size);
	return SP_OK;
}

SP_DEFINE_OP(Bitcast, NULL, 0, prepare_bitcast, run_bitcast);
