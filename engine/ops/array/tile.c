#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * Tile: the input repeated `multiples[d]` times along each dimension.  BroadcastTo: the input
 * broadcast to a shape.  BroadcastArgs: the shape that two shapes broadcast to.
 */

/*
 * A tiled dimension becomes two dimensions of the plan: the repeats, with stride 0 in the input,
 * and the elements.
 */
static void copy_tiles(const sp_tensor *out, const sp_tensor *in)
{
	size_t size = sp_dtype_size(in->dtype);
	int64_t to[SP_MAX_RANK], from[SP_MAX_RANK];
	sp_strided_copy plan = {.rank = 0};

	sp_strided_copy__strides(&out->shape, size, to);
	sp_strided_copy__strides(&in->shape, size, from);
	for (int d = 0; d < in->shape.rank; d++) {
		int64_t dim = in->shape.dims[d];

		sp_strided_copy__add(&plan, out->shape.dims[d] / dim, dim * to[d], 0);
		sp_strided_copy__add(&plan, dim, to[d], from[d]);
	}
	sp_strided_copy__run(&plan, out->data, in->data, size);
}

static sp_status run_tile(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *multiples = call->in[1];
	sp_shape shape = {.rank = in->shape.rank};

	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (multiples->count != (size_t)shape.rank)
		return sp_call_invalid(call, "%zu multiples for rank %d", multiples->count,
				       shape.rank);
	for (int d = 0; d < shape.rank; d++) {
		int64_t multiple = sp_tensor_index(multiples, (size_t)d);

		if (multiple < 0)
			return sp_call_invalid(call, "multiples[%d] is %lld", d,
					       (long long)multiple);
		if (!sp_i64_mul(&shape.dims[d], in->shape.dims[d], multiple))
			return sp_call_invalid(call, "%lld times %lld is too large",
					       (long long)in->shape.dims[d], (long long)multiple);
	}
	if (sp_shape_equal(&shape, &in->shape)) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count != 0)
		copy_tiles(call->out[0], in);
	return SP_OK;
}

static sp_status run_broadcast_to(const sp_call *call)
{
	char text[SP_SHAPE_TEXT_SIZE], to_text[SP_SHAPE_TEXT_SIZE];
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	int64_t from[SP_MAX_RANK];
	sp_shape shape;
	sp_strided_copy plan = {.rank = 0};
	int lead;

	SP_TRY(sp_array__shape(call, 1, false, &shape));
	lead = shape.rank - in->shape.rank;
	for (int d = lead; d < shape.rank; d++)
		if (lead < 0 ||
		    (in->shape.dims[d - lead] != 1 && in->shape.dims[d - lead] != shape.dims[d]))
			return sp_call_invalid(call, "shape %s cannot be broadcast to %s",
					       sp_shape_text(&in->shape, text),
					       sp_shape_text(&shape, to_text));
	if (sp_shape_equal(&shape, &in->shape)) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	sp_strided_copy__strides(&in->shape, size, from);
	sp_strided_copy__strides(&shape, size, plan.to);
	plan.rank = shape.rank;
	for (int d = 0; d < shape.rank; d++) {
		bool repeats = d < lead || in->shape.dims[d - lead] == 1;

		plan.dims[d] = shape.dims[d];
		plan.from[d] = repeats ? 0 : from[d - lead];
	}
	sp_strided_copy__run(&plan, call->out[0]->data, in->data, size);
	return SP_OK;
}

/* ----------------------------------------------------------- BroadcastArgs */

static sp_status run_args(const sp_call *call)
{
	const sp_tensor *a = call->in[0], *b = call->in[1];
	size_t rank = a->count > b->count ? a->count : b->count;

	SP_TRY(sp_call_need_rank(call, 0, 1));
	SP_TRY(sp_call_need_rank(call, 1, 1));
	SP_TRY(sp_call_output_vector(call, 0, a->dtype, (int64_t)rank));
	for (size_t i = 1; i <= rank; i++) { /* from the last dimension to the first */
		int64_t x = i <= a->count ? sp_tensor_index(a, a->count - i) : 1;
		int64_t y = i <= b->count ? sp_tensor_index(b, b->count - i) : 1;

		if (x != y && x != 1 && y != 1)
			return sp_call_invalid(call, "dimensions %lld and %lld do not broadcast",
					       (long long)x, (long long)y);
		sp_array__put_index(call->out[0], rank - i, x != 1 ? x : y);
	}
	return SP_OK;
}

/* --------------------------------------------------- BroadcastGradientArgs */

/* The i-th dimension from the end. */
static int64_t dim_from_end(const sp_tensor *shape, size_t i)
{
	return i < shape->count ? sp_tensor_index(shape, shape->count - 1 - i) : 1;
}

static sp_status run_gradient_args(const sp_call *call)
{
	const sp_tensor *in[2] = {call->in[0], call->in[1]};
	size_t rank = in[0]->count > in[1]->count ? in[0]->count : in[1]->count;
	bool same = in[0]->count == in[1]->count;

	SP_TRY(sp_call_need_rank(call, 0, 1));
	SP_TRY(sp_call_need_rank(call, 1, 1));
	for (size_t i = 0; i < rank; i++) {
		int64_t x = dim_from_end(in[0], i), y = dim_from_end(in[1], i);

		same = same && x == y;
		if (x != y && x != 1 && y != 1)
			return sp_call_invalid(call, "dimensions %lld and %lld do not broadcast",
					       (long long)x, (long long)y);
	}
	for (size_t k = 0; k < 2; k++) {
		sp_shape shape = sp_shape_vector(0);
		size_t at = 0;

		for (size_t i = 0; i < rank && !same; i++)
			shape.dims[0] += dim_from_end(in[k], i) == 1;
		SP_TRY(sp_call_output(call, k, in[0]->dtype, &shape));
		for (size_t i = rank; i-- > 0 && !same;)
			if (dim_from_end(in[k], i) == 1)
				sp_array__put_index(call->out[k], at++, (int64_t)(rank - 1 - i));
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(BroadcastGradientArgs, "r0 r1", 0, "I I -> I I", run_gradient_args);
SP_DEFINE_TYPED_OP(BroadcastArgs, NULL, 0, "I I -> I", run_args);
SP_DEFINE_TYPED_OP(BroadcastTo, NULL, SP_OP_MOVES, "E index -> E", run_broadcast_to);
SP_DEFINE_TYPED_OP(Tile, NULL, SP_OP_MOVES, "E index -> E", run_tile);
