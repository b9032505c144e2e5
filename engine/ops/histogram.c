#include <math.h>
#include <string.h>

#include "engine/ops.h"
#include "engine/ops/cells.h"

/*
 * HistogramFixedWidth: how many values lie in each of nbins bins of one width
 * between the two ends of value_range; what lies outside counts in the first or
 * the last bin, and what is no number is an error.
 *
 * Numerics: differences in the values' type (of integers they are exact), the
 * division in double.
 *
 * Source: HistogramFixedWidth of TensorFlow 2.15 on CPU, by its answers.
 */

/* The bins of `count` values; `bins` is not empty, low < high. */
typedef void bin_fn(const void *values, const void *range, size_t count, size_t bins, size_t *out);

#define BIN(type, T, ABOVE)                                                                      \
	static void bin_##type(const void *values, const void *range, size_t count, size_t bins, \
			       size_t *out)                                                      \
	{                                                                                        \
		const T *x = values, *ends = range;                                              \
		T low = ends[0];                                                                 \
		double step = (double)ABOVE(ends[1], low) / (double)bins;                        \
		double last = (double)(bins - 1);                                                \
                                                                                                 \
		for (size_t i = 0; i < count; i++) {                                             \
			double at = x[i] > low ? (double)ABOVE(x[i], low) / step : 0;            \
                                                                                                 \
			out[i] = (size_t)(at < last ? at : last);                                \
		}                                                                                \
	}

#define DIFFERENCE(a, b) ((a) - (b))
#define DISTANCE(a, b)   ((uint64_t)(a) - (uint64_t)(b))

BIN(f32, float, DIFFERENCE)
BIN(f64, double, DIFFERENCE)
BIN(i32, int32_t, DISTANCE)
BIN(i64, int64_t, DISTANCE)

typedef struct histogram_state {
	bin_fn *bin;
	sp_dtype dtype;
} histogram_state;

static bool is_ascending(const sp_tensor *range)
{
	switch (range->dtype) {
	case SP_FLOAT:
		return sp_tensor_f32(range)[0] < sp_tensor_f32(range)[1];
	case SP_DOUBLE:
		return sp_tensor_f64(range)[0] < sp_tensor_f64(range)[1];
	default:
		return sp_tensor_index(range, 0) < sp_tensor_index(range, 1);
	}
}

static bool has_nan(const sp_tensor *values)
{
	if (values->dtype == SP_FLOAT)
		for (size_t i = 0; i < values->count; i++)
			if (isnan(sp_tensor_f32(values)[i]))
				return true;
	if (values->dtype == SP_DOUBLE)
		for (size_t i = 0; i < values->count; i++)
			if (isnan(sp_tensor_f64(values)[i]))
				return true;
	return false;
}

static sp_status check_inputs(const sp_call *call)
{
	const sp_tensor *range = call->in[1], *bins = call->in[2];

	if (range->shape.rank != 1 || range->count != 2)
		return sp_call_invalid(call, "value_range must be a vector of 2 elements");
	if (!is_ascending(range))
		return sp_call_invalid(call, "value_range must be ascending");
	if (!sp_tensor_is_scalar(bins))
		return sp_call_invalid(call, "nbins must be a scalar");
	if (sp_tensor_i32(bins)[0] <= 0)
		return sp_call_invalid(call, "nbins must be positive, not %d",
				       (int)sp_tensor_i32(bins)[0]);
	if (has_nan(call->in[0]))
		return sp_call_invalid(call, "values must not contain NaN");
	return SP_OK;
}

static sp_status run_histogram(const sp_call *call)
{
	const histogram_state *state = call->state;
	size_t count = call->in[0]->count, *at;
	sp_shape shape;

	SP_TRY(check_inputs(call));
	shape = sp_shape_vector(sp_tensor_i32(call->in[2])[0]);
	SP_TRY(sp_call_output(call, 0, state->dtype, &shape));
	memset(call->out[0]->data, 0, call->out[0]->count * sp_dtype_size(state->dtype));
	at = sp_call_bytes(call, count, sizeof(*at));
	if (at == NULL)
		return sp_call_no_memory(call);
	state->bin(call->in[0]->data, call->in[1]->data, count, call->out[0]->count, at);
	for (size_t i = 0; i < count; i++) {
		if (state->dtype == SP_INT32)
			sp_tensor_i32(call->out[0])[at[i]]++;
		else
			sp_tensor_i64(call->out[0])[at[i]]++;
	}
	return SP_OK;
}

static sp_status prepare_histogram(sp_prepare *prepare, sp_error *err)
{
	static bin_fn *const kernels[SP_DTYPE_COUNT] = {[SP_FLOAT] = bin_f32,
							[SP_DOUBLE] = bin_f64,
							[SP_INT32] = bin_i32,
							[SP_INT64] = bin_i64};
	histogram_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a histogram");
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, prepare->in_dtypes[0], err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_INT32, err));
	SP_TRY(sp_node_attr_type(prepare->node, "dtype", SP_INT32, &state->dtype, err));
	if (state->dtype != SP_INT32 && state->dtype != SP_INT64)
		return sp_prepare_unsupported(prepare, state->dtype, err);
	state->bin = kernels[prepare->in_dtypes[0]];
	if (state->bin == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

const sp_op sp_op_HistogramFixedWidth = {
	.name = "HistogramFixedWidth",
	.prepare = prepare_histogram,
	.run = run_histogram,
};
