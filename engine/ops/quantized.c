#include "engine/ops/quantized.h"

#include <math.h>

sp_status sp_quantized__range(const sp_call *call, size_t i, sp_quantized_range *out)
{
	if (call->in[i]->count != 1 || call->in[i + 1]->count != 1)
		return sp_call_invalid(call, "a range must be two scalars, not %zu and %zu numbers",
				       call->in[i]->count, call->in[i + 1]->count);
	out->min = *sp_tensor_f32(call->in[i]);
	out->max = *sp_tensor_f32(call->in[i + 1]);
	return SP_OK;
}

sp_status sp_quantized__put_range(const sp_call *call, size_t i, sp_quantized_range range)
{
	sp_shape scalar = sp_shape_scalar();

	SP_TRY(sp_call_output(call, i, SP_FLOAT, &scalar));
	SP_TRY(sp_call_output(call, i + 1, SP_FLOAT, &scalar));
	*sp_tensor_f32(call->out[i]) = range.min;
	*sp_tensor_f32(call->out[i + 1]) = range.max;
	return SP_OK;
}

sp_status sp_quantized__prepare(sp_prepare *prepare, size_t inputs, size_t first, sp_dtype dtype,
				sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, inputs, err));
	for (size_t i = first; i < inputs; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_FLOAT, err));
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_FLOAT, err));
	prepare->out_dtypes[0] = dtype;
	return SP_OK;
}

int32_t sp_quantized__lowest(sp_dtype dtype)
{
	return dtype == SP_QUINT8 ? 0 : (dtype == SP_QINT8 ? INT8_MIN : INT32_MIN);
}

int32_t sp_quantized__highest(sp_dtype dtype)
{
	return dtype == SP_QUINT8 ? UINT8_MAX : (dtype == SP_QINT8 ? INT8_MAX : INT32_MAX);
}

int32_t sp_quantized__get(const sp_tensor *codes, size_t i)
{
	switch (codes->dtype) {
	case SP_QUINT8:
		return ((const uint8_t *)codes->data)[i];
	case SP_QINT8:
		return ((const int8_t *)codes->data)[i];
	default:
		return ((const int32_t *)codes->data)[i];
	}
}

void sp_quantized__put(const sp_tensor *codes, size_t i, int32_t code)
{
	if (codes->dtype == SP_QINT32)
		((int32_t *)codes->data)[i] = code;
	else
		((uint8_t *)codes->data)[i] = (uint8_t)code;
}

/* How many codes there are. */
static double count_codes(sp_dtype dtype)
{
	return dtype == SP_QINT32 ? 0x1p32 : 256;
}

/* The width of a range with one step more. */
static double width_of(sp_dtype dtype, sp_quantized_range range)
{
	double codes = count_codes(dtype);

	return (double)(range.max - range.min) * (codes / (codes - 1));
}

float sp_quantized__number(sp_dtype dtype, int32_t code, sp_quantized_range range)
{
	double scale = width_of(dtype, range) / count_codes(dtype);
	/* Codes of qint32 lose their last digits here, as they do in TensorFlow. */
	double offset = (double)(float)code - sp_quantized__lowest(dtype);

	if (range.min == range.max)
		return range.min;
	return (float)((double)(roundf(range.min / (float)scale) * (float)scale) + offset * scale);
}

sp_quantized_range sp_quantized__product(sp_quantized_range a, sp_quantized_range b)
{
	float level = (a.max - a.min) / 255 * ((b.max - b.min) / 255);

	return (sp_quantized_range){level * (float)INT32_MIN, level * (float)INT32_MAX};
}

sp_status sp_quantized__check_range(const sp_call *call, sp_quantized_range range)
{
	if (range.max > range.min)
		return SP_OK;
	return sp_call_invalid(call, "the range from %g to %g is empty", (double)range.min,
			       (double)range.max);
}

int64_t sp_quantized__integer(double x)
{
	return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

int64_t sp_quantized__code(sp_dtype dtype, float number, sp_quantized_range range)
{
	double scale = count_codes(dtype) / width_of(dtype, range);
	int32_t lowest = sp_quantized__lowest(dtype);
	int64_t code;

	if (range.min == range.max)
		return lowest;
	code = sp_quantized__integer(round((double)number * scale) -
				     round((double)range.min * scale));
	return code < INT64_MIN - (int64_t)lowest ? INT64_MIN : code + lowest;
}

int32_t sp_quantized__nearest(sp_dtype dtype, float number, sp_quantized_range range)
{
	int64_t code = sp_quantized__code(dtype, number, range);

	if (code < sp_quantized__lowest(dtype))
		return sp_quantized__lowest(dtype);
	return code > sp_quantized__highest(dtype) ? sp_quantized__highest(dtype) : (int32_t)code;
}

void sp_quantized__convert(const sp_tensor *in, sp_quantized_range from, const sp_tensor *out,
			   sp_quantized_range to)
{
	float in_scale = (float)((double)(from.max - from.min) / (count_codes(in->dtype) - 1));
	float out_scale = (float)((count_codes(out->dtype) - 1) / (double)(to.max - to.min));
	float in_min = from.max == from.min ? from.min : roundf(from.min / in_scale) * in_scale;
	float out_lowest = (float)sp_quantized__lowest(out->dtype), out_min;
	/* The highest code of qint32 is no float. */
	float out_highest = fminf((float)sp_quantized__highest(out->dtype), 2147483520.0F);
	float offset = in_min - (float)sp_quantized__lowest(in->dtype) * in_scale;

	out_scale = to.max == to.min ? 0 : out_scale;
	out_min = roundf(to.min * out_scale) - out_lowest;
	for (size_t i = 0; i < in->count; i++) {
		float number = offset + (float)sp_quantized__get(in, i) * in_scale;
		float code = roundf(number * out_scale) - out_min;

		code = code >= out_lowest ? code : out_lowest;
		sp_quantized__put(out, i, (int32_t)(code > out_highest ? out_highest : code));
	}
}
