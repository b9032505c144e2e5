#include <math.h>
#include <string.h>

#include "engine/ops/array.h"
#include "engine/ops/quantized.h"

/*
 * QuantizedMatMulWithBias and its fused forms: a b + bias of codes a [m, k] of quint8 and b [k, n]
 * of qint8, whose 0 is the code 0.
 *
 *   QuantizedMatMulWithBias                      qint32
 *   QuantizedMatMulWithBiasAndRelu               the same, not below 0
 *   QuantizedMatMulWithBiasAndRequantize         quint8 in the range that is given
 *   QuantizedMatMulWithBiasAndReluAndRequantize  the same, which has no codes below 0 anyway
 *   QuantizedMatMulWithBiasAndDequantize         the numbers themselves, float
 *
 * input_quant_mode says what codes of a mean: with SCALED 0 is the code 0, with MIN_FIRST code 0 is
 * the minimum.  The bias is float [n], of qint32 it is in the answer's scale already, and with
 * MIN_FIRST makes up for the minimum, too.  transpose_a and transpose_b are not supported, as in
 * TensorFlow, where only oneDNN runs these operators.
 *
 * Numerics: sums of products are exact, and wrap around at 32 bits; what follows is in float.
 * With MIN_FIRST and another minimum than 0 TensorFlow 2.15 puts the minimum's part of a float
 * bias in a wrong scale; here it is what the operator is defined to do.
 */
typedef enum answer_kind { CODES_32, CODES_8, NUMBERS } answer_kind;

static const sp_dtype answer_dtypes[] = {
	[CODES_32] = SP_QINT32, [CODES_8] = SP_QUINT8, [NUMBERS] = SP_FLOAT};

typedef struct dense_state {
	answer_kind answer;
	bool relu, min_first;
} dense_state;

static sp_status read_mode(const sp_prepare *prepare, dense_state *state, sp_error *err)
{
	bool transpose_a, transpose_b;
	sp_bytes mode;

	SP_TRY(sp_node_attr_bool(prepare->node, "transpose_a", false, &transpose_a, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "transpose_b", false, &transpose_b, err));
	if (transpose_a || transpose_b)
		return sp_error_set(err, SP_UNSUPPORTED, "%s of transposed codes is not supported",
				    prepare->node->op_name);
	SP_TRY(sp_node_attr_bytes(prepare->node, "input_quant_mode", "MIN_FIRST", &mode, err));
	state->min_first = sp_bytes_equal_text(mode, "MIN_FIRST");
	if (!state->min_first && !sp_bytes_equal_text(mode, "SCALED"))
		return sp_error_set(err, SP_INVALID, "input_quant_mode '%.*s' is not known",
				    (int)mode.size, mode.data);
	return SP_OK;
}

static sp_status check_inputs(const sp_prepare *prepare, bool float_bias, sp_error *err)
{
	sp_dtype bias = prepare->in_dtypes[2];

	if (prepare->in_dtypes[0] != SP_QUINT8)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	if (prepare->in_dtypes[1] != SP_QINT8)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[1], err);
	if (bias != SP_FLOAT && (float_bias || bias != SP_QINT32))
		return sp_prepare_unsupported(prepare, bias, err);
	return SP_OK;
}

static sp_status prepare_dense(sp_prepare *prepare, answer_kind answer, bool relu, sp_error *err)
{
	dense_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype wanted = answer_dtypes[answer], dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->answer = answer;
	state->relu = relu;
	SP_TRY(sp_quantized__prepare(prepare, answer == CODES_32 ? 7 : 9, 3, wanted, err));
	SP_TRY(check_inputs(prepare, answer == CODES_32 && relu, err));
	SP_TRY(sp_node_attr_type(prepare->node, "Toutput", wanted, &dtype, err));
	if (dtype != wanted)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(read_mode(prepare, state, err));
	return answer == NUMBERS ? sp_prepare_outputs(prepare, 1, SP_FLOAT, err) : SP_OK;
}

typedef struct dense {
	size_t m, k, n;
	sp_quantized_range a, b, out;
	float a_scale, b_scale; /* the number that a step of a code is */
	float scale;            /* the number that a step of a sum is */
	float *bias;            /* [n] numbers */
} dense;

/* The highest code stands for the further end. */
static float find_scale(sp_quantized_range range, float steps)
{
	return (float)((double)fmaxf(fabsf(range.min), fabsf(range.max)) / (double)steps);
}

static sp_status read_ranges(const sp_call *call, dense *d)
{
	const dense_state *state = call->state;

	for (size_t i = 3; i < call->in_count; i++)
		SP_TRY(sp_array__need_rank(call, i, 0));
	SP_TRY(sp_quantized__range(call, 3, &d->a));
	SP_TRY(sp_quantized__range(call, 5, &d->b));
	if (state->answer != CODES_32)
		SP_TRY(sp_quantized__range(call, 7, &d->out));
	SP_TRY(sp_quantized__check_range(call, d->a));
	SP_TRY(sp_quantized__check_range(call, d->b));
	d->a_scale = state->min_first ? (float)((double)(d->a.max - d->a.min) / 255)
				      : find_scale(d->a, 255);
	d->b_scale = find_scale(d->b, 127);
	d->scale = d->a_scale * d->b_scale;
	return SP_OK;
}

