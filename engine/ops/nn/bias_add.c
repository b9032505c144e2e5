#include "engine/ops/math/add.h"

/*
 * BiasAdd and BiasAddV1: add a vector along the channels, which are the last dimension (NHWC) or
 * the second one (NCHW).  BiasAddGrad: the sum over all else, in double; integers wrap around.
 */
typedef void sum_fn(const sp_tensor *dy, size_t inner, void *sums, sp_tensor *out);

typedef struct bias_state {
	sp_binary_fn *add;
	sum_fn *sum; /* kernel of BiasAddGrad */
	bool channels_second;
} bias_state;

static sp_status read_format(const sp_prepare *prepare, bias_state *state, sp_error *err)
{
	sp_bytes format;

	SP_TRY(sp_node_attr_bytes(prepare->node, "data_format", "NHWC", &format, err));
	state->channels_second = sp_bytes_equal_text(format, "NCHW");
	if (!state->channels_second && !sp_bytes_equal_text(format, "NHWC"))
		return sp_error_set(err, SP_INVALID, "data_format must be NHWC or NCHW, not '%.*s'",
				    (int)format.size, format.data);
	return SP_OK;
}

static sp_status prepare_bias(sp_prepare *prepare, sp_error *err)
{
	bias_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T T -> T", err));
	dtype = prepare->in_dtypes[0];
	SP_TRY(read_format(prepare, state, err));
	state->add = sp_add__binary.kernels[dtype];
	return state->add != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status check_shapes(const sp_call *call, int *axis)
{
	const bias_state *state = call->state;
	const sp_shape *value = &call->in[0]->shape, *bias = &call->in[1]->shape;
	char value_text[SP_SHAPE_TEXT_SIZE], bias_text[SP_SHAPE_TEXT_SIZE];

	if (value->rank < 2)
		return sp_call_invalid(call, "the value must have at least 2 dimensions, not %s",
				       sp_shape_text(value, value_text));
	*axis = state->channels_second ? 1 : value->rank - 1;
	if (bias->rank != 1 || bias->dims[0] != value->dims[*axis])
		return sp_call_invalid(call, "a bias of shape %s does not fit a value of shape %s",
				       sp_shape_text(bias, bias_text),
				       sp_shape_text(value, value_text));
	return SP_OK;
}

static sp_status run_bias(const sp_call *call)
{
	const bias_state *state = call->state;
	const sp_tensor *value = call->in[0];
	const char *bias = call->in[1]->data;
	size_t size = sp_dtype_size(value->dtype), channels = call->in[1]->count, inner;
	sp_binary_run run = {.left_step = 1};
	int axis = 0;

	SP_TRY(check_shapes(call, &axis));
	SP_TRY(sp_call_output_over(call, 0, 0, value->dtype));
	if (value->count == 0)
		return SP_OK;
	inner = channels == 1
			? value->count
			: (size_t)sp_shape_product(&value->shape, axis + 1, value->shape.rank);
	run.right_step = inner == 1;
	run.count = inner == 1 ? channels : inner;
	for (size_t i = 0; i < value->count; i += run.count) {
		run.left = (const char *)value->data + i * size;
		run.right = bias + i / inner % channels * size;
		run.out = (char *)call->out[0]->data + i * size;
		state->add(&run);
	}
	return SP_OK;
}

/* ----------------------------------------------------------------- gradient */

/* The sum of each channel, whose elements come in runs of `inner`. */
#define SUM(type, name, sum_type)                                                                \
	static void name##_##type(const sp_tensor *dy, size_t inner, void *room, sp_tensor *out) \
	{                                                                                        \
		const sp_element_##type *elements = dy->data;                                    \
		sp_element_##type *to = out->data;                                               \
		sum_type *sums = room;                                                           \
                                                                                                 \
		for (size_t c = 0; c < out->count; c++)                                          \
			sums[c] = 0;                                                             \
		for (size_t i = 0; i < dy->count; i++)                                           \
			sums[i / inner % out->count] += (sum_type)SP_LOAD_##type(elements[i]);   \
		for (size_t c = 0; c < out->count; c++)                                          \
			to[c] = SP_STORE_##type((sp_value_##type)sums[c]);                       \
	}

SP_FOR_FLOATING(SUM, sum, double)
SP_FOR_COMPLEX(SUM, sum, double complex)
SP_FOR_INTEGER(SUM, sum, uint64_t)

static sum_fn *const sums_of[SP_DTYPE_COUNT] = {SP_TABLE_ARITHMETIC(sum)};

static sp_status prepare_gradient(sp_prepare *prepare, sp_error *err)
{
	bias_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T -> T", err));
	dtype = prepare->in_dtypes[0];
	SP_TRY(read_format(prepare, state, err));
	state->sum = sums_of[dtype];
	return state->sum != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status run_gradient(const sp_call *call)
{
	const bias_state *state = call->state;
	const sp_tensor *dy = call->in[0];
	int rank = dy->shape.rank, axis = state->channels_second ? 1 : rank - 1;
	size_t inner;
	void *sums;

	if (rank < 2)
		return sp_call_invalid(call, "the gradient must have at least 2 dimensions");
	SP_TRY(sp_call_output_vector(call, 0, dy->dtype, dy->shape.dims[axis]));
	sums = sp_call_bytes(call, call->out[0]->count, sizeof(double complex));
	if (sums == NULL && call->out[0]->count != 0)
		return sp_call_no_memory(call);
	inner = dy->count != 0 ? (size_t)sp_shape_product(&dy->shape, axis + 1, rank) : 1;
	state->sum(dy, inner, sums, call->out[0]);
	return SP_OK;
}

SP_DEFINE_OP(BiasAddGrad, NULL, 0, prepare_gradient, run_gradient);
SP_DEFINE_OP(BiasAdd, NULL, 0, prepare_bias, run_bias);
SP_DEFINE_OP(BiasAddV1, NULL, 0, prepare_bias, run_bias);
