#include "engine/ops/array/nd_index.h"

#include <string.h>

#include "engine/ops/array/elements.h"

sp_status sp_nd_index__make(sp_nd_index *out, const sp_call *call, size_t input,
			    const sp_shape *shape)
{
	const sp_tensor *indices = call->in[input];
	char text[SP_SHAPE_TEXT_SIZE], shape_text[SP_SHAPE_TEXT_SIZE];
	int last = indices->shape.rank - 1;

	if (last < 0)
		return sp_call_invalid(call, "indices must have a dimension");
	if (indices->shape.dims[last] > shape->rank)
		return sp_call_invalid(call, "indices of shape %s do not index into shape %s",
				       sp_shape_text(&indices->shape, text),
				       sp_shape_text(shape, shape_text));
	out->indices = *indices;
	if (indices->dtype == SP_INT16) {
		const int64_t *wide;

		SP_TRY(sp_elements__widen(call, indices, &wide));
		out->indices.dtype = SP_INT64;
		out->indices.data = (void *)wide;
	}
	out->depth = (int)indices->shape.dims[last];
	out->count = (size_t)sp_shape_product(&indices->shape, 0, last);
	out->row_count = (size_t)sp_shape_product(shape, out->depth, shape->rank);
	memcpy(out->dims, shape->dims, sizeof(out->dims));
	for (int d = 0; d < out->depth; d++)
		out->strides[d] = sp_shape_product(shape, d + 1, out->depth);
	return SP_OK;
}

static sp_status out_of_range(const sp_nd_index *index, const sp_call *call, size_t i)
{
	char text[SP_SHAPE_TEXT_SIZE], shape_text[SP_SHAPE_TEXT_SIZE];
	sp_shape values = {.rank = index->depth}, shape = {.rank = index->depth};

	for (int d = 0; d < index->depth; d++) {
		values.dims[d] = sp_tensor_index(&index->indices,
						 i * (size_t)index->depth + (size_t)d);
		shape.dims[d] = index->dims[d];
	}
	return sp_call_invalid(call, "indices[%zu] is %s: it does not index into dimensions %s", i,
			       sp_shape_text(&values, text), sp_shape_text(&shape, shape_text));
}

sp_status sp_nd_index__at(const sp_nd_index *index, const sp_call *call, size_t i, size_t *row)
{
	int64_t at = 0;

	for (int d = 0; d < index->depth; d++) {
		int64_t value = sp_tensor_index(&index->indices,
						i * (size_t)index->depth + (size_t)d);

		if (value < 0 || value >= index->dims[d])
			return out_of_range(index, call, i);
		at += value * index->strides[d];
	}
	*row = (size_t)at;
	return SP_OK;
}
