#include "engine/ops/ops.h"
#include "engine/ops/array/element_types.h"

/*
 * LeakyRelu: x where x > 0, else alpha * x, alpha being rounded to the element type.
 * LeakyReluGrad(dy, x): dy where x > 0, else alpha * dy.
 */
typedef void leaky_fn(const void *from, const void *by, void *to, size_t count, float alpha);

typedef struct leaky_state {
	leaky_fn *kernel;
	float alpha;
} leaky_state;

#define LEAKY(type, name)                                                                       \
	static void name##_##type(const void *from, const void *by, void *to, size_t count,     \
				  float alpha)                                                  \
	{                                                                                       \
		sp_value_##type slope = SP_LOAD_##type(SP_STORE_##type(alpha));                 \
		const sp_element_##type *elements = from, *signs = by;                          \
		sp_element_##type *results = to;                                                \
                                                                                                \
		for (size_t i = 0; i < count; i++) {                                            \
			sp_value_##type x = SP_LOAD_##type(elements[i]);                        \
                                                                                                \
			results[i] = SP_STORE_##type(SP_LOAD_##type(signs[i]) > 0 ? x           \
										  : slope * x); \
		}                                                                               \
	}

SP_FOR_FLOATING(LEAKY, leaky)

static leaky_fn *const kernels[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(leaky)};

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	leaky_state *state = sp_prepare_state(prepare, sizeof(*state));
	size_t inputs = prepare->node->op == &sp_op_LeakyRelu ? 1 : 2;
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_inputs(prepare, inputs, err));
	SP_TRY(sp_node_attr_float(prepare->node, "alpha", 0.2f, &state->alpha, err));
	dtype = prepare->in_dtypes[0];
	SP_TRY(sp_prepare_input_dtype(prepare, inputs - 1, dtype, err));
	state->kernel = kernels[dtype];
	if (state->kernel == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status run_leaky(const sp_call *call)
{
	const leaky_state *state = call->state;
	const sp_tensor *x = call->in[0];

	SP_TRY(sp_call_output_over(call, 0, 0, x->dtype));
	state->kernel(x->data, x->data, call->out[0]->data, x->count, state->alpha);
	return SP_OK;
}

static sp_status run_gradient(const sp_call *call)
{
	const leaky_state *state = call->state;
	const sp_tensor *dy = call->in[0], *x = call->in[1];

	if (!sp_shape_equal(&dy->shape, &x->shape))
		return sp_call_invalid(call, "inputs must have the same shape");
	SP_TRY(sp_call_output_over(call, 0, 0, dy->dtype));
	state->kernel(dy->data, x->data, call->out[0]->data, dy->count, state->alpha);
	return SP_OK;
}

SP_DEFINE_OP(LeakyRelu, NULL, 0, prepare, run_leaky);
SP_DEFINE_OP(LeakyReluGrad, NULL, 0, prepare, run_gradient);
