#include <math.h>

#include "engine/ops/ops.h"
#include "engine/ops/array/element_types.h"

/*
 * ArgMax and ArgMin: the index of the largest or smallest element along an axis, of the first one
 * if there are several.  NaN is ignored; without any other number the index is 0.
 */

/* Returns the index among `count` elements that lie `stride` elements apart. */
typedef size_t find_fn(const void *data, size_t count, size_t stride);

typedef struct arg_state {
	find_fn *find;
	sp_dtype result;
} arg_state;

#define FIND(type, name, start, is_better)                                         \
	static size_t name##_##type(const void *data, size_t count, size_t stride) \
	{                                                                          \
		const sp_element_##type *elements = data;                          \
		sp_value_##type best = start;                                      \
		size_t place = 0;                                                  \
                                                                                   \
		for (size_t i = 0; i < count; i++) {                               \
			sp_value_##type x = SP_LOAD_##type(elements[i * stride]);  \
                                                                                   \
			if (x is_better best) {                                    \
				best = x;                                          \
				place = i;                                         \
			}                                                          \
		}                                                                  \
		return place;                                                      \
	}

SP_FOR_FLOATING(FIND, max, -INFINITY, >)
SP_FOR_FLOATING(FIND, min, INFINITY, <)
/* For integers and bool the search starts with the first element as the extreme. */
SP_FOR_INTEGER(FIND, max, elements[0], >)
SP_FOR_INTEGER(FIND, min, elements[0], <)
FIND(b8, max, elements[0], >)
FIND(b8, min, elements[0], <)

static find_fn *const max_kernels[SP_DTYPE_COUNT] = {SP_TABLE_NUMBER(max), [SP_BOOL] = max_b8};
static find_fn *const min_kernels[SP_DTYPE_COUNT] = {SP_TABLE_NUMBER(min), [SP_BOOL] = min_b8};

static sp_status prepare_arg(sp_prepare *prepare, sp_error *err)
{
	arg_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T index", err));
	SP_TRY(sp_node_attr_type(prepare->node, "output_type", SP_INT64, &state->result, err));
	if (state->result != SP_INT16 && state->result != SP_UINT16 && state->result != SP_INT32 &&
	    state->result != SP_INT64)
		return sp_error_set(err, SP_UNSUPPORTED, "output_type %s is not supported",
				    sp_dtype_name(state->result));
	dtype = prepare->in_dtypes[0];
	state->find = (prepare->node->op == &sp_op_ArgMax ? max_kernels : min_kernels)[dtype];
	if (state->find == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, state->result, err);
}

static void store_index(const sp_tensor *out, size_t i, size_t index)
{
	switch (out->dtype) {
	case SP_INT16:
	case SP_UINT16:
		((uint16_t *)out->data)[i] = (uint16_t)index;
		return;
	case SP_INT32:
		sp_tensor_i32(out)[i] = (int32_t)index;
		return;
	default:
		sp_tensor_i64(out)[i] = (int64_t)index;
	}
}

static sp_status read_axis(const sp_call *call, int *axis)
{
	const sp_shape *in = &call->in[0]->shape;
	char text[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_call_need_rank(call, 1, 0));
	SP_TRY(sp_call_axis(call, sp_tensor_index(call->in[1], 0), in->rank, axis));
	if (in->dims[*axis] == 0)
		return sp_call_invalid(call, "dimension %d of shape %s has no elements", *axis,
				       sp_shape_text(in, text));
	return SP_OK;
}

static sp_status run_arg(const sp_call *call)
{
	const arg_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype), count, inner;
	sp_shape shape = {.rank = 0};
	int axis = 0;

	SP_TRY(read_axis(call, &axis));
	for (int i = 0; i < in->shape.rank; i++)
		if (i != axis)
			shape.dims[shape.rank++] = in->shape.dims[i];
	SP_TRY(sp_call_output(call, 0, state->result, &shape));
	if (in->count == 0)
		return SP_OK;
	count = (size_t)in->shape.dims[axis];
	inner = (size_t)sp_shape_product(&in->shape, axis + 1, in->shape.rank);
	for (size_t i = 0; i < call->out[0]->count; i++) {
		size_t first = i / inner * count * inner + i % inner;

		store_index(call->out[0], i,
			    state->find((const char *)in->data + first * size, count, inner));
	}
	return SP_OK;
}

SP_DEFINE_OP(ArgMax, NULL, 0, prepare_arg, run_arg);
SP_DEFINE_OP(ArgMin, NULL, 0, prepare_arg, run_arg);
