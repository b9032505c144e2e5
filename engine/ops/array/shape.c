#include "engine/ops/array/array.h"

/*
 * Shape, ShapeN, Size, Rank, for any element type.  `out_type` is int32 by default; a dimension
 * that does not fit is an error.
 */

static sp_status prepare_shapes(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	if (prepare->in_count == 0)
		return sp_prepare_inputs(prepare, 1, err);
	SP_TRY(sp_array__index_type(prepare, "out_type", SP_INT32, &dtype, err));
	SP_TRY(sp_prepare_outputs(prepare, prepare->in_count, dtype, err));
	prepare->state = prepare->out_dtypes;
	return SP_OK;
}

static sp_status prepare_one(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	return prepare_shapes(prepare, err);
}

static sp_status check_fits(const sp_call *call, sp_dtype dtype, int64_t value)
{
	if (dtype == SP_INT64 || value <= INT32_MAX)
		return SP_OK;
	return sp_call_invalid(call, "%lld does not fit the int32 output", (long long)value);
}

/* The prepared output types are the state. */
static sp_dtype out_dtype(const sp_call *call)
{
	return *(const sp_dtype *)call->state;
}

static sp_status run_shapes(const sp_call *call)
{
	for (size_t i = 0; i < call->out_count; i++) {
		const sp_shape *in = &call->in[i]->shape;

		SP_TRY(sp_call_output_vector(call, i, out_dtype(call), in->rank));
		for (int d = 0; d < in->rank; d++) {
			SP_TRY(check_fits(call, out_dtype(call), in->dims[d]));
			sp_array__put_index(call->out[i], (size_t)d, in->dims[d]);
		}
	}
	return SP_OK;
}

static sp_status run_size(const sp_call *call)
{
	SP_TRY(sp_call_output_scalar(call, 0, out_dtype(call)));
	SP_TRY(check_fits(call, out_dtype(call), (int64_t)call->in[0]->count));
	sp_array__put_index(call->out[0], 0, (int64_t)call->in[0]->count);
	return SP_OK;
}

static sp_status run_rank(const sp_call *call)
{
	SP_TRY(sp_call_output_scalar(call, 0, SP_INT32));
	sp_tensor_i32(call->out[0])[0] = call->in[0]->shape.rank;
	return SP_OK;
}

SP_DEFINE_TYPED_OP(Rank, NULL, 0, "T -> int32", run_rank);
SP_DEFINE_OP(Shape, NULL, 0, prepare_one, run_shapes);
SP_DEFINE_OP(ShapeN, "output:N", 0, prepare_shapes, run_shapes);
SP_DEFINE_OP(Size, NULL, 0, prepare_one, run_size);
