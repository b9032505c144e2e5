#include <math.h>

#include "engine/kernels/float_functions.h"
#include "engine/kernels/float_rows.h"
#include "engine/kernels/narrow.h"
#include "engine/ops/ops.h"

/*
 * Softmax and LogSoftmax along the last dimension:
 *
 *     y[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x)     and its logarithm
 *
 * Numerics: double in double, the others in float; half and bfloat16 round once.  With u = 2^-24
 * the relative error of Softmax is at most (n / 32 + 8) * u, the absolute error of LogSoftmax that
 * times the largest |x - max x| + 1.
 */
typedef void row_fn(const float *x, float *y, float *powers, size_t count);
typedef void double_fn(const double *x, double *y, size_t count);

typedef struct softmax_state {
	row_fn *row;
	double_fn *doubles;
} softmax_state;

static void softmax_row(const float *x, float *y, float *powers, size_t count)
{
	float factor;

	(void)powers;
	sp_float_shift(x, y, count);
	sp_float_exp(y, y, count);
	factor = 1 / sp_float_sum(y, count);
	for (size_t i = 0; i < count; i++)
		y[i] *= factor;
}

static void log_softmax_row(const float *x, float *y, float *powers, size_t count)
{
	float logarithm;

	sp_float_shift(x, y, count);
	sp_float_exp(y, powers, count);
	logarithm = logf(sp_float_sum(powers, count));
	for (size_t i = 0; i < count; i++)
		y[i] -= logarithm;
}

static double largest(const double *x, size_t count)
{
	double most = -INFINITY;

	for (size_t i = 0; i < count; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

static void softmax_doubles(const double *x, double *y, size_t count)
{
	double most = largest(x, count), sum = 0;

	for (size_t i = 0; i < count; i++) {
		y[i] = exp(x[i] - most);
		sum += y[i];
	}
	for (size_t i = 0; i < count; i++)
		y[i] /= sum;
}

static void log_softmax_doubles(const double *x, double *y, size_t count)
{
	double most = largest(x, count), sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += exp(x[i] - most);
	for (size_t i = 0; i < count; i++)
		y[i] = x[i] - most - log(sum);
}

static sp_status prepare_rows(sp_prepare *prepare, sp_error *err)
{
	softmax_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	*state = prepare->node->op == &sp_op_Softmax
			 ? (softmax_state){softmax_row, softmax_doubles}
			 : (softmax_state){log_softmax_row, log_softmax_doubles};
	return sp_prepare_types(prepare, "F -> F", err);
}

static sp_status run_rows(const sp_call *call)
{
	const softmax_state *state = call->state;
	const sp_tensor *in = call->in[0];
	sp_tensor *out;
	size_t width;
	float *scratch;

	if (in->shape.rank == 0)
		return sp_call_invalid(call, "the logits must not be a scalar");
	SP_TRY(sp_call_output_over(call, 0, 0, in->dtype));
	out = call->out[0];
	if (in->count == 0)
		return SP_OK;
	width = (size_t)in->shape.dims[in->shape.rank - 1];
	SP_CALL_ARRAY(scratch, call, 2 * width);
	for (size_t i = 0; i < in->count; i += width)
		if (in->dtype == SP_FLOAT) {
			state->row(sp_tensor_f32(in) + i, sp_tensor_f32(out) + i, scratch, width);
		} else if (in->dtype == SP_DOUBLE) {
			state->doubles(sp_tensor_f64(in) + i, sp_tensor_f64(out) + i, width);
		} else {
			sp_widen_find(in->dtype)((const uint16_t *)in->data + i, scratch, width);
			state->row(scratch, scratch, scratch + width, width);
			sp_narrow_find(in->dtype)(scratch, (uint16_t *)out->data + i, width);
		}
	return SP_OK;
}

SP_DEFINE_OP(Softmax, NULL, 0, prepare_rows, run_rows);
SP_DEFINE_OP(LogSoftmax, NULL, 0, prepare_rows, run_rows);
