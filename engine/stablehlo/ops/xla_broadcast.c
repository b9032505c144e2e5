#include "engine/ops/array/array.h"
#include "engine/stablehlo/ops/dimension_numbers.h"

/*
 * XlaBroadcastHelper: reshapes `lhs` or `rhs` so that they broadcast with each other.  Dimension i
 * of the one of lower rank becomes dimension broadcast_dims[i]; its other dimensions are 1.
 */
static sp_status prepare_broadcast(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_array__prepare(prepare, 3, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, prepare->in_dtypes[0], err));
	SP_TRY(sp_prepare_input_index(prepare, 2, err));
	return sp_prepare_outputs(prepare, 2, prepare->in_dtypes[0], err);
}

/* Reads broadcast_dims: which dimensions of `more` the dimensions of `less` become. */
static sp_status read_dims(const sp_call *call, const sp_shape *less, const sp_shape *more,
			   sp_dim_list *out)
{
	SP_TRY(sp_array__need_rank(call, 2, 1));
	if (call->in[2]->count != (size_t)less->rank)
		return sp_call_invalid(call, "%zu broadcast_dims for rank %d and rank %d",
				       call->in[2]->count, less->rank, more->rank);
	out->count = less->rank;
	for (int i = 0; i < less->rank; i++)
		out->dims[i] = sp_tensor_index(call->in[2], (size_t)i);
	return sp_dim_list__check(out, call, more->rank, "broadcast_dims");
}

static sp_status run_broadcast(const sp_call *call)
{
	const sp_shape *l = &call->in[0]->shape, *r = &call->in[1]->shape;
	size_t small = l->rank < r->rank ? 0 : 1;
	const sp_shape *less = &call->in[small]->shape, *more = &call->in[1 - small]->shape;
	sp_shape shape = {.rank = more->rank};
	sp_dim_list dims;

	if (l->rank == r->rank || less->rank == 0) {
		sp_array__pass(call, 0, 0);
		sp_array__pass(call, 1, 1);
		return SP_OK;
	}
	SP_TRY(read_dims(call, less, more, &dims));
	for (int d = 0; d < shape.rank; d++)
		shape.dims[d] = 1;
	for (int i = 0; i < less->rank; i++) {
		int64_t d = dims.dims[i];

		if (less->dims[i] != more->dims[d] && less->dims[i] != 1 && more->dims[d] != 1)
			return sp_call_invalid(call, "dimension %d of %lld does not fit %lld", i,
					       (long long)less->dims[i], (long long)more->dims[d]);
		shape.dims[d] = less->dims[i];
	}
	sp_array__pass(call, 1 - small, 1 - small);
	sp_call_forward(call, small, small, &shape);
	return SP_OK;
}

SP_DEFINE_OP(XlaBroadcastHelper, "lhs_output rhs_output", 0, prepare_broadcast, run_broadcast);
