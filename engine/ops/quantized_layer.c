#include <math.h>

#include "engine/ops/array.h"
#include "engine/ops/quantized.h"

/*
 * Layers of codes:
 *
 *   QuantizedMatMul   a b of quint8 matrices, each on demand transposed: qint32
 *   QuantizedBiasAdd  input and, along its last dimension, bias; both quint8 or both qint8:
 *                     qint32, in a range 2^17 times as wide as theirs
 *   QuantizedRelu     what stands for less than 0 becomes the code of 0; quint8 or qint32;
 *                     QuantizedRelu6 and QuantizedReluX have an upper bound as well
 *
 * Numerics: the codes are TensorFlow's; sums of products wrap around.
 */
typedef struct layer_state {
	bool transpose_a, transpose_b;
	size_t range; /* of Relu: the input where it begins */
	float bound;  /* highest number there may be; 0: the input before the range */
} layer_state;

static layer_state *make_state(sp_prepare *prepare)
{
	return sp_prepare_state(prepare, sizeof(layer_state));
}

/* -------------------------------------------------------------------- MatMul */

static sp_status prepare_matmul(sp_prepare *prepare, sp_error *err)
{
	layer_state *state = make_state(prepare);

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_quantized__prepare(prepare, 6, 2, SP_QINT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_QUINT8, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_QUINT8, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "transpose_a", false, &state->transpose_a, err));
	return sp_node_attr_bool(prepare->node, "transpose_b", false, &state->transpose_b, err);
}

/* A matrix of codes, of which `zero` stands for 0. */
typedef struct matrix {
	const uint8_t *codes;
	size_t rows, columns, row, column; /* the latter two are strides */
	uint32_t zero;
} matrix;

static sp_status read_matrix(const sp_call *call, size_t i, bool transpose,
			     sp_quantized_range range, matrix *out)
{
	const sp_tensor *t = call->in[i];

	SP_TRY(sp_array__need_rank(call, i, 2));
	SP_TRY(sp_quantized__check_range(call, range));
	*out = (matrix){.codes = t->data,
			.rows = (size_t)t->shape.dims[transpose],
			.columns = (size_t)t->shape.dims[!transpose],
			.row = transpose ? 1 : (size_t)t->shape.dims[1],
			.column = transpose ? (size_t)t->shape.dims[1] : 1,
			.zero = (uint32_t)sp_quantized__code(SP_QUINT8, 0, range)};
	return SP_OK;
}

static void multiply(const matrix *a, const matrix *b, uint32_t *c)
{
	for (size_t i = 0; i < a->rows; i++, c += b->columns) {
		for (size_t j = 0; j < b->columns; j++)
			c[j] = 0;
		for (size_t k = 0; k < a->columns; k++) {
			uint32_t left = a->codes[i * a->row + k * a->column] - a->zero;
			const uint8_t *right = b->codes + k * b->row;

			for (size_t j = 0; j < b->columns; j++)
				c[j] += left * (right[j * b->column] - b->zero);
		}
	}
}

static sp_status run_matmul(const sp_call *call)
{
	const layer_state *state = call->state;
	sp_quantized_range ranges[2];
	matrix a = {0}, b = {0};
	sp_shape shape;

	SP_TRY(sp_quantized__range(call, 2, &ranges[0]));
	SP_TRY(sp_quantized__range(call, 4, &ranges[1]));
	SP_TRY(read_matrix(call, 0, state->transpose_a, ranges[0], &a));
	SP_TRY(read_matrix(call, 1, state->transpose_b, ranges[1], &b));
	if (a.columns != b.rows)
		return sp_call_invalid(call, "%zu columns for %zu rows", a.columns, b.rows);
	shape = sp_shape_matrix((int64_t)a.rows, (int64_t)b.columns);
	SP_TRY(sp_call_output(call, 0, SP_QINT32, &shape));
	multiply(&a, &b, call->out[0]->data);
	return sp_quantized__put_range(call, 1, sp_quantized__product(ranges[0], ranges[1]));
}

/* ------------------------------------------------------------------- BiasAdd */

static sp_status prepare_bias(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_quantized__prepare(prepare, 6, 2, SP_QINT32, err));
	dtype = prepare->in_dtypes[0];
	if (dtype != SP_QUINT8 && dtype != SP_QINT8)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_input_dtype(prepare, 1, dtype, err);
}

