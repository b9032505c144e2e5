#include <tgmath.h>

#include "engine/ops.h"

/*
 * ApproximateEqual: |x - y| < tolerance, for two tensors of one shape.
 */
static sp_status prepare_approximate(sp_prepare *prepare, sp_error *err)
{
	float *tolerance = sp_prepare_state(prepare, sizeof(*tolerance));
	sp_dtype dtype;

	if (tolerance == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_node_attr_float(prepare->node, "tolerance", 1e-5f, tolerance, err));
	dtype = prepare->in_dtypes[0];
	SP_TRY(sp_prepare_input_dtype(prepare, 1, dtype, err));
	if (dtype != SP_FLOAT && dtype != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, SP_BOOL, err);
}

static sp_status run_approximate(const sp_call *call)
{
	const float *tolerance = call->state;
	const sp_tensor *x = call->in[0], *y = call->in[1];
	char x_text[SP_SHAPE_TEXT_SIZE], y_text[SP_SHAPE_TEXT_SIZE];
	bool *out;

	if (!sp_shape_equal(&x->shape, &y->shape))
		return sp_call_invalid(call, "x and y must have the same shape, not %s and %s",
				       sp_shape_text(&x->shape, x_text),
				       sp_shape_text(&y->shape, y_text));
	SP_TRY(sp_call_output(call, 0, SP_BOOL, &x->shape));
	out = sp_tensor_bool(call->out[0]);
	if (x->dtype == SP_FLOAT)
		for (size_t i = 0; i < x->count; i++)
			out[i] = fabs(sp_tensor_f32(x)[i] - sp_tensor_f32(y)[i]) < *tolerance;
	else
		for (size_t i = 0; i < x->count; i++)
			out[i] = fabs(sp_tensor_f64(x)[i] - sp_tensor_f64(y)[i]) < *tolerance;
	return SP_OK;
}

const sp_op sp_op_ApproximateEqual = {
	.name = "ApproximateEqual", .prepare = prepare_approximate, .run = run_approximate};
