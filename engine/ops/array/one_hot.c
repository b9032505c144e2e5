#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"

/*
 * OneHot: for each index a line of `depth` elements, with on_value at the index and off_value
 * elsewhere.  An index outside [0, depth) gives a line of off_values.  `axis` is the output
 * dimension of the lines, -1 for the last.
 *
 * Inputs: indices, depth, on_value, off_value.
 */

typedef struct one_hot_state {
	int64_t axis;
} one_hot_state;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	one_hot_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype indices;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T int32 E E -> E", err));
	SP_TRY(sp_node_attr_int(prepare->node, "axis", -1, &state->axis, err));
	indices = prepare->in_dtypes[0];
	if (indices != SP_UINT8 && indices != SP_INT8 && indices != SP_INT32 && indices != SP_INT64)
		return sp_prepare_unsupported(prepare, indices, err);
	return SP_OK;
}

static inline int64_t index_at(const sp_tensor *indices, size_t i)
{
	switch (indices->dtype) {
	case SP_UINT8:
		return ((const uint8_t *)indices->data)[i];
	case SP_INT8:
		return ((const int8_t *)indices->data)[i];
	default:
		return sp_tensor_index(indices, i);
	}
}

static sp_status out_shape(const sp_call *call, sp_shape *out, int *axis)
{
	const one_hot_state *state = call->state;
	const sp_shape *in = &call->in[0]->shape;
	int32_t depth;

	if (state->axis < -1 || state->axis > in->rank)
		return sp_call_invalid(call, "axis %lld is neither -1 nor in [0, %d]",
				       (long long)state->axis, in->rank);
	for (size_t i = 1; i < 4; i++)
		SP_TRY(sp_call_need_rank(call, i, 0));
	depth = sp_tensor_i32(call->in[1])[0];
	if (depth < 0)
		return sp_call_invalid(call, "depth is %d", depth);
	SP_TRY(sp_array__rank(call, in->rank + 1));
	*axis = state->axis < 0 ? in->rank : (int)state->axis;
	out->rank = in->rank + 1;
	for (int d = 0; d < out->rank; d++)
		out->dims[d] = d == *axis ? depth : in->dims[d < *axis ? d : d - 1];
	return SP_OK;
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *indices = call->in[0], *on = call->in[2], *off = call->in[3];
	size_t size = sp_dtype_size(on->dtype), inner;
	sp_shape shape;
	int64_t depth;
	char *out;
	int axis = 0;

	SP_TRY(out_shape(call, &shape, &axis));
	SP_TRY(sp_call_output(call, 0, on->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	out = call->out[0]->data;
	sp_elements__fill(out, call->out[0]->count, off->data, size);
	depth = shape.dims[axis];
	inner = (size_t)sp_shape_product(&shape, axis + 1, shape.rank);
	for (size_t i = 0; i < indices->count; i++) {
		int64_t index = index_at(indices, i);
		size_t outer = i / inner;

		if (index >= 0 && index < depth)
			memcpy(out + ((outer * (size_t)depth + (size_t)index) * inner + i % inner) *
					       size,
			       on->data, size);
	}
	return SP_OK;
}

SP_DEFINE_OP(OneHot, NULL, SP_OP_MOVES, prepare, run);
