#include "engine/ops/array/array.h"

/*
 * UnravelIndex: converts flat indices into a tensor of shape `dims` to coordinates: [rank, count],
 * or [rank] for a scalar.  A negative index is divided as in C: its coordinates are zero or
 * negative.
 */
static sp_status prepare_unravel(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_array__prepare(prepare, 2, err));
	SP_TRY(sp_prepare_input_index(prepare, 0, err));
	return sp_prepare_input_dtype(prepare, 1, prepare->in_dtypes[0], err);
}

static sp_status check(const sp_call *call, int64_t *total)
{
	const sp_tensor *indices = call->in[0], *dims = call->in[1];

	if (indices->shape.rank > 1)
		return sp_call_invalid(call, "indices must be a scalar or a vector");
	SP_TRY(sp_array__need_rank(call, 1, 1));
	*total = 1;
	for (size_t d = 0; d < dims->count; d++)
		if (sp_tensor_index(dims, d) <= 0 ||
		    __builtin_mul_overflow(*total, sp_tensor_index(dims, d), total))
			return sp_call_invalid(call, "dimension %zu is %lld", d,
					       (long long)sp_tensor_index(dims, d));
	for (size_t i = 0; i < indices->count; i++)
		if (sp_tensor_index(indices, i) >= *total)
			return sp_call_invalid(call, "index %zu is %lld of %lld elements", i,
					       (long long)sp_tensor_index(indices, i),
					       (long long)*total);
	return SP_OK;
}

static sp_status run_unravel(const sp_call *call)
{
	const sp_tensor *indices = call->in[0], *dims = call->in[1];
	sp_shape shape = sp_shape_vector((int64_t)dims->count);
	int64_t total;

	SP_TRY(check(call, &total));
	if (indices->shape.rank == 1)
		shape = sp_shape_matrix((int64_t)dims->count, (int64_t)indices->count);
	SP_TRY(sp_call_output(call, 0, indices->dtype, &shape));
	for (size_t i = 0; i < indices->count; i++) {
		int64_t rest = sp_tensor_index(indices, i);

		for (size_t d = dims->count; d-- > 0; rest /= sp_tensor_index(dims, d))
			sp_array__put_index(call->out[0], d * indices->count + i,
					    rest % sp_tensor_index(dims, d));
	}
	return SP_OK;
}

SP_DEFINE_OP(UnravelIndex, NULL, 0, prepare_unravel, run_unravel);