static sp_status read_shapes(const sp_call *call, dense *d)
{
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];
	const sp_shape *left = &call->in[0]->shape, *right = &call->in[1]->shape;

	SP_TRY(sp_array__need_rank(call, 0, 2));
	SP_TRY(sp_array__need_rank(call, 1, 2));
	SP_TRY(sp_array__need_rank(call, 2, 1));
	if (left->dims[1] != right->dims[0] || call->in[2]->shape.dims[0] != right->dims[1])
		return sp_call_invalid(call, "codes of shape %s times %s with %zu biases",
				       sp_shape_text(left, a), sp_shape_text(right, b),
				       call->in[2]->count);
	d->m = (size_t)left->dims[0];
	d->k = (size_t)left->dims[1];
	d->n = (size_t)right->dims[1];
	return SP_OK;
}

/* A bias of float, and what a minimum other than 0 adds. */
static float adjust(const sp_call *call, const dense *d, float bias, int64_t column)
{
	const dense_state *state = call->state;

	return state->min_first ? bias + (float)column * d->a.min * d->b_scale : bias;
}

static sp_status read_bias(const sp_call *call, dense *d)
{
	const sp_tensor *bias = call->in[2];
	const int8_t *b = call->in[1]->data;

	d->bias = sp_call_bytes(call, d->n, sizeof(*d->bias));
	if (d->bias == NULL)
		return sp_call_no_memory(call);
	for (size_t j = 0; j < d->n; j++) {
		int64_t column = 0;

		if (bias->dtype == SP_QINT32) {
			d->bias[j] = (float)sp_quantized__get(bias, j) * d->scale;
			continue;
		}
		for (size_t i = 0; i < d->k; i++)
			column += b[i * d->n + j];
		d->bias[j] = adjust(call, d, sp_tensor_f32(bias)[j], column);
	}
	return SP_OK;
}

static void multiply_row(const dense *d, const uint8_t *a, const int8_t *b, uint32_t *sums)
{
	memset(sums, 0, d->n * sizeof(*sums));
	for (size_t i = 0; i < d->k; i++, b += d->n)
		for (size_t j = 0; j < d->n; j++)
			sums[j] += (uint32_t)(a[i] * b[j]);
}

static int32_t to_codes(float x)
{
	if (!(x >= -0x1p31F))
		return INT32_MIN;
	return x >= 0x1p31F ? INT32_MAX : (int32_t)rintf(x);
}

/* A row of the answer, from element `at` on. */
static void put_row(const sp_call *call, const dense *d, const uint32_t *sums, size_t at)
{
	const dense_state *state = call->state;
	const sp_tensor *out = call->out[0], *bias = call->in[2];
	float steps = 1 / (state->answer == CODES_8 ? find_scale(d->out, 255) : d->scale);

	for (size_t j = 0; j < d->n; j++, at++) {
		float number = (float)(int32_t)sums[j] * d->scale + d->bias[j];
		int32_t code = to_codes(number * steps);

		if (state->answer == NUMBERS) {
			sp_tensor_f32(out)[at] = number;
			continue;
		}
		if (state->answer == CODES_8) {
			((uint8_t *)out->data)[at] = (uint8_t)(code > 255 ? 255
									  : (code > 0 ? code : 0));
			continue;
		}
		/* Whole codes are added as such. */
		if (bias->dtype == SP_QINT32)
			code = (int32_t)(sums[j] + (uint32_t)sp_quantized__get(bias, j));
		((int32_t *)out->data)[at] = state->relu && code < 0 ? 0 : code;
	}
}

static sp_quantized_range answer_range(const dense_state *state, const dense *d)
{
	float level = (d->a.max - d->a.min) / 255 * ((d->b.max - d->b.min) / 254);

	if (state->answer != CODES_32)
		return d->out;
	return (sp_quantized_range){level * (float)INT32_MIN, level * (float)INT32_MAX};
}

static sp_status run_dense(const sp_call *call)
{
	const dense_state *state = call->state;
	uint32_t *sums;
	sp_shape shape;
	dense d = {0};

	SP_TRY(read_shapes(call, &d));
	SP_TRY(read_ranges(call, &d));
	shape = sp_shape_matrix((int64_t)d.m, (int64_t)d.n);
	SP_TRY(sp_call_output(call, 0, answer_dtypes[state->answer], &shape));
	SP_TRY(read_bias(call, &d));
	sums = sp_call_bytes(call, d.n, sizeof(*sums));
	if (sums == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; call->out[0]->count != 0 && i < d.m; i++) {
		multiply_row(&d, (const uint8_t *)call->in[0]->data + i * d.k, call->in[1]->data,
			     sums);
		put_row(call, &d, sums, i * d.n);
	}
	return state->answer == NUMBERS ? SP_OK
					: sp_quantized__put_range(call, 1, answer_range(state, &d));
}

#define DENSE_OP(op, answer, relu, outs)                                  \
	static sp_status prepare_##op(sp_prepare *prepare, sp_error *err) \
	{                                                                 \
		return prepare_dense(prepare, answer, relu, err);         \
	}                                                                 \
	const sp_op sp_op_##op = {                                        \
		.name = #op, .outputs = outs, .prepare = prepare_##op, .run = run_dense}

DENSE_OP(QuantizedMatMulWithBias, CODES_32, false, "out min_out max_out");
DENSE_OP(QuantizedMatMulWithBiasAndDequantize, NUMBERS, false, "out");
DENSE_OP(QuantizedMatMulWithBiasAndRelu, CODES_32, true, "out min_out max_out");
DENSE_OP(QuantizedMatMulWithBiasAndReluAndRequantize, CODES_8, true, "out min_out max_out");
DENSE_OP(QuantizedMatMulWithBiasAndRequantize, CODES_8, false, "out min_out max_out");
