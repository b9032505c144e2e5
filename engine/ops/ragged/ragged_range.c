#include "engine/graph/op.h"

#include <math.h>

#include "engine/ops/array/array.h"
#include "engine/ops/ragged/ragged.h"

/*
 * RaggedRange: row i counts from starts[i] to limits[i], exclusive, in steps of deltas[i].
 *
 * Numerics: floats are accumulated step by step, as in TensorFlow.  Integer ranges whose length
 * overflows in TensorFlow's arithmetic are counted correctly.
 */
typedef struct bounds {
	const sp_tensor *in[3]; /* starts, limits, deltas */
} bounds;

/* Element `row` of a vector, or the one element of a scalar. */
static size_t at(const sp_tensor *t, size_t row)
{
	return sp_tensor_is_scalar(t) ? 0 : row;
}

static double get_float(const sp_tensor *t, size_t row)
{
	return t->dtype == SP_FLOAT ? (double)sp_tensor_f32(t)[at(t, row)]
				    : sp_tensor_f64(t)[at(t, row)];
}

static int64_t get_integer(const sp_tensor *t, size_t row)
{
	return sp_tensor_index(t, at(t, row));
}

static sp_status count_integers(const sp_call *call, const bounds *b, size_t row, int64_t *out)
{
	int64_t start = get_integer(b->in[0], row), limit = get_integer(b->in[1], row);
	int64_t delta = get_integer(b->in[2], row);
	uint64_t distance, step, count;

	*out = 0;
	if (delta == 0)
		return sp_call_invalid(call, "requires delta != 0");
	if (delta > 0 ? start >= limit : start <= limit)
		return SP_OK;
	distance = delta > 0 ? (uint64_t)limit - (uint64_t)start
			     : (uint64_t)start - (uint64_t)limit;
	step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
	count = (distance - 1) / step + 1;
	if (count > INT64_MAX)
		return sp_call_invalid(call, "row %zu of the range is too long", row);
	*out = (int64_t)count;
	return SP_OK;
}

static sp_status count_floats(const sp_call *call, const bounds *b, size_t row, int64_t *out)
{
	double start = get_float(b->in[0], row), limit = get_float(b->in[1], row);
	double delta = get_float(b->in[2], row), count;

	*out = 0;
	if (delta == 0)
		return sp_call_invalid(call, "requires delta != 0");
	if ((delta > 0 && start >= limit) || (delta < 0 && start <= limit))
		return SP_OK;
	/* Computed in the element type, like the values. */
	if (b->in[0]->dtype == SP_FLOAT)
		count = (double)ceilf(fabsf(((float)limit - (float)start) / (float)delta));
	else
		count = ceil(fabs((limit - start) / delta));
	if (!(count < 0x1p63))
		return sp_call_invalid(call, "requires ((limit - start) / delta) <= %lld",
				       (long long)INT64_MAX);
	*out = (int64_t)count;
	return SP_OK;
}

static void write_row(const bounds *b, size_t row, sp_tensor *out, int64_t first, int64_t end)
{
	uint64_t integer, step;

	if (out->dtype == SP_FLOAT) {
		float value = (float)get_float(b->in[0], row);
		float delta = (float)get_float(b->in[2], row);

		for (int64_t i = first; i < end; i++, value += delta)
			sp_tensor_f32(out)[i] = value;
		return;
	}
	if (out->dtype == SP_DOUBLE) {
		double value = get_float(b->in[0], row), delta = get_float(b->in[2], row);

		for (int64_t i = first; i < end; i++, value += delta)
			sp_tensor_f64(out)[i] = value;
		return;
	}
	integer = (uint64_t)get_integer(b->in[0], row);
	step = (uint64_t)get_integer(b->in[2], row);
	for (int64_t i = first; i < end; i++, integer += step)
		sp_array__put_index(out, (size_t)i, (int64_t)integer);
}

static sp_status read_bounds(const sp_call *call, bounds *b, size_t *rows)
{
	bool found = false;

	*rows = 1;
	for (size_t i = 0; i < 3; i++) {
		b->in[i] = call->in[i];
		if (b->in[i]->shape.rank > 1)
			return sp_call_invalid(call, "input of rank %d, not a scalar or a vector",
					       b->in[i]->shape.rank);
		if (sp_tensor_is_scalar(b->in[i]))
			continue;
		if (found && b->in[i]->count != *rows)
			return sp_call_invalid(call, "inputs differ: %zu and %zu elements", *rows,
					       b->in[i]->count);
		*rows = b->in[i]->count;
		found = true;
	}
	return SP_OK;
}

static sp_status run_range(const sp_call *call)
{
	const sp_dtype *splits_dtype = call->state;
	sp_dtype dtype = call->in[0]->dtype;
	size_t rows;
	bounds b;

	SP_TRY(read_bounds(call, &b, &rows));
	SP_TRY(sp_splits__create(call, 0, *splits_dtype, rows));
	for (size_t row = 0; row < rows; row++) {
		int64_t length;

		SP_TRY(sp_dtype_is_floating(dtype) ? count_floats(call, &b, row, &length)
						   : count_integers(call, &b, row, &length));
		SP_TRY(sp_splits__append(call, 0, row, length));
	}
	SP_TRY(sp_call_output_vector(call, 1, dtype, sp_tensor_index(call->out[0], rows)));
	for (size_t row = 0; row < rows; row++)
		write_row(&b, row, call->out[1], sp_tensor_index(call->out[0], row),
			  sp_tensor_index(call->out[0], row + 1));
	return SP_OK;
}

static sp_status prepare_range(sp_prepare *prepare, sp_error *err)
{
	sp_dtype *splits_dtype = sp_prepare_state(prepare, sizeof(*splits_dtype));
	sp_dtype dtype;

	SP_NEED_MEMORY(splits_dtype, err, "RaggedRange");
	SP_TRY(sp_prepare_types(prepare, "N N N", err));
	dtype = prepare->in_dtypes[0];
	SP_TRY(sp_node_attr_type(prepare->node, "Tsplits", SP_INT64, splits_dtype, err));
	if (*splits_dtype != SP_INT32 && *splits_dtype != SP_INT64)
		return sp_prepare_unsupported(prepare, *splits_dtype, err);
	SP_TRY(sp_prepare_outputs(prepare, 2, dtype, err));
	prepare->out_dtypes[0] = *splits_dtype;
	return SP_OK;
}

SP_DEFINE_OP(RaggedRange, "rt_nested_splits rt_dense_values", 0, prepare_range, run_range);
