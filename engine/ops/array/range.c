#include <math.h>

#include "engine/ops/array/array.h"

/*
 * Range: start, start + delta, ..., excluding limit.  LinSpace: `num` numbers from start to stop,
 * both included.  Both for float and double, Range also for int32 and int64.
 *
 * Numerics: element i is start + i * delta in the element type, as in TensorFlow; LinSpace ends at
 * stop exactly.
 */

/* The difference of two int64, which may need 64 unsigned bits. */
static uint64_t distance(int64_t a, int64_t b)
{
	return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

static sp_status run_int_range(const sp_call *call)
{
	int64_t start = sp_tensor_index(call->in[0], 0), limit = sp_tensor_index(call->in[1], 0);
	int64_t delta = sp_tensor_index(call->in[2], 0);
	sp_dtype dtype = call->in[0]->dtype;
	uint64_t range = distance(start, limit), step = distance(delta, 0), count;

	if (delta == 0)
		return sp_call_invalid(call, "delta is 0");
	if (delta > 0 ? start > limit : start < limit)
		return sp_call_invalid(call, "a range from %lld to %lld in steps of %lld",
				       (long long)start, (long long)limit, (long long)delta);
	count = range / step + (range % step != 0);
	if (count > INT64_MAX)
		return sp_call_invalid(call, "a range of %llu numbers is too large",
				       (unsigned long long)count);
	SP_TRY(sp_call_output_vector(call, 0, dtype, (int64_t)count));
	if (dtype == SP_INT32) {
		int32_t *out = sp_tensor_i32(call->out[0]);

		for (size_t i = 0; i < count; i++)
			out[i] = (int32_t)(start + (int64_t)i * delta);
	} else {
		int64_t *out = sp_tensor_i64(call->out[0]);

		for (size_t i = 0; i < count; i++)
			out[i] = (int64_t)((uint64_t)start + i * (uint64_t)delta);
	}
	return SP_OK;
}

/* `count` is |limit - start| / delta in the element type, rounded up. */
static sp_status make_float_range(const sp_call *call, double start, double limit, double delta,
				  double count)
{
	sp_shape shape;

	if (delta == 0)
		return sp_call_invalid(call, "delta is 0");
	if (delta > 0 ? start > limit : start < limit)
		return sp_call_invalid(call, "a range from %g to %g in steps of %g", start, limit,
				       delta);
	if (!(count < 0x1p62)) /* true for NaN, too */
		return sp_call_invalid(call,
				       "a range from %g to %g in steps of %g is not countable",
				       start, limit, delta);
	shape = sp_shape_vector((int64_t)count);
	return sp_call_output(call, 0, call->in[0]->dtype, &shape);
}

static sp_status run_range(const sp_call *call)
{
	const void *start = call->in[0]->data, *limit = call->in[1]->data;
	const void *delta = call->in[2]->data;

	for (size_t i = 0; i < 3; i++)
		SP_TRY(sp_call_need_scalar(call, i));
	if (call->in[0]->dtype == SP_FLOAT) {
		float value = *(const float *)start, end = *(const float *)limit;
		float step = *(const float *)delta;

		SP_TRY(make_float_range(call, value, end, step,
					ceilf(fabsf((end - value) / step))));
		for (size_t i = 0; i < call->out[0]->count; i++)
			sp_tensor_f32(call->out[0])[i] = value + (float)i * step;
		return SP_OK;
	}
	if (call->in[0]->dtype == SP_DOUBLE) {
		double value = *(const double *)start, end = *(const double *)limit;
		double step = *(const double *)delta;

		SP_TRY(make_float_range(call, value, end, step, ceil(fabs((end - value) / step))));
		for (size_t i = 0; i < call->out[0]->count; i++)
			sp_tensor_f64(call->out[0])[i] = value + (double)i * step;
		return SP_OK;
	}
	return run_int_range(call);
}

/* ---------------------------------------------------------------- LinSpace */

static sp_status prepare_linspace(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_types(prepare, "T T index -> T", err));
	if (prepare->in_dtypes[0] != SP_FLOAT && prepare->in_dtypes[0] != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return SP_OK;
}

static void fill_f32(float *out, int64_t n, float start, float stop)
{
	float step = n > 1 ? (stop - start) / (float)(n - 1) : 0;

	out[0] = start;
	for (int64_t i = 1; i < n - 1; i++)
		out[i] = start + step * (float)i;
	if (n > 1)
		out[n - 1] = stop;
}

static void fill_f64(double *out, int64_t n, double start, double stop)
{
	double step = n > 1 ? (stop - start) / (double)(n - 1) : 0;

	out[0] = start;
	for (int64_t i = 1; i < n - 1; i++)
		out[i] = start + step * (double)i;
	if (n > 1)
		out[n - 1] = stop;
}

static sp_status run_linspace(const sp_call *call)
{
	const sp_tensor *start = call->in[0], *stop = call->in[1];
	int64_t n;

	for (size_t i = 0; i < 3; i++)
		SP_TRY(sp_call_need_scalar(call, i));
	n = sp_tensor_index(call->in[2], 0);
	if (n <= 0)
		return sp_call_invalid(call, "num is %lld, not above 0", (long long)n);
	SP_TRY(sp_call_output_vector(call, 0, start->dtype, n));
	if (start->dtype == SP_FLOAT)
		fill_f32(call->out[0]->data, n, *sp_tensor_f32(start), *sp_tensor_f32(stop));
	else
		fill_f64(call->out[0]->data, n, *sp_tensor_f64(start), *sp_tensor_f64(stop));
	return SP_OK;
}

SP_DEFINE_OP(LinSpace, NULL, 0, prepare_linspace, run_linspace);
SP_DEFINE_TYPED_OP(Range, NULL, 0, "N N N -> N", run_range);
