#include "base/size.h"
#include "engine/ops/ops.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * ConcatV2, Concat: joins tensors along an axis, which is the last input of ConcatV2 and the first
 * of Concat.  ConcatOffset: the offset of each tensor in the result.
 */

typedef struct concat_state {
	size_t axis;  /* its input */
	size_t first; /* of the values */
	size_t last;  /* past the last value */
} concat_state;

static sp_status prepare_concat(sp_prepare *prepare, sp_error *err)
{
	concat_state *state = sp_prepare_state(prepare, sizeof(*state));
	bool axis_first = prepare->node->op == &sp_op_Concat;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, axis_first ? "index E+ -> E" : "E+ index -> E", err));
	state->axis = axis_first ? 0 : prepare->in_count - 1;
	state->first = axis_first ? 1 : 0;
	state->last = axis_first ? prepare->in_count : prepare->in_count - 1;
	return SP_OK;
}

/* The output's shape: the first value's, with the sum of all sizes along the axis. */
static sp_status join_shapes(const sp_call *call, const concat_state *state, sp_shape *out,
			     int *axis)
{
	char text[SP_SHAPE_TEXT_SIZE], other_text[SP_SHAPE_TEXT_SIZE];
	int64_t wanted;

	SP_TRY(sp_call_scalar(call, state->axis, &wanted));
	*out = call->in[state->first]->shape;
	SP_TRY(sp_call_axis(call, wanted, out->rank, axis));
	for (size_t i = state->first + 1; i < state->last; i++) {
		const sp_shape *shape = &call->in[i]->shape;
		bool fits = shape->rank == out->rank;

		for (int d = 0; fits && d < out->rank; d++)
			fits = d == *axis || shape->dims[d] == out->dims[d];
		if (!fits)
			return sp_call_invalid(
				call, "%s and %s do not join along axis %d (values 0 and %zu)",
				sp_shape_text(&call->in[state->first]->shape, text),
				sp_shape_text(shape, other_text), *axis, i - state->first);
		if (!sp_i64_add(&out->dims[*axis], out->dims[*axis], shape->dims[*axis]))
			return sp_call_invalid(call, "the joined dimension is too large");
	}
	return SP_OK;
}

/* The only value that is not empty, or `last`. */
static size_t only_value(const sp_call *call, const concat_state *state, size_t count)
{
	for (size_t i = state->first; i < state->last; i++)
		if (call->in[i]->count == count && count != 0)
			return i;
	return state->last;
}

static sp_status run_concat(const sp_call *call)
{
	const concat_state *state = call->state;
	const sp_tensor *out = call->out[0];
	size_t size = sp_dtype_size(call->in[state->first]->dtype), count, only;
	sp_shape shape;
	int64_t outer, inner, row, at = 0;
	int axis;

	SP_TRY(join_shapes(call, state, &shape, &axis));
	if (sp_shape_count(&shape, &count)) {
		only = only_value(call, state, count);
		if (only != state->last) {
			sp_array__pass(call, 0, only);
			return SP_OK;
		}
	}
	SP_TRY(sp_call_output(call, 0, call->in[state->first]->dtype, &shape));
	if (out->count == 0)
		return SP_OK;
	outer = sp_shape_product(&shape, 0, axis);
	inner = sp_shape_product(&shape, axis + 1, shape.rank) * (int64_t)size;
	row = shape.dims[axis] * inner;
	for (size_t i = state->first; i < state->last; i++) {
		int64_t part = call->in[i]->shape.dims[axis] * inner;
		sp_strided_copy plan = {.rank = 1, .dims = {outer}, .to = {row}, .from = {part}};

		if (part != 0)
			sp_strided_copy__run(&plan, (char *)out->data + at, call->in[i]->data,
					     (size_t)part);
		at += part;
	}
	return SP_OK;
}

/* ------------------------------------------------------------ ConcatOffset */

static sp_status prepare_offset(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_types(prepare, "int32 I I+", err));
	return sp_prepare_outputs(prepare, prepare->in_count - 1, prepare->in_dtypes[1], err);
}

/* Checks that shape i + 1 agrees with the first one except along the axis. */
static sp_status check_offset_shape(const sp_call *call, size_t i, int axis)
{
	const sp_tensor *first = call->in[1], *shape = call->in[i];

	SP_TRY(sp_call_need_rank(call, i, 1));
	if (shape->count != first->count)
		return sp_call_invalid(call, "shape %zu has %zu dimensions, the first %zu", i - 1,
				       shape->count, first->count);
	for (size_t d = 0; d < first->count; d++)
		if ((int)d != axis && sp_tensor_index(shape, d) != sp_tensor_index(first, d))
			return sp_call_invalid(call, "dimension %zu of shape %zu is %lld, not %lld",
					       d, i - 1, (long long)sp_tensor_index(shape, d),
					       (long long)sp_tensor_index(first, d));
	return SP_OK;
}

static sp_status run_offset(const sp_call *call)
{
	const sp_tensor *first = call->in[1];
	int64_t wanted, offset = 0;
	int axis;

	SP_TRY(sp_call_need_rank(call, 0, 0));
	SP_TRY(sp_call_scalar(call, 0, &wanted));
	SP_TRY(sp_call_need_rank(call, 1, 1));
	SP_TRY(sp_array__rank(call, (int64_t)first->count));
	SP_TRY(sp_call_axis(call, wanted, (int)first->count, &axis));
	for (size_t i = 1; i < call->in_count; i++) {
		const sp_tensor *out = call->out[i - 1];

		SP_TRY(check_offset_shape(call, i, axis));
		SP_TRY(sp_call_output(call, i - 1, first->dtype, &first->shape));
		for (size_t d = 0; d < first->count; d++)
			sp_array__put_index(out, d, (int)d == axis ? offset : 0);
		if (!sp_i64_add(&offset, offset, sp_tensor_index(call->in[i], (size_t)axis)) ||
		    (first->dtype == SP_INT32 && (offset > INT32_MAX || offset < INT32_MIN)))
			return sp_call_invalid(call, "the offsets are too large");
	}
	return SP_OK;
}

SP_DEFINE_OP(Concat, NULL, 0, prepare_concat, run_concat);
SP_DEFINE_OP(ConcatOffset, "offset:N", 0, prepare_offset, run_offset);
SP_DEFINE_OP(ConcatV2, NULL, 0, prepare_concat, run_concat);
