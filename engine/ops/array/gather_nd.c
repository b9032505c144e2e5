#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/array/nd_index.h"

/*
 * GatherNd: the elements, or whole slices, that indices of several dimensions
 * select.
 *
 *     params  [p0, p1, ...]
 *     indices [picks..., k]              k <= rank of params
 *     output  [picks..., pk, pk+1, ...]
 */

static sp_status run(const sp_call *call)
{
	const sp_tensor *params = call->in[0], *indices = call->in[1];
	char text[SP_SHAPE_TEXT_SIZE];
	sp_nd_index index;
	sp_shape shape;
	size_t row;
	int rest;

	if (params->shape.rank == 0)
		return sp_call_invalid(call, "params must be at least a vector");
	SP_TRY(sp_nd_index__make(&index, call, 1, &params->shape));
	rest = params->shape.rank - index.depth;
	SP_TRY(sp_array__rank(call, indices->shape.rank - 1 + rest));
	shape = indices->shape;
	shape.rank--;
	memcpy(shape.dims + shape.rank, params->shape.dims + index.depth,
	       (size_t)rest * sizeof(shape.dims[0]));
	shape.rank += rest;
	if (index.count != 0 && params->count == 0)
		return sp_call_invalid(call, "%zu picks from params of shape %s", index.count,
				       sp_shape_text(&params->shape, text));
	SP_TRY(sp_call_output(call, 0, params->dtype, &shape));
	row = index.row_count * sp_dtype_size(params->dtype);
	for (size_t i = 0; i < index.count; i++) {
		size_t at;

		SP_TRY(sp_nd_index__at(&index, call, i, &at));
		memcpy((char *)call->out[0]->data + i * row, (const char *)params->data + at * row,
		       row);
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(GatherNd, NULL, SP_OP_MOVES, "E S -> E", run);
