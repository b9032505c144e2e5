#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * XlaDynamicSlice: `size_indices` elements from `start_indices` on, along each dimension.
 * XlaDynamicUpdateSlice: the input with `update` written at `indices`.
 *
 * A start is clamped so that all elements fit.  Keras 3 writes these for ops.slice_update().
 */

/* Checks that input i has one number per dimension of input 0. */
static sp_status need_index(const sp_call *call, size_t i)
{
	SP_TRY(sp_call_need_rank(call, i, 1));
	if (call->in[i]->count != (size_t)call->in[0]->shape.rank)
		return sp_call_invalid(call, "input %zu has %zu elements for rank %d", i,
				       call->in[i]->count, call->in[0]->shape.rank);
	return SP_OK;
}

/*
 * The byte offset of `part` in input 0 for the start indices of input i, clamped to fit; SP_INVALID
 * when `part` is larger than input 0.
 */
static sp_status find_start(const sp_call *call, size_t i, const sp_shape *part,
			    const int64_t *strides, int64_t *offset)
{
	*offset = 0;
	for (int d = 0; d < part->rank; d++) {
		int64_t start = sp_tensor_index(call->in[i], (size_t)d);
		int64_t dim = call->in[0]->shape.dims[d];

		if (part->dims[d] < 0 || part->dims[d] > dim)
			return sp_call_invalid(call, "%lld elements of %lld in dimension %d",
					       (long long)part->dims[d], (long long)dim, d);
		if (start > dim - part->dims[d])
			start = dim - part->dims[d];
		if (start > 0)
			*offset += start * strides[d];
	}
	return SP_OK;
}

static sp_status run_slice(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	sp_shape shape = {.rank = in->shape.rank};
	sp_strided_copy strided = {.rank = in->shape.rank};
	int64_t offset;

	SP_TRY(need_index(call, 1));
	SP_TRY(need_index(call, 2));
	for (int d = 0; d < shape.rank; d++)
		strided.dims[d] = shape.dims[d] = sp_tensor_index(call->in[2], (size_t)d);
	sp_strided_copy__strides(&in->shape, size, strided.from);
	SP_TRY(find_start(call, 1, &shape, strided.from, &offset));
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	sp_strided_copy__strides(&shape, size, strided.to);
	sp_strided_copy__run(&strided, call->out[0]->data, (const char *)in->data + offset, size);
	return SP_OK;
}

static sp_status run_update(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *update = call->in[1];
	size_t size = sp_dtype_size(in->dtype);
	sp_strided_copy strided = {.rank = in->shape.rank};
	int64_t offset;

	SP_TRY(sp_call_need_rank(call, 1, in->shape.rank));
	SP_TRY(need_index(call, 2));
	sp_strided_copy__strides(&in->shape, size, strided.to);
	SP_TRY(find_start(call, 2, &update->shape, strided.to, &offset));
	SP_TRY(sp_array__take_over(call, in->data == update->data));
	if (update->count == 0)
		return SP_OK;
	for (int d = 0; d < strided.rank; d++)
		strided.dims[d] = update->shape.dims[d];
	sp_strided_copy__strides(&update->shape, size, strided.from);
	sp_strided_copy__run(&strided, (char *)call->out[0]->data + offset, update->data, size);
	return SP_OK;
}

SP_DEFINE_TYPED_OP(XlaDynamicSlice, NULL, 0, "E I I -> E", run_slice);
SP_DEFINE_TYPED_OP(XlaDynamicUpdateSlice, NULL, 0, "E E index -> E", run_update);
