#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * Transpose: dimension d of the output is dimension perm[d] of the input.  ConjugateTranspose also
 * conjugates complex numbers.
 */

static sp_status read_permutation(const sp_call *call, int rank, int perm[SP_MAX_RANK])
{
	bool used[SP_MAX_RANK] = {false};

	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (call->in[1]->count != (size_t)rank)
		return sp_call_invalid(call, "a permutation of %zu for rank %d", call->in[1]->count,
				       rank);
	for (int d = 0; d < rank; d++) {
		int64_t from = sp_tensor_index(call->in[1], (size_t)d);

		if (from < 0 || from >= rank || used[from])
			return sp_call_invalid(call,
					       "perm[%d] is %lld: not a permutation of rank %d", d,
					       (long long)from, rank);
		used[from] = true;
		perm[d] = (int)from;
	}
	return SP_OK;
}

static sp_status run_transpose(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	int rank = in->shape.rank, perm[SP_MAX_RANK], last = -1;
	int64_t from[SP_MAX_RANK];
	sp_shape shape = {.rank = rank};
	sp_strided_copy plan = {.rank = rank};
	bool in_order = true;

	SP_TRY(read_permutation(call, rank, perm));
	for (int d = 0; d < rank; d++) {
		shape.dims[d] = plan.dims[d] = in->shape.dims[perm[d]];
		if (shape.dims[d] != 1) { /* dimensions of 1 do not affect the order */
			in_order &= perm[d] > last;
			last = perm[d];
		}
	}
	if (in_order) {
		sp_call_forward(call, 0, 0, &shape);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	sp_strided_copy__strides(&in->shape, size, from);
	sp_strided_copy__strides(&shape, size, plan.to);
	for (int d = 0; d < rank; d++)
		plan.from[d] = from[perm[d]];
	sp_strided_copy__run(&plan, call->out[0]->data, in->data, size);
	return SP_OK;
}

/* Negates the imaginary part of every element. */
static void conjugate(void *to, const void *from, size_t count, sp_dtype dtype)
{
	for (size_t i = 0; i < 2 * count; i++)
		if (dtype == SP_COMPLEX64)
			((float *)to)[i] = i % 2 == 0 ? ((const float *)from)[i]
						      : -((const float *)from)[i];
		else
			((double *)to)[i] = i % 2 == 0 ? ((const double *)from)[i]
						       : -((const double *)from)[i];
}

static sp_status run_conjugate(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *out = call->out[0];
	const void *from;
	sp_shape shape;

	SP_TRY(run_transpose(call));
	if (in->dtype != SP_COMPLEX64 && in->dtype != SP_COMPLEX128)
		return SP_OK;
	from = out->data;
	if (from == in->data) { /* only the shape changes */
		shape = out->shape;
		sp_workspace_release(call->workspace, call->out[0]);
		SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	}
	conjugate(out->data, from, out->count, in->dtype);
	return SP_OK;
}

SP_DEFINE_TYPED_OP(ConjugateTranspose, NULL, 0, "E index -> E", run_conjugate);
SP_DEFINE_TYPED_OP(Transpose, NULL, 0, "E index -> E", run_transpose);
