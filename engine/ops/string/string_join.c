#include "engine/ops/string/text.h"

#include "base/size.h"

#include <string.h>

typedef struct state {
	sp_bytes separator;
} state;

static sp_status prepare_join(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	SP_NEED_MEMORY(s, err, "StringJoin");
	SP_TRY(sp_node_attr_bytes(prepare->node, "separator", "", &s->separator, err));
	return sp_prepare_types(prepare, "string* -> string", err);
}

/* The shape of all inputs that are not scalars. */
static sp_status join_shape(const sp_call *call, sp_shape *shape)
{
	char first[SP_SHAPE_TEXT_SIZE], other[SP_SHAPE_TEXT_SIZE];

	*shape = sp_shape_scalar();
	for (size_t i = 0; i < call->in_count; i++) {
		const sp_shape *in = &call->in[i]->shape;

		if (in->rank == 0)
			continue;
		if (shape->rank == 0)
			*shape = *in;
		else if (!sp_shape_equal(shape, in))
			return sp_call_invalid(call, "input shapes do not match: %s and %s",
					       sp_shape_text(shape, first),
					       sp_shape_text(in, other));
	}
	return SP_OK;
}

static inline sp_bytes element(const sp_tensor *in, size_t i)
{
	return sp_tensor_strings(in)[sp_tensor_is_scalar(in) ? 0 : i];
}

static sp_status join_one(sp_text_pool *pool, sp_bytes separator, size_t i, sp_bytes *out)
{
	const sp_call *call = pool->call;
	size_t size = 0;
	char *text;

	for (size_t k = 0; k < call->in_count; k++) {
		if (!sp_size_add(&size, size, element(call->in[k], i).size) ||
		    (k > 0 && !sp_size_add(&size, size, separator.size)))
			return sp_call_no_memory(call);
	}
	text = sp_text_pool_take(pool, size);
	if (text == NULL)
		return sp_call_no_memory(call);
	*out = (sp_bytes){text, size};
	for (size_t k = 0; k < call->in_count; k++) {
		sp_bytes part = element(call->in[k], i);

		if (k > 0 && separator.size > 0)
			text = mempcpy(text, separator.data, separator.size);
		if (part.size > 0)
			text = mempcpy(text, part.data, part.size);
	}
	return SP_OK;
}

static sp_status run_join(const sp_call *call)
{
	const state *s = call->state;
	sp_text_pool pool = {.call = call};
	sp_shape shape;

	SP_TRY(join_shape(call, &shape));
	SP_TRY(sp_call_output(call, 0, SP_STRING, &shape));
	for (size_t i = 0; i < call->out[0]->count; i++)
		SP_TRY(join_one(&pool, s->separator, i, &sp_tensor_strings(call->out[0])[i]));
	return SP_OK;
}

SP_DEFINE_OP(StringJoin, "output", 0, prepare_join, run_join);
