#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/* Slice: `size` elements from `begin` on along each dimension; -1: all that are left. */

/* Reads the range of a dimension of `dim` elements: its first index and its size. */
static sp_status range_of(const sp_call *call, int d, int64_t dim, int64_t *begin, int64_t *size)
{
	*begin = sp_tensor_index(call->in[1], (size_t)d);
	*size = sp_tensor_index(call->in[2], (size_t)d);
	if (*begin < 0 || *begin > dim)
		return sp_call_invalid(call, "begin[%d] is %lld, not in [0, %lld]", d,
				       (long long)*begin, (long long)dim);
	if (*size == -1)
		*size = dim - *begin;
	if (*size < 0 || *size > dim - *begin)
		return sp_call_invalid(call, "size[%d] is %lld, not in [0, %lld]", d,
				       (long long)*size, (long long)(dim - *begin));
	return SP_OK;
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	int rank = in->shape.rank;
	size_t size = sp_dtype_size(in->dtype);
	sp_strided_copy plan = {.rank = rank};
	sp_shape shape = {.rank = rank};
	int64_t offset = 0;

	for (size_t i = 1; i <= 2; i++) {
		SP_TRY(sp_call_need_rank(call, i, 1));
		if (call->in[i]->count != (size_t)rank)
			return sp_call_invalid(call, "input %zu has %zu elements for rank %d", i,
					       call->in[i]->count, rank);
	}
	sp_strided_copy__strides(&in->shape, size, plan.from);
	for (int d = 0; d < rank; d++) {
		int64_t begin;

		SP_TRY(range_of(call, d, in->shape.dims[d], &begin, &shape.dims[d]));
		plan.dims[d] = shape.dims[d];
		offset += begin * plan.from[d];
	}
	if (sp_shape_equal(&shape, &in->shape)) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	sp_strided_copy__strides(&shape, size, plan.to);
	sp_strided_copy__run(&plan, call->out[0]->data, (const char *)in->data + offset, size);
	return SP_OK;
}

SP_DEFINE_TYPED_OP(Slice, NULL, 0, "E I I -> E", run);
