#include <math.h>
#include <string.h>

#include "engine/kernels/float_functions.h"
#include "engine/ops/array.h"
#include "engine/ops/cells.h"
#include "engine/ops/gemm.h"

/*
 * LRN, local response normalisation over neighbouring channels of [batch, rows,
 * columns, channels]:
 *
 *     y[c] = x[c] / (bias + alpha * sum over |k - c| <= depth_radius of x[k]^2)^beta
 *
 * Numerics: float has TensorFlow's bits: the sums are those of a product (engine/ops/gemm.h), or,
 * of more channels than 384 where beta is 1 or 1/2, slide along a row; the power is taken as
 * kernels/float_functions.h has it.  Sums of more than 384 channels for another beta are in
 * order, which is not TensorFlow's: with s their n terms, within n * 2^-24 * s.  Half computes in
 * float and is rounded at the end, where TensorFlow rounds every step.
 */
typedef struct lrn_state {
	int64_t radius;
	float bias, alpha, beta;
} lrn_state;

/* ----------------------------------------------------------------- half */

static void run_row(const lrn_state *state, const uint16_t *x, uint16_t *y, int64_t channels)
{
	for (int64_t c = 0; c < channels; c++) {
		int64_t first = c > state->radius ? c - state->radius : 0;
		int64_t last = channels - c > state->radius ? c + state->radius + 1 : channels;
		float sum = 0;

		for (int64_t k = first; k < last; k++)
			sum += SP_LOAD_f16(x[k]) * SP_LOAD_f16(x[k]);
		y[c] = SP_STORE_f16(SP_LOAD_f16(x[c]) /
				    powf(state->bias + state->alpha * sum, state->beta));
	}
}

/* ----------------------------------------------------------------- float */

/* Of more channels sums slide along a row where no logarithm is needed. */
enum { MULTIPLIED = 384 };

/* bias + alpha * the sums, as a product of the squares and a matrix of ones around its diagonal. */
static sp_status multiply(const sp_call *call, size_t rows, size_t channels, float *scales)
{
	const lrn_state *state = call->state;
	const float *x = call->in[0]->data;
	size_t radius = (size_t)state->radius;
	float *squares = sp_call_bytes(call, rows * channels, sizeof(*squares));
	float *band = sp_call_bytes(call, channels * channels, sizeof(*band));
	sp_gemm product = {.m = rows,
			   .n = channels,
			   .k = channels,
			   .a = squares,
			   .a_row = channels,
			   .a_column = 1,
			   .b = band,
			   .b_row = channels,
			   .b_column = 1,
			   .c = scales};

	if (squares == NULL || band == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < rows * channels; i++)
		squares[i] = x[i] * x[i];
	for (size_t i = 0; i < channels; i++)
		for (size_t j = 0; j < channels; j++)
			band[i * channels + j] = i <= j + radius && j <= i + radius;
	sp_gemm__float(&product);
	for (size_t i = 0; i < rows * channels; i++)
		scales[i] = scales[i] * state->alpha + state->bias;
	return SP_OK;
}

/* The same with one sum that gains and loses terms; the row has zeros on either side. */
static sp_status slide(const sp_call *call, size_t rows, size_t channels, float *scales)
{
	const lrn_state *state = call->state;
	const float *x = call->in[0]->data;
	size_t radius = state->radius < (int64_t)channels ? (size_t)state->radius : channels;
	float *padded = sp_call_bytes(call, channels + 2 * radius, sizeof(*padded));

	if (padded == NULL)
		return sp_call_no_memory(call);
	memset(padded, 0, (channels + 2 * radius) * sizeof(*padded));
	for (size_t r = 0; r < rows; r++, x += channels, scales += channels) {
		float sum = 0;

		for (size_t c = 0; c < channels; c++)
			padded[radius + c] = x[c] * x[c] * state->alpha;
		for (size_t c = 0; c < 2 * radius; c++)
			sum += padded[c];
		for (size_t c = 0; c < channels; c++) {
			sum += padded[c + 2 * radius];
			scales[c] = state->bias + sum;
			sum -= padded[c];
		}
	}
	return SP_OK;
}

/* And each sum by itself. */
static void add_up(const sp_call *call, size_t rows, size_t channels, float *scales)
{
	const lrn_state *state = call->state;
	const float *x = call->in[0]->data;
	size_t radius = (size_t)state->radius;

	for (size_t r = 0; r < rows; r++, x += channels, scales += channels)
		for (size_t c = 0; c < channels; c++) {
			size_t first = c > radius ? c - radius : 0;
			size_t last = channels - c > radius ? c + radius + 1 : channels;
			float sum = 0;

			for (size_t k = first; k < last; k++)
				sum += x[k] * x[k];
			scales[c] = sum * state->alpha + state->bias;
		}
}

static sp_status run_floats(const sp_call *call, size_t channels)
{
	const lrn_state *state = call->state;
	const float *x = call->in[0]->data;
	size_t count = call->in[0]->count, rows = count / channels;
	bool simple = state->beta == 1 || state->beta == 0.5F;
	float *y = call->out[0]->data;

	if (channels <= MULTIPLIED)
		SP_TRY(multiply(call, rows, channels, y));
	else if (simple)
		SP_TRY(slide(call, rows, channels, y));
	else
		add_up(call, rows, channels, y);
	if (state->beta == 1) {
		sp_float_reciprocal(y, y, count);
	} else if (state->beta == 0.5F) {
		sp_float_rsqrt(y, y, count);
	} else {
		sp_float_log(y, y, count);
		for (size_t i = 0; i < count; i++)
			y[i] *= -state->beta;
		sp_float_exp(y, y, count);
	}
	for (size_t i = 0; i < count; i++)
		y[i] = x[i] * y[i];
	return SP_OK;
}

/* ------------------------------------------------------------------- run */

static sp_status prepare_lrn(sp_prepare *prepare, sp_error *err)
{
	lrn_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	dtype = prepare->in_dtypes[0];
	if (dtype != SP_FLOAT && dtype != SP_HALF)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_node_attr_int(prepare->node, "depth_radius", 5, &state->radius, err));
	SP_TRY(sp_node_attr_float(prepare->node, "bias", 1, &state->bias, err));
	SP_TRY(sp_node_attr_float(prepare->node, "alpha", 1, &state->alpha, err));
	SP_TRY(sp_node_attr_float(prepare->node, "beta", 0.5F, &state->beta, err));
	if (state->radius < 0 || state->radius > INT32_MAX)
		return sp_error_set(err, SP_INVALID, "depth_radius %lld is out of range",
				    (long long)state->radius);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status run_lrn(const sp_call *call)
{
	const lrn_state *state = call->state;
	const sp_tensor *in = call->in[0];
	int64_t channels;

	SP_TRY(sp_array__need_rank(call, 0, 4));
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	channels = in->shape.dims[3];
	if (in->count != 0 && in->dtype == SP_FLOAT)
		return run_floats(call, (size_t)channels);
	for (size_t i = 0; i < in->count; i += (size_t)channels)
		run_row(state, (const uint16_t *)in->data + i, (uint16_t *)call->out[0]->data + i,
			channels);
	return SP_OK;
}

const sp_op sp_op_LRN = {.name = "LRN", .prepare = prepare_lrn, .run = run_lrn};
