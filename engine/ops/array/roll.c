#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/* Roll: every element moves `shift` positions along `axis`, cyclically. */

/* How far each dimension is rolled, in [0, dim). */
static sp_status read_shifts(const sp_call *call, int64_t shifts[SP_MAX_RANK])
{
	const sp_shape *in = &call->in[0]->shape;
	const sp_tensor *shift = call->in[1], *axes = call->in[2];

	if (in->rank == 0)
		return sp_call_invalid(call, "a scalar cannot be rolled");
	if (shift->shape.rank > 1 || !sp_shape_equal(&shift->shape, &axes->shape))
		return sp_call_invalid(call,
				       "shift and axis are no scalars or vectors of one size");
	for (size_t i = 0; i < shift->count; i++) {
		int64_t dim, by;
		int axis;

		SP_TRY(sp_call_axis(call, sp_tensor_index(axes, i), in->rank, &axis));
		dim = in->dims[axis] > 0 ? in->dims[axis] : 1;
		by = sp_tensor_index(shift, i) % dim;
		if (by < 0)
			by += dim;
		shifts[axis] = by < dim - shifts[axis] ? shifts[axis] + by
						       : by - (dim - shifts[axis]);
	}
	return SP_OK;
}

/*
 * Rolling a dimension swaps its two pieces, so the input is copied in 2^k parts: bit d of `pieces`
 * selects the piece of dimension d.
 */
static void copy_piece(const sp_call *call, const int64_t shifts[SP_MAX_RANK], unsigned pieces)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	char *to = call->out[0]->data;
	const char *from = in->data;
	sp_strided_copy plan = {.rank = in->shape.rank};

	sp_strided_copy__strides(&in->shape, size, plan.to);
	memcpy(plan.from, plan.to, sizeof(plan.from));
	for (int d = 0; d < plan.rank; d++) {
		int64_t dim = in->shape.dims[d], shift = shifts[d];

		if (pieces >> d & 1) { /* the tail, which comes first */
			plan.dims[d] = shift;
			from += (dim - shift) * plan.from[d];
		} else {
			plan.dims[d] = dim - shift;
			to += shift * plan.to[d];
		}
	}
	sp_strided_copy__run(&plan, to, from, size);
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	int64_t shifts[SP_MAX_RANK] = {0};
	unsigned rolled = 0;

	SP_TRY(read_shifts(call, shifts));
	for (int d = 0; d < in->shape.rank; d++)
		rolled |= (unsigned)(shifts[d] != 0) << d;
	if (rolled == 0) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	if (in->count == 0)
		return SP_OK;
	/* Enumerates the subsets of the rolled dimensions. */
	for (unsigned pieces = rolled;; pieces = (pieces - 1) & rolled) {
		copy_piece(call, shifts, pieces);
		if (pieces == 0)
			return SP_OK;
	}
}

SP_DEFINE_TYPED_OP(Roll, NULL, SP_OP_MOVES, "E index index -> E", run);
