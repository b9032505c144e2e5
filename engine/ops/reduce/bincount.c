#include <string.h>

#include "engine/ops/ops.h"
#include "engine/ops/array/array.h"

/*
 * Bincount, DenseBincount: how often each of 0 ... size - 1 appears in `input`, or the sum of its
 * weights if weights are given.  Numbers >= size are ignored, negative ones are an error.
 * DenseBincount counts each row of a matrix; with binary_output it gives 1 for numbers that appear.
 *
 * Numerics: float weights are summed in the order of the input.
 */

typedef struct bincount_state {
	bool by_row;
	bool binary;
} bincount_state;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	bincount_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	state->by_row = prepare->node->op == &sp_op_DenseBincount;
	SP_TRY(sp_prepare_types(prepare, "T T N -> N", err));
	if (state->by_row) {
		SP_TRY(sp_prepare_input_index(prepare, 0, err));
		SP_TRY(sp_node_attr_bool(prepare->node, "binary_output", false, &state->binary,
					 err));
	} else {
		SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT32, err));
	}
	return SP_OK;
}

static sp_status out_shape(const sp_call *call, sp_shape *out)
{
	const bincount_state *state = call->state;
	const sp_tensor *in = call->in[0];
	int64_t size;

	SP_TRY(sp_call_need_rank(call, 1, 0));
	size = sp_tensor_index(call->in[1], 0);
	if (size < 0)
		return sp_call_invalid(call, "size must not be negative, but is %lld",
				       (long long)size);
	if (state->by_row && (in->shape.rank == 0 || in->shape.rank > 2))
		return sp_call_invalid(call, "the input is of rank %d, not 1 or 2", in->shape.rank);
	*out = state->by_row && in->shape.rank == 2 ? sp_shape_matrix(in->shape.dims[0], size)
						    : sp_shape_vector(size);
	return SP_OK;
}

static sp_status check(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *weights = call->in[2];

	if (weights->count != 0 && weights->count != in->count)
		return sp_call_invalid(call, "%zu weights for %zu numbers", weights->count,
				       in->count);
	for (size_t i = 0; i < in->count; i++)
		if (sp_tensor_index(in, i) < 0)
			return sp_call_invalid(call, "element %zu is negative: %lld", i,
					       (long long)sp_tensor_index(in, i));
	return SP_OK;
}

/* Integer sums wrap around, so sum_type is unsigned for them. */
#define COUNT(T, sum_type)                                                               \
	for (size_t i = 0; i < in->count; i++) {                                         \
		int64_t bin = sp_tensor_index(in, i);                                    \
		T *to = (T *)call->out[0]->data + i / columns * (size_t)size;            \
                                                                                         \
		if (bin >= size)                                                         \
			continue;                                                        \
		if (state->binary)                                                       \
			to[bin] = 1;                                                     \
		else                                                                     \
			to[bin] = (T)((sum_type)to[bin] +                                \
				      (sum_type)(weights->count != 0                     \
							 ? ((const T *)weights->data)[i] \
							 : (T)1));                       \
	}

static sp_status run(const sp_call *call)
{
	const bincount_state *state = call->state;
	const sp_tensor *in = call->in[0], *weights = call->in[2];
	size_t columns = in->count; /* a single row */
	sp_shape shape;
	int64_t size;

	SP_TRY(out_shape(call, &shape));
	SP_TRY(check(call));
	SP_TRY(sp_call_output(call, 0, weights->dtype, &shape));
	memset(call->out[0]->data, 0, call->out[0]->count * sp_dtype_size(weights->dtype));
	size = shape.dims[shape.rank - 1];
	if (shape.rank == 2)
		columns = (size_t)in->shape.dims[1];
	switch (weights->dtype) {
	case SP_INT32:
		COUNT(int32_t, uint32_t);
		break;
	case SP_INT64:
		COUNT(int64_t, uint64_t);
		break;
	case SP_FLOAT:
		COUNT(float, float);
		break;
	default:
		COUNT(double, double);
		break;
	}
	return SP_OK;
}

SP_DEFINE_OP(Bincount, NULL, 0, prepare, run);
SP_DEFINE_OP(DenseBincount, NULL, 0, prepare, run);
