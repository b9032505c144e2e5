#include <math.h>

#include "engine/ops/array.h"
#include "engine/ops/broadcast.h"
#include "engine/ops/quantized.h"

/*
 * QuantizedAdd and QuantizedMul of codes of quint8: qint32, of sums in a range 2^14 times as wide
 * as theirs.  Shapes are alike, or one is a scalar or the end of the other; TensorFlow knows no
 * other broadcasting here, though it does not refuse it all.
 *
 * Numerics: the codes are TensorFlow's, and wrap around.
 */
typedef struct operand {
	const uint8_t *codes;
	size_t count;
	sp_quantized_range range;
	/* Code c is first + c * step of the answer's; of a product c - first. */
	int64_t first, step;
} operand;

static sp_status prepare_any(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_quantized__prepare(prepare, 6, 2, SP_QINT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_QUINT8, err));
	return sp_prepare_input_dtype(prepare, 1, SP_QUINT8, err);
}

/* Whether a, but for dimensions of 1 in front, is the end of b. */
static bool is_end(const sp_shape *a, const sp_shape *b)
{
	int first = 0;

	while (first < a->rank && a->dims[first] == 1)
		first++;
	if (a->rank - first > b->rank)
		return false;
	for (int d = 1; d <= a->rank - first; d++)
		if (a->dims[a->rank - d] != b->dims[b->rank - d])
			return false;
	return true;
}

static sp_status find_shape(const sp_call *call, sp_shape *out)
{
	const sp_shape *a = &call->in[0]->shape, *b = &call->in[1]->shape;
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];

	if (!sp_broadcast__shape(out, a, b))
		return sp_call_invalid(call, "shapes %s and %s do not go together",
				       sp_shape_text(a, a_text), sp_shape_text(b, b_text));
	if (!is_end(a, b) && !is_end(b, a))
		return sp_error_set(call->err, SP_UNSUPPORTED,
				    "shapes %s and %s of codes are not supported",
				    sp_shape_text(a, a_text), sp_shape_text(b, b_text));
	return SP_OK;
}

static sp_status read_operands(const sp_call *call, operand x[2])
{
	for (size_t i = 0; i < 2; i++) {
		x[i] = (operand){.codes = call->in[i]->data, .count = call->in[i]->count};
		SP_TRY(sp_quantized__range(call, 2 + 2 * i, &x[i].range));
		for (size_t k = 2 + 2 * i; k < 4 + 2 * i; k++)
			SP_TRY(sp_array__need_rank(call, k, 0));
		SP_TRY(sp_quantized__check_range(call, x[i].range));
	}
	return SP_OK;
}

/* A code in the answer's range, to which it goes by steps that are all alike. */
static int32_t widen(const operand *x, size_t i)
{
	int64_t code = x->first + (int64_t)x->codes[i % x->count] * x->step;

	return code < INT32_MIN ? INT32_MIN : (code > INT32_MAX ? INT32_MAX : (int32_t)code);
}

/* By its steps; a scalar goes there by itself. */
static void find_steps(operand *x, bool is_scalar, sp_quantized_range to)
{
	if (is_scalar) {
		float number = sp_quantized__number(SP_QUINT8, x->codes[0], x->range);

		x->first = sp_quantized__nearest(SP_QINT32, number, to);
		return;
	}
	x->first = sp_quantized__code(SP_QINT32, sp_quantized__number(SP_QUINT8, 0, x->range), to);
	x->step = (int32_t)(sp_quantized__code(SP_QINT32,
					       sp_quantized__number(SP_QUINT8, 1, x->range), to) -
			    x->first);
}

static sp_status run_add(const sp_call *call)
{
	sp_quantized_range range;
	sp_shape shape;
	operand x[2];
	uint32_t *out;
	bool scalar;

	SP_TRY(find_shape(call, &shape));
	SP_TRY(read_operands(call, x));
	SP_TRY(sp_call_output(call, 0, SP_QINT32, &shape));
	range.max = fmaxf(fabsf(fminf(x[0].range.min, x[1].range.min)),
			  fabsf(fmaxf(x[0].range.max, x[1].range.max))) *
		    (1 << 14);
	range.min = -range.max;
	out = call->out[0]->data;
	if (call->out[0]->count != 0) {
		scalar = x[0].count == 1;
		find_steps(&x[0], scalar, range);
		find_steps(&x[1], !scalar && x[1].count == 1, range);
	}
	for (size_t i = 0; i < call->out[0]->count; i++)
		out[i] = (uint32_t)widen(&x[0], i) + (uint32_t)widen(&x[1], i);
	return sp_quantized__put_range(call, 1, range);
}

static sp_status run_multiply(const sp_call *call)
{
	sp_shape shape;
	operand x[2];
	uint32_t *out;

	SP_TRY(find_shape(call, &shape));
	SP_TRY(read_operands(call, x));
	SP_TRY(sp_call_output(call, 0, SP_QINT32, &shape));
	for (size_t i = 0; i < 2; i++)
		x[i].first = (int32_t)sp_quantized__code(SP_QUINT8, 0, x[i].range);
	out = call->out[0]->data;
	for (size_t i = 0; i < call->out[0]->count; i++)
		out[i] = (x[0].codes[i % x[0].count] - (uint32_t)x[0].first) *
			 (x[1].codes[i % x[1].count] - (uint32_t)x[1].first);
	return sp_quantized__put_range(call, 1, sp_quantized__product(x[0].range, x[1].range));
}

const sp_op sp_op_QuantizedAdd = {
	.name = "QuantizedAdd", .outputs = "z min_z max_z", .prepare = prepare_any, .run = run_add};
const sp_op sp_op_QuantizedMul = {.name = "QuantizedMul",
				  .outputs = "z min_z max_z",
				  .prepare = prepare_any,
				  .run = run_multiply};
