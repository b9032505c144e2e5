#include <string.h>

#include "engine/ops/array/array.h"

/*
 * DynamicStitch: merged[indices[m][i]] = data[m][i], for N pairs of tensors; the output has one row
 * more than the largest index.  A later value overwrites an earlier one; ParallelDynamicStitch
 * leaves the order open and does the same here.
 *
 * A row that no index names is zero; TensorFlow leaves it undefined.
 *
 * Inputs: indices 0 ... N - 1 (int32), data 0 ... N - 1.
 */

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	size_t n = prepare->in_count / 2;

	if (n == 0 || prepare->in_count % 2 != 0)
		return sp_error_set(err, SP_INVALID, "%s of %zu inputs", prepare->node->op_name,
				    prepare->in_count);
	for (size_t i = 0; i < n; i++) {
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_INT32, err));
		SP_TRY(sp_prepare_input_dtype(prepare, n + i, prepare->in_dtypes[n], err));
	}
	SP_TRY(sp_array__movable(prepare, prepare->in_dtypes[n], err));
	return sp_prepare_outputs(prepare, 1, prepare->in_dtypes[n], err);
}

static sp_status misfit(const sp_call *call, size_t m)
{
	char text[SP_SHAPE_TEXT_SIZE], other_text[SP_SHAPE_TEXT_SIZE];

	return sp_call_invalid(call, "data %zu of %s does not fit indices of %s or data 0", m,
			       sp_shape_text(&call->in[call->in_count / 2 + m]->shape, text),
			       sp_shape_text(&call->in[m]->shape, other_text));
}

/* The shape of a row of data m; checks that its first dimensions are those of the indices. */
static sp_status row_shape(const sp_call *call, size_t m, sp_shape *row)
{
	const sp_shape *indices = &call->in[m]->shape;
	const sp_shape *data = &call->in[call->in_count / 2 + m]->shape;

	if (indices->rank > data->rank)
		return misfit(call, m);
	for (int d = 0; d < indices->rank; d++)
		if (indices->dims[d] != data->dims[d])
			return misfit(call, m);
	row->rank = data->rank - indices->rank;
	memcpy(row->dims, data->dims + indices->rank, (size_t)row->rank * sizeof(row->dims[0]));
	return SP_OK;
}

/* The output's shape: one more than the largest index, then a row. */
static sp_status out_shape(const sp_call *call, sp_shape *out)
{
	sp_shape row = {.rank = 0}, other;
	int32_t largest = -1;

	for (size_t m = 0; m < call->in_count / 2; m++) {
		const int32_t *indices = sp_tensor_i32(call->in[m]);

		SP_TRY(row_shape(call, m, m == 0 ? &row : &other));
		if (m != 0 && !sp_shape_equal(&row, &other))
			return misfit(call, m);
		for (size_t i = 0; i < call->in[m]->count; i++) {
			if (indices[i] < 0)
				return sp_call_invalid(call, "indices[%zu] of input %zu is %d", i,
						       m, indices[i]);
			largest = indices[i] > largest ? indices[i] : largest;
		}
	}
	SP_TRY(sp_array__rank(call, row.rank + 1));
	out->rank = row.rank + 1;
	out->dims[0] = (int64_t)largest + 1;
	memcpy(out->dims + 1, row.dims, (size_t)row.rank * sizeof(row.dims[0]));
	return SP_OK;
}

static sp_status run(const sp_call *call)
{
	size_t n = call->in_count / 2, size = sp_dtype_size(call->in[n]->dtype), row;
	const sp_tensor *out = call->out[0];
	sp_shape shape;

	SP_TRY(out_shape(call, &shape));
	SP_TRY(sp_call_output(call, 0, call->in[n]->dtype, &shape));
	if (out->count == 0)
		return SP_OK;
	memset(out->data, 0, out->count * size);
	row = (size_t)sp_shape_product(&shape, 1, shape.rank) * size;
	for (size_t m = 0; m < n; m++) {
		const int32_t *indices = sp_tensor_i32(call->in[m]);
		const char *data = call->in[n + m]->data;

		for (size_t i = 0; i < call->in[m]->count; i++)
			memcpy((char *)out->data + (size_t)indices[i] * row, data + i * row, row);
	}
	return SP_OK;
}

SP_DEFINE_OP(DynamicStitch, NULL, SP_OP_MOVES, prepare, run);
SP_DEFINE_OP(ParallelDynamicStitch, NULL, SP_OP_MOVES, prepare, run);