static sp_status run_bias(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *bias = call->in[1];
	sp_quantized_range in_range, bias_range, made;
	sp_tensor wide = {.dtype = SP_QINT32, .count = bias->count};
	uint32_t zero, *out;

	SP_TRY(sp_quantized__range(call, 2, &in_range));
	SP_TRY(sp_quantized__range(call, 4, &bias_range));
	SP_TRY(sp_array__need_rank(call, 1, 1));
	if (in->shape.rank < 2 || in->shape.dims[in->shape.rank - 1] != bias->shape.dims[0])
		return sp_call_invalid(call, "%zu biases do not go with the last dimension",
				       bias->count);
	SP_TRY(sp_call_output(call, 0, SP_QINT32, &in->shape));
	wide.data = sp_call_bytes(call, bias->count, sizeof(int32_t));
	if (wide.data == NULL)
		return sp_call_no_memory(call);
	made.max = fmaxf(fmaxf(in_range.max, -in_range.min),
			 fmaxf(bias_range.max, -bias_range.min)) *
		   (1 << 17);
	made.min = -made.max;
	zero = (uint32_t)sp_quantized__nearest(SP_QINT32, 0, made);
	sp_quantized__convert(in, in_range, call->out[0], made);
	sp_quantized__convert(bias, bias_range, &wide, made);
	out = call->out[0]->data;
	for (size_t i = 0; i < in->count; i++)
		out[i] += ((const uint32_t *)wide.data)[i % bias->count] + zero;
	return sp_quantized__put_range(call, 1, made);
}

/* ---------------------------------------------------------------------- Relu */

static sp_status prepare_relu_to(sp_prepare *prepare, size_t range, float bound, sp_error *err)
{
	layer_state *state = make_state(prepare);
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->range = range;
	state->bound = bound;
	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_QUINT8, &dtype, err));
	SP_TRY(sp_quantized__prepare(prepare, range + 2, 1, dtype, err));
	if (dtype != SP_QUINT8 && dtype != SP_QINT32)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_input_dtype(prepare, 0, dtype, err);
}

static sp_status prepare_relu(sp_prepare *prepare, sp_error *err)
{
	return prepare_relu_to(prepare, 1, INFINITY, err);
}

static sp_status prepare_relu_6(sp_prepare *prepare, sp_error *err)
{
	return prepare_relu_to(prepare, 1, 6, err);
}

static sp_status prepare_relu_x(sp_prepare *prepare, sp_error *err)
{
	return prepare_relu_to(prepare, 2, 0, err);
}

static sp_status run_relu(const sp_call *call)
{
	const layer_state *state = call->state;
	const sp_tensor *in = call->in[0];
	int32_t low, high = sp_quantized__highest(in->dtype);
	float bound = state->bound;
	sp_quantized_range range;

	if (state->range == 2) {
		if (call->in[1]->count != 1)
			return sp_call_invalid(call, "max_value must be a scalar");
		bound = *sp_tensor_f32(call->in[1]);
	}
	SP_TRY(sp_quantized__range(call, state->range, &range));
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	low = sp_quantized__nearest(in->dtype, 0, range);
	if (state->range == 2 || !isinf(bound))
		high = sp_quantized__nearest(in->dtype, bound, range);
	for (size_t i = 0; i < in->count; i++) {
		int32_t code = sp_quantized__get(in, i);

		code = code > low ? code : low;
		sp_quantized__put(call->out[0], i, code < high ? code : high);
	}
	return sp_quantized__put_range(call, 1, range);
}

#define LAYER_OP(op, outs, prepare_fn, run_fn) \
	const sp_op sp_op_##op = {             \
		.name = #op, .outputs = outs, .prepare = prepare_fn, .run = run_fn}

LAYER_OP(QuantizedBiasAdd, "output min_out max_out", prepare_bias, run_bias);
LAYER_OP(QuantizedMatMul, "out min_out max_out", prepare_matmul, run_matmul);
LAYER_OP(QuantizedRelu, "activations min_activations max_activations", prepare_relu, run_relu);
LAYER_OP(QuantizedRelu6, "activations min_activations max_activations", prepare_relu_6, run_relu);
LAYER_OP(QuantizedReluX, "activations min_activations max_activations", prepare_relu_x, run_relu);
