#include "engine/graph/op.h"

#include <math.h>
#include <string.h>

#include "engine/kernels/float_functions.h"
#include "engine/kernels/float_rows.h"
#include "engine/ops/sparse/sparse.h"

/*
 * SparseSoftmax: softmax over the values present in each row (values whose indices differ only in
 * the last dimension).  The result is in row-major order.
 *
 * Numerics: in the element type, after subtracting the row's maximum; half in float.
 */
static void softmax_f32(float *values, size_t count)
{
	float factor;

	sp_float_shift(values, values, count);
	sp_float_exp(values, values, count);
	factor = 1 / sp_float_sum(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] *= factor;
}

static void softmax_f64(double *values, size_t count)
{
	double largest = values[0], sum = 0;

	for (size_t i = 1; i < count; i++)
		if (values[i] > largest)
			largest = values[i];
	for (size_t i = 0; i < count; i++) {
		values[i] = exp(values[i] - largest);
		sum += values[i];
	}
	for (size_t i = 0; i < count; i++)
		values[i] /= sum;
}

static size_t row_at(const size_t *order, size_t i)
{
	return order != NULL ? order[i] : i;
}

/* The end of the row that begins at `start`. */
static size_t row_end(const sp_sparse *in, const size_t *order, size_t start)
{
	const int64_t *first = in->indices + row_at(order, start) * in->rank;
	size_t end = start + 1;

	while (end < in->count &&
	       sp_sparse__compare(first, in->indices + row_at(order, end) * in->rank,
				  in->rank - 1) == 0)
		end++;
	return end;
}

static void softmax_half(sp_tensor *out, float *scratch, size_t start, size_t end)
{
	uint16_t *values = out->data;

	for (size_t i = start; i < end; i++)
		scratch[i] = sp_half_to_float(values[i]);
	softmax_f32(scratch + start, end - start);
	for (size_t i = start; i < end; i++)
		values[i] = sp_half_from_float(scratch[i]);
}

static sp_status run_softmax(const sp_call *call)
{
	const size_t *order;
	float *scratch = NULL;
	sp_tensor *out = call->out[0];
	sp_sparse in;
	size_t size;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &in));
	if (in.rank < 2)
		return sp_call_invalid(call, "input should have rank >= 2, not %zu", in.rank);
	SP_TRY(sp_sparse__order(call, in.indices, in.count, in.rank, &order));
	SP_TRY(sp_call_output(call, 0, in.values->dtype, &in.values->shape));
	size = sp_dtype_size(out->dtype);
	for (size_t i = 0; i < in.count; i++)
		memcpy((char *)out->data + i * size,
		       (const char *)in.values->data + row_at(order, i) * size, size);
	if (out->dtype == SP_HALF)
		SP_CALL_ARRAY(scratch, call, in.count);
	for (size_t start = 0, end; start < in.count; start = end) {
		end = row_end(&in, order, start);
		if (out->dtype == SP_FLOAT)
			softmax_f32(sp_tensor_f32(out) + start, end - start);
		else if (out->dtype == SP_DOUBLE)
			softmax_f64(sp_tensor_f64(out) + start, end - start);
		else
			softmax_half(out, scratch, start, end);
	}
	return SP_OK;
}

static sp_status prepare_softmax(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_types(prepare, "int64 T int64 -> T", err));
	dtype = prepare->in_dtypes[1];
	if (dtype != SP_FLOAT && dtype != SP_DOUBLE && dtype != SP_HALF)
		return sp_prepare_unsupported(prepare, dtype, err);
	return SP_OK;
}

SP_DEFINE_OP(SparseSoftmax, NULL, 0, prepare_softmax, run_softmax);
