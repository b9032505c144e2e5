#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/ops/array/elements.h"

/*
 * StridedSlice: x[begin:end:stride, ...] with all features of Python's indexing.
 * StridedSliceGrad: zeros or empty strings of a given shape, with the slice replaced by a tensor.
 *
 * The specification is a list of entries, each of which has one number in `begin`, `end` and
 * `stride`; five masks say what entry i (bit i) means:
 *
 *   ellipsis     all dimensions that the other entries leave over; without an
 *                ellipsis there is one at the end
 *   new axis     a dimension of 1 that the input does not have
 *   shrink axis  x[begin]: one element; the dimension is removed
 *   begin, end   that bound is open
 *
 * in that order of precedence.
 */

enum { MAX_ENTRIES = 31 }; /* the bits of TensorFlow's int32 masks */

typedef struct slice_state {
	int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
} slice_state;

typedef struct slice_plan {
	const sp_shape *in;   /* of the input */
	sp_shape shape;       /* of the slice */
	sp_strided_copy plan; /* one dimension per dimension of the input */
	int64_t offset;       /* of the first element, in bytes */
	int dim;              /* the next dimension of the input */
	bool reversed;
} slice_plan;

static bool has_bit(int64_t mask, size_t i)
{
	return mask >> i & 1;
}

static sp_status prepare_any(sp_prepare *prepare, const char *types, sp_error *err)
{
	slice_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_node *node = prepare->node;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, types, err));
	SP_TRY(sp_node_attr_int(node, "begin_mask", 0, &state->begin_mask, err));
	SP_TRY(sp_node_attr_int(node, "end_mask", 0, &state->end_mask, err));
	SP_TRY(sp_node_attr_int(node, "ellipsis_mask", 0, &state->ellipsis_mask, err));
	SP_TRY(sp_node_attr_int(node, "new_axis_mask", 0, &state->new_axis_mask, err));
	SP_TRY(sp_node_attr_int(node, "shrink_axis_mask", 0, &state->shrink_mask, err));
	if (__builtin_popcountll((unsigned long long)state->ellipsis_mask) > 1)
		return sp_error_set(err, SP_INVALID, "more than one ellipsis in a slice");
	return SP_OK;
}

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, "E S S S -> E", err);
}

/* Adds a dimension to the slice. */
static sp_status add_output(const sp_call *call, slice_plan *plan, int64_t size)
{
	SP_TRY(sp_array__rank(call, plan->shape.rank + 1));
	plan->shape.dims[plan->shape.rank++] = size;
	return SP_OK;
}

/* Takes `size` elements, `stride` apart, from `begin` on along the next dimension of the input. */
static void add_box(slice_plan *plan, int64_t begin, int64_t size, int64_t stride)
{
	int d = plan->dim++;

	plan->offset += begin * plan->plan.from[d];
	plan->plan.dims[d] = size;
	/* The stride of a single element may be so large that the product overflows. */
	plan->plan.from[d] = size > 1 ? plan->plan.from[d] * stride : 0;
	plan->reversed |= size > 1 && stride < 0;
}

static sp_status add_whole(const sp_call *call, slice_plan *plan)
{
	int64_t dim = plan->in->dims[plan->dim];

	SP_TRY(add_output(call, plan, dim));
	add_box(plan, 0, dim, 1);
	return SP_OK;
}

static sp_status add_single(const sp_call *call, slice_plan *plan, int64_t begin)
{
	int64_t dim = plan->in->dims[plan->dim];
	int64_t at = begin < 0 ? begin + dim : begin;

	if (at < 0 || at >= dim)
		return sp_call_invalid(call, "slice index %lld is not in dimension %d of %lld",
				       (long long)begin, plan->dim, (long long)dim);
	add_box(plan, at, 1, 1);
	return SP_OK;
}

/* A bound of a range: counted from the end if negative, then clamped. */
static int64_t bound(int64_t value, int64_t dim, int64_t low, int64_t high)
{
	if (value < 0)
		value += dim;
	return value < low ? low : value > high ? high : value;
}

static sp_status add_range(const sp_call *call, slice_plan *plan, size_t i, int64_t stride)
{
	const slice_state *state = call->state;
	int64_t dim = plan->in->dims[plan->dim];
	/* With a negative stride the bounds may be -1: before the first element. */
	int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
	int64_t begin = bound(sp_element__integer(call->in[1], i), dim, low, high);
	int64_t end = bound(sp_element__integer(call->in[2], i), dim, low, high);
	int64_t length, size = 0;

	if (has_bit(state->begin_mask, i))
		begin = stride > 0 ? low : high;
	if (has_bit(state->end_mask, i))
		end = stride > 0 ? high : low;
	length = end - begin;
	if (length != 0 && (length < 0) == (stride < 0))
		size = length / stride + (length % stride != 0);
	SP_TRY(add_output(call, plan, size));
	add_box(plan, size != 0 ? begin : 0, size, stride);
	return SP_OK;
}

