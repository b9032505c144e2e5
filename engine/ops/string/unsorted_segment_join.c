#include "engine/ops/string/text.h"

#include "base/size.h"

#include <string.h>

/*
 * UnsortedSegmentJoin: joins the strings of each segment in order, with the separator between them.
 * As in TensorFlow, a string is not preceded by a separator while the result is still empty.
 */

typedef struct state {
	sp_bytes separator;
} state;

static sp_status prepare_segment_join(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	SP_NEED_MEMORY(s, err, "UnsortedSegmentJoin");
	SP_TRY(sp_node_attr_bytes(prepare->node, "separator", "", &s->separator, err));
	return sp_prepare_types(prepare, "string index index -> string", err);
}

/* The ids cover the first axes of the input; *shape is [segments, the other axes]. */
static sp_status check_shapes(const sp_call *call, sp_shape *shape)
{
	const sp_shape *in = &call->in[0]->shape, *ids = &call->in[1]->shape;
	char text1[SP_SHAPE_TEXT_SIZE], text2[SP_SHAPE_TEXT_SIZE];
	bool covers = ids->rank >= 1 && ids->rank <= in->rank;

	for (int i = 0; covers && i < ids->rank; i++)
		covers = ids->dims[i] == in->dims[i];
	if (!covers)
		return sp_call_invalid(call,
				       "segment ids of shape %s do not cover the first axes of %s",
				       sp_shape_text(ids, text1), sp_shape_text(in, text2));
	SP_TRY(sp_call_need_rank(call, 2, 0));
	shape->rank = 1;
	shape->dims[0] = sp_tensor_index(call->in[2], 0);
	if (shape->dims[0] < 0)
		return sp_call_invalid(call, "the number of segments is negative: %lld",
				       (long long)shape->dims[0]);
	for (int i = ids->rank; i < in->rank; i++)
		shape->dims[shape->rank++] = in->dims[i];
	return SP_OK;
}

/* The output index of the segment of element `i`. */
static inline size_t place(const sp_call *call, size_t i, size_t inner)
{
	return (size_t)sp_tensor_index(call->in[1], i / inner) * inner + i % inner;
}

/* Sets every output to the memory for its string, with size 0. */
static sp_status make_room(const sp_call *call, size_t inner)
{
	const state *s = call->state;
	const sp_bytes *in = sp_tensor_strings(call->in[0]);
	sp_bytes *out = sp_tensor_strings(call->out[0]);
	sp_text_pool pool = {.call = call};

	for (size_t i = 0; i < call->out[0]->count; i++)
		out[i] = (sp_bytes){NULL, 0};
	for (size_t i = 0; i < call->in[0]->count; i++) {
		sp_bytes *y = &out[place(call, i, inner)];

		if (!sp_size_add(&y->size, y->size, in[i].size) ||
		    !sp_size_add(&y->size, y->size, s->separator.size))
			return sp_call_no_memory(call);
	}
	for (size_t i = 0; i < call->out[0]->count; i++) {
		out[i].data = sp_text_pool_take(&pool, out[i].size);
		if (out[i].data == NULL)
			return sp_call_no_memory(call);
		out[i].size = 0;
	}
	return SP_OK;
}

static void append(sp_bytes *text, sp_bytes part)
{
	if (part.size > 0)
		memcpy((char *)text->data + text->size, part.data, part.size);
	text->size += part.size;
}

static sp_status run_segment_join(const sp_call *call)
{
	const state *s = call->state;
	const sp_tensor *in = call->in[0], *ids = call->in[1];
	sp_shape shape;
	size_t inner;

	SP_TRY(check_shapes(call, &shape));
	for (size_t i = 0; i < ids->count; i++) {
		int64_t id = sp_tensor_index(ids, i);

		if (id < 0 || id >= shape.dims[0])
			return sp_call_invalid(call, "segment id %lld is not in [0, %lld)",
					       (long long)id, (long long)shape.dims[0]);
	}
	SP_TRY(sp_call_output(call, 0, SP_STRING, &shape));
	inner = call->out[0]->count == 0 ? 1 : call->out[0]->count / (size_t)shape.dims[0];
	SP_TRY(make_room(call, inner));
	for (size_t i = 0; i < in->count; i++) {
		sp_bytes *y = &sp_tensor_strings(call->out[0])[place(call, i, inner)];

		if (y->size != 0)
			append(y, s->separator);
		append(y, sp_tensor_strings(in)[i]);
	}
	return SP_OK;
}

SP_DEFINE_OP(UnsortedSegmentJoin, "output", 0, prepare_segment_join, run_segment_join);
