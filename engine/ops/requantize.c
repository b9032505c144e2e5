#include "engine/ops/quantized.h"

/*
 * Codes of qint32 as shorter ones:
 *
 *   RequantizationRange         the range of the numbers that there are, and 0
 *   Requantize                  quint8 or qint8 codes of a range that begins at 0 or below
 *   QuantizeDownAndShrinkRange  both at once, to quint8
 *
 * Numerics: the codes are TensorFlow's, to quint8 by its fixed-point arithmetic.
 */
static sp_status prepare_requantize(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype, *state;

	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_INVALID_DTYPE, &dtype, err));
	SP_TRY(sp_quantized__prepare(prepare, 5, 1, dtype, err));
	state = sp_prepare_state(prepare, sizeof(*state));
	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	*state = dtype;
	if (dtype != SP_QUINT8 && dtype != SP_QINT8)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_input_dtype(prepare, 0, SP_QINT32, err);
}

static sp_status prepare_shrink(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_INVALID_DTYPE, &dtype, err));
	SP_TRY(sp_quantized__prepare(prepare, 3, 1, dtype, err));
	if (dtype != SP_QUINT8)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_input_dtype(prepare, 0, SP_QINT32, err);
}

static sp_status prepare_range(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_QINT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_FLOAT, err));
	return sp_prepare_outputs(prepare, 2, SP_FLOAT, err);
}

static sp_quantized_range find_range(const sp_tensor *in, sp_quantized_range range)
{
	int32_t low = INT32_MAX, high = INT32_MIN;
	sp_quantized_range found;

	for (size_t i = 0; i < in->count; i++) {
		int32_t code = sp_quantized__get(in, i);

		low = code < low ? code : low;
		high = code > high ? code : high;
	}
	found.min = sp_quantized__number(SP_QINT32, low, range);
	found.max = sp_quantized__number(SP_QINT32, high, range);
	found.min = found.min < 0 ? found.min : 0;
	return found;
}

/*
 * To quint8: a code times a scale of 48 bits, 16 of them behind the point after a shift of 32,
 * and offsets.  What is too large wraps around.
 */
static void shorten(const sp_tensor *in, sp_quantized_range from, const sp_tensor *out,
		    sp_quantized_range to)
{
	float in_width = from.max - from.min, out_width = to.max - to.min;
	float middle = (float)((double)(from.min + from.max) / 2.0);
	float steps = out_width == 0 ? 0 : (float)(255.0 / (double)out_width);
	int64_t scale = 0, in_offset, out_offset = 0;

	if (out_width != 0) {
		scale = sp_quantized__integer(255.0 * 65536 * (double)in_width / (double)out_width);
		out_offset = sp_quantized__integer(65536 * ((double)to.min * 255.0) /
						   (double)out_width);
	}
	in_offset = sp_quantized__integer((double)(middle * steps * 65536));
	for (size_t i = 0; i < in->count; i++) {
		uint64_t product = (uint64_t)(int64_t)sp_quantized__get(in, i) * (uint64_t)scale;
		uint64_t sum = (uint64_t)((int64_t)product >> 32) + (uint64_t)in_offset -
			       (uint64_t)out_offset + (1 << 15);
		int64_t code = (int64_t)sum >> 16;

		sp_quantized__put(out, i, (int32_t)(code < 0 ? 0 : (code > 255 ? 255 : code)));
	}
}

static sp_status run_requantize(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *out = call->out[0];
	const sp_dtype *dtype = call->state;
	sp_quantized_range from, to;

	SP_TRY(sp_quantized__range(call, 1, &from));
	SP_TRY(sp_quantized__range(call, 3, &to));
	if (!(to.min <= 0) || !(to.max >= to.min))
		return sp_call_invalid(call, "no range from %g to %g that begins at 0 or below",
				       (double)to.min, (double)to.max);
	SP_TRY(sp_call_output(call, 0, *dtype, &in->shape));
	if (out->dtype == SP_QUINT8)
		shorten(in, from, out, to);
	else
		sp_quantized__convert(in, from, out, to);
	return sp_quantized__put_range(call, 1, to);
}

static sp_status run_shrink(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	sp_quantized_range from, to;

	SP_TRY(sp_quantized__range(call, 1, &from));
	SP_TRY(sp_call_output(call, 0, SP_QUINT8, &in->shape));
	to = find_range(in, from);
	shorten(in, from, call->out[0], to);
	return sp_quantized__put_range(call, 1, to);
}

static sp_status run_range(const sp_call *call)
{
	sp_quantized_range range;

	SP_TRY(sp_quantized__range(call, 1, &range));
	return sp_quantized__put_range(call, 0, find_range(call->in[0], range));
}

const sp_op sp_op_QuantizeDownAndShrinkRange = {
	.name = "QuantizeDownAndShrinkRange",
	.outputs = "output output_min output_max",
	.prepare = prepare_shrink,
	.run = run_shrink,
};
const sp_op sp_op_RequantizationRange = {
	.name = "RequantizationRange",
	.outputs = "output_min output_max",
	.prepare = prepare_range,
	.run = run_range,
};
const sp_op sp_op_Requantize = {
	.name = "Requantize",
	.outputs = "output output_min output_max",
	.prepare = prepare_requantize,
	.run = run_requantize,
};
