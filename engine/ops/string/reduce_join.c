#include "engine/ops/string/text.h"

#include "base/size.h"

#include <string.h>

/*
 * Joins the elements along the reduced axes.  The first axis in the given order varies fastest.  An
 * axis may have length 0.
 */

typedef struct state {
	bool keep_dims;
	sp_bytes separator;
} state;

/* A set of axes with their strides. */
typedef struct axes {
	int count;
	int64_t dims[SP_MAX_RANK];
	int64_t strides[SP_MAX_RANK];
} axes;

static void add_axis(axes *a, int64_t dim, int64_t stride)
{
	a->dims[a->count] = dim;
	a->strides[a->count] = stride;
	a->count++;
}

/* The next index in row-major order; returns the change of the offset. */
static int64_t step(const axes *a, int64_t index[SP_MAX_RANK])
{
	int64_t change = 0;

	for (int i = a->count - 1; i >= 0; i--) {
		change += a->strides[i];
		if (++index[i] < a->dims[i])
			break;
		change -= a->strides[i] * a->dims[i];
		index[i] = 0;
	}
	return change;
}

static sp_status prepare_reduce_join(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	SP_NEED_MEMORY(s, err, "ReduceJoin");
	SP_TRY(sp_node_attr_bool(prepare->node, "keep_dims", false, &s->keep_dims, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "separator", "", &s->separator, err));
	return sp_prepare_types(prepare, "string int32 -> string", err);
}

/*
 * Splits the axes: reduced ones into *joined in the given order, all others into *kept and *shape.
 */
static sp_status sort_axes(const sp_call *call, axes *joined, axes *kept, sp_shape *shape)
{
	const state *s = call->state;
	const sp_shape *in = &call->in[0]->shape;
	bool reduced[SP_MAX_RANK] = {false};
	int64_t strides[SP_MAX_RANK];
	uint64_t stride = 1; /* may wrap, but only when there are no elements */

	for (int axis = in->rank - 1; axis >= 0; axis--) {
		strides[axis] = (int64_t)stride;
		stride *= (uint64_t)in->dims[axis];
	}
	for (size_t i = call->in[1]->count; i-- > 0;) {
		int axis;

		SP_TRY(sp_call_axis(call, sp_tensor_i32(call->in[1])[i], in->rank, &axis));
		if (reduced[axis])
			return sp_call_invalid(call, "reduction axis %d is given twice", axis);
		reduced[axis] = true;
		add_axis(joined, in->dims[axis], strides[axis]);
	}
	shape->rank = 0;
	for (int axis = 0; axis < in->rank; axis++) {
		if (!reduced[axis])
			add_axis(kept, in->dims[axis], strides[axis]);
		if (!reduced[axis] || s->keep_dims)
			shape->dims[shape->rank++] = reduced[axis] ? 1 : in->dims[axis];
	}
	return SP_OK;
}

static sp_status join_along(sp_text_pool *pool, const sp_bytes *from, const axes *joined,
			    size_t count, sp_bytes separator, sp_bytes *out)
{
	int64_t index[SP_MAX_RANK] = {0}, at = 0;
	size_t size;
	char *text;

	if (!sp_size_mul(&size, count > 0 ? count - 1 : 0, separator.size))
		return sp_call_no_memory(pool->call);
	for (size_t i = 0; i < count; i++, at += step(joined, index))
		if (!sp_size_add(&size, size, from[at].size))
			return sp_call_no_memory(pool->call);
	text = sp_text_pool_take(pool, size);
	if (text == NULL)
		return sp_call_no_memory(pool->call);
	*out = (sp_bytes){text, size};
	at = 0;
	for (size_t i = 0; i < count; i++, at += step(joined, index)) {
		if (i > 0 && separator.size > 0)
			text = mempcpy(text, separator.data, separator.size);
		if (from[at].size > 0)
			text = mempcpy(text, from[at].data, from[at].size);
	}
	return SP_OK;
}

static sp_status run_reduce_join(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *in = sp_tensor_strings(call->in[0]);
	sp_text_pool pool = {.call = call};
	axes joined = {0}, kept = {0};
	int64_t index[SP_MAX_RANK] = {0}, at = 0;
	size_t count = 1;
	sp_shape shape;

	if (call->in[1]->count == 0) {
		sp_call_forward(call, 0, 0, &call->in[0]->shape);
		return SP_OK;
	}
	SP_TRY(sort_axes(call, &joined, &kept, &shape));
	SP_TRY(sp_call_output(call, 0, SP_STRING, &shape));
	if (call->in[0]->count ==
	    0) { /* a reduced axis has length 0: there are no elements to join */
		for (size_t i = 0; i < call->out[0]->count; i++)
			sp_tensor_strings(call->out[0])[i] = (sp_bytes){"", 0};
		return SP_OK;
	}
	for (int i = 0; i < joined.count; i++)
		count *= (size_t)joined.dims[i];
	for (size_t i = 0; i < call->out[0]->count; i++, at += step(&kept, index))
		SP_TRY(join_along(&pool, in + at, &joined, count, s->separator,
				  &sp_tensor_strings(call->out[0])[i]));
	return SP_OK;
}

SP_DEFINE_OP(ReduceJoin, "output", 0, prepare_reduce_join, run_reduce_join);