static sp_status add_entry(const sp_call *call, slice_plan *plan, size_t i)
{
	const slice_state *state = call->state;
	int64_t stride = sp_element__integer(call->in[3], i);

	if (plan->dim == plan->in->rank)
		return sp_call_invalid(call, "the slice has more dimensions than the input's %d",
				       plan->dim);
	if (stride == 0)
		return sp_call_invalid(call, "strides[%zu] is 0", i);
	if (!has_bit(state->shrink_mask, i))
		return add_range(call, plan, i, stride);
	if (stride < 0)
		return sp_call_invalid(call, "strides[%zu] is %lld where a single index requires 1",
				       i, (long long)stride);
	return add_single(call, plan, sp_element__integer(call->in[1], i));
}

/* The number of dimensions that the ellipsis at entry i covers. */
static int ellipsis_dims(const slice_state *state, size_t i, size_t entries, const slice_plan *plan,
			 int rank)
{
	int taken = plan->dim;

	for (size_t j = i + 1; j < entries; j++)
		taken += !has_bit(state->new_axis_mask, j);
	return taken < rank ? rank - taken : 0;
}

static sp_status make_plan(const sp_call *call, slice_plan *plan)
{
	const slice_state *state = call->state;
	size_t entries = call->in[1]->count;
	int rank = plan->in->rank;

	for (size_t i = 0; i < entries; i++) {
		if (has_bit(state->ellipsis_mask, i)) {
			for (int n = ellipsis_dims(state, i, entries, plan, rank); n > 0; n--)
				SP_TRY(add_whole(call, plan));
		} else if (has_bit(state->new_axis_mask, i)) {
			SP_TRY(add_output(call, plan, 1));
		} else {
			SP_TRY(add_entry(call, plan, i));
		}
	}
	while (plan->dim < rank)
		SP_TRY(add_whole(call, plan));
	return SP_OK;
}

static sp_status check_entries(const sp_call *call)
{
	for (size_t i = 1; i <= 3; i++)
		SP_TRY(sp_call_need_rank(call, i, 1));
	if (call->in[2]->count != call->in[1]->count || call->in[3]->count != call->in[1]->count)
		return sp_call_invalid(call,
				       "begin, end and strides have %zu, %zu and %zu elements",
				       call->in[1]->count, call->in[2]->count, call->in[3]->count);
	if (call->in[1]->count > MAX_ENTRIES)
		return sp_call_invalid(call, "a slice of %zu entries", call->in[1]->count);
	return SP_OK;
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype), count;
	slice_plan plan = {.in = &in->shape, .plan.rank = in->shape.rank};
	sp_shape taken = {.rank = in->shape.rank};

	SP_TRY(check_entries(call));
	sp_strided_copy__strides(&in->shape, size, plan.plan.from);
	SP_TRY(make_plan(call, &plan));
	/* All elements in their order: only the shape may differ. */
	if (!plan.reversed && sp_shape_count(&plan.shape, &count) && count == in->count) {
		sp_call_forward(call, 0, 0, &plan.shape);
		return SP_OK;
	}
	SP_TRY(sp_call_output(call, 0, in->dtype, &plan.shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	memcpy(taken.dims, plan.plan.dims, sizeof(taken.dims));
	sp_strided_copy__strides(&taken, size, plan.plan.to);
	sp_strided_copy__run(&plan.plan, call->out[0]->data, (const char *)in->data + plan.offset,
			     size);
	return SP_OK;
}

/* ----------------------------------------------------------------- gradient */

static sp_status prepare_gradient(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, "index S S S E -> E", err);
}

static sp_status run_gradient(const sp_call *call)
{
	static const char zeros[16] = {0};
	const sp_bytes empty = {"", 0};
	const sp_tensor *dy = call->in[4];
	size_t size = sp_dtype_size(dy->dtype);
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];
	sp_shape shape, taken;
	slice_plan plan = {.in = &shape};

	SP_TRY(sp_array__shape(call, 0, false, &shape));
	SP_TRY(check_entries(call));
	plan.plan.rank = shape.rank;
	SP_TRY(sp_call_output(call, 0, dy->dtype, &shape));
	sp_strided_copy__strides(&shape, size, plan.plan.from);
	SP_TRY(make_plan(call, &plan));
	if (!sp_shape_equal(&plan.shape, &dy->shape))
		return sp_call_invalid(call, "shape of dy was %s instead of %s",
				       sp_shape_text(&dy->shape, a), sp_shape_text(&plan.shape, b));
	if (call->out[0]->count != 0)
		sp_elements__fill(call->out[0]->data, call->out[0]->count,
				  dy->dtype == SP_STRING ? (const void *)&empty : zeros, size);
	if (dy->count == 0)
		return SP_OK;
	memcpy(plan.plan.to, plan.plan.from, sizeof(plan.plan.to));
	taken.rank = shape.rank;
	memcpy(taken.dims, plan.plan.dims, sizeof(taken.dims));
	sp_strided_copy__strides(&taken, size, plan.plan.from);
	sp_strided_copy__run(&plan.plan, (char *)call->out[0]->data + plan.offset, dy->data, size);
	return SP_OK;
}

SP_DEFINE_OP(StridedSliceGrad, NULL, 0, prepare_gradient, run_gradient);
SP_DEFINE_OP(StridedSlice, NULL, SP_OP_MOVES, prepare, run);
