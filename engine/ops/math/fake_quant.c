#include <math.h>

#include "engine/ops/ops.h"

/*
 * FakeQuantWithMinMaxArgs, -Vars and -VarsPerChannel: floats quantized to unsigned codes of
 * num_bits (2 to 16) bits and dequantized again.  With narrow_range the smallest code is not used.
 * The range comes from attributes, from two scalars, or from a pair for each channel (the last
 * dimension).  It is first moved so that 0 is exactly a code.
 *
 * Numerics: float, in TensorFlow's order of operations; a value halfway between two codes gets the
 * upper one.  The range [0, 0] gives 0.
 *
 * Source: FakeQuantWithMinMaxVars of TensorFlow 2.15 on CPU, from its results.
 */
typedef struct fake_quant_state {
	float first, last; /* codes */
	float min, max;    /* attributes of FakeQuantWithMinMaxArgs */
} fake_quant_state;

/* The moved range and its codes. */
typedef struct codes {
	float min, max;
	float step, per_step; /* per_step: 1 / step */
	float zero;           /* the distance of 0 from min, in steps */
} codes;

static codes move_range(const fake_quant_state *state, float min, float max)
{
	codes c = {.step = (max - min) / (state->last - state->first),
		   .per_step = (state->last - state->first) / (max - min)};
	float zero = state->first - min / c.step;

	if (zero < state->first)
		zero = state->first;
	else if (zero > state->last)
		zero = state->last;
	else
		zero = roundf(zero);
	c.min = (state->first - zero) * c.step;
	c.max = (state->last - zero) * c.step;
	c.zero = floorf(-c.min * c.per_step + 0.5F);
	return c;
}

/* Quantizes every `stride`-th of the `count` elements. */
static void quantize(const fake_quant_state *state, const float *in, float *out, size_t count,
		     size_t stride, float min, float max)
{
	codes c = move_range(state, min, max);
	bool nothing = min == 0 && max == 0;

	for (size_t i = 0; i < count; i += stride) {
		float x = in[i] > c.max ? c.max : in[i];

		x = x < c.min ? c.min : x;
		out[i] = nothing ? 0 : floorf((x - c.min) * c.per_step - c.zero + 0.5F) * c.step;
	}
}

static sp_status run_args(const sp_call *call)
{
	const fake_quant_state *state = call->state;

	SP_TRY(sp_call_output_over(call, 0, 0, SP_FLOAT));
	quantize(state, call->in[0]->data, call->out[0]->data, call->out[0]->count, 1, state->min,
		 state->max);
	return SP_OK;
}

static sp_status run_vars(const sp_call *call)
{
	float min, max;

	for (size_t i = 1; i < 3; i++)
		if (!sp_tensor_is_scalar(call->in[i]))
			return sp_call_invalid(call, "%s must be a scalar, not of rank %d",
					       i == 1 ? "min" : "max", call->in[i]->shape.rank);
	min = *sp_tensor_f32(call->in[1]);
	max = *sp_tensor_f32(call->in[2]);
	SP_TRY(sp_call_output_over(call, 0, 0, SP_FLOAT));
	quantize(call->state, call->in[0]->data, call->out[0]->data, call->out[0]->count, 1, min,
		 max);
	return SP_OK;
}

static sp_status run_channels(const sp_call *call)
{
	const sp_shape *shape = &call->in[0]->shape;
	const sp_tensor *min = call->in[1], *max = call->in[2];
	const float *in = call->in[0]->data;
	size_t count = call->in[0]->count, channels;
	float *out;

	if (shape->rank == 0)
		return sp_call_invalid(call, "inputs must have a dimension of channels");
	channels = (size_t)shape->dims[shape->rank - 1];
	for (size_t i = 1; i < 3; i++)
		if (call->in[i]->shape.rank != 1 || call->in[i]->count != channels)
			return sp_call_invalid(call, "%s must be a vector of %zu, one per channel",
					       i == 1 ? "min" : "max", channels);
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, shape));
	out = sp_tensor_f32(call->out[0]);
	for (size_t c = 0; c < channels && count > 0; c++)
		quantize(call->state, in + c, out + c, count - c, channels, sp_tensor_f32(min)[c],
			 sp_tensor_f32(max)[c]);
	return SP_OK;
}

static sp_status prepare_any(sp_prepare *prepare, size_t inputs, fake_quant_state **out,
			     sp_error *err)
{
	fake_quant_state *state = sp_prepare_state(prepare, sizeof(*state));
	int64_t bits;
	bool narrow;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %s", prepare->node->op_name);
	SP_TRY(sp_prepare_inputs(prepare, inputs, err));
	for (size_t i = 0; i < inputs; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_FLOAT, err));
	SP_TRY(sp_node_attr_int(prepare->node, "num_bits", 8, &bits, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "narrow_range", false, &narrow, err));
	if (bits < 2 || bits > 16)
		return sp_error_set(err, SP_INVALID, "num_bits must be 2 to 16, not %lld",
				    (long long)bits);
	state->first = narrow ? 1 : 0;
	state->last = (float)((1 << bits) - 1);
	*out = state;
	return sp_prepare_outputs(prepare, 1, SP_FLOAT, err);
}

static sp_status prepare_vars(sp_prepare *prepare, sp_error *err)
{
	fake_quant_state *state;

	return prepare_any(prepare, 3, &state, err);
}

static sp_status prepare_args(sp_prepare *prepare, sp_error *err)
{
	fake_quant_state *state;

	SP_TRY(prepare_any(prepare, 1, &state, err));
	SP_TRY(sp_node_attr_float(prepare->node, "min", -6, &state->min, err));
	SP_TRY(sp_node_attr_float(prepare->node, "max", 6, &state->max, err));
	if (!(state->min < state->max))
		return sp_error_set(err, SP_INVALID, "min %g must be below max %g",
				    (double)state->min, (double)state->max);
	return SP_OK;
}

const sp_op sp_op_FakeQuantWithMinMaxArgs = {
	.name = "FakeQuantWithMinMaxArgs",
	.prepare = prepare_args,
	.run = run_args,
};

const sp_op sp_op_FakeQuantWithMinMaxVars = {
	.name = "FakeQuantWithMinMaxVars",
	.prepare = prepare_vars,
	.run = run_vars,
};

const sp_op sp_op_FakeQuantWithMinMaxVarsPerChannel = {
	.name = "FakeQuantWithMinMaxVarsPerChannel",
	.prepare = prepare_vars,
	.run = run_channels,
};
