#include "engine/ops/string/text.h"

typedef struct state {
	bool characters; /* count UTF-8 characters, not bytes */
} state;

static sp_status prepare_length(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	SP_NEED_MEMORY(s, err, "StringLength");
	SP_TRY(sp_text_attr_unit(prepare, &s->characters, err));
	return sp_prepare_types(prepare, "string -> int32", err);
}

static size_t length_of(sp_bytes text, bool characters)
{
	size_t n = 0;

	if (!characters)
		return text.size;
	for (size_t i = 0; i < text.size; i++)
		n += !sp_text_is_trail(text.data[i]);
	return n;
}

static sp_status run_length(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	int32_t *y;

	SP_TRY(sp_call_output(call, 0, SP_INT32, &call->in[0]->shape));
	y = sp_tensor_i32(call->out[0]);
	for (size_t i = 0; i < call->in[0]->count; i++) {
		size_t n = length_of(text[i], s->characters);

		if (n > INT32_MAX)
			return sp_call_invalid(call, "string %zu is too long: %zu", i, n);
		y[i] = (int32_t)n;
	}
	return SP_OK;
}

SP_DEFINE_OP(StringLength, "output", 0, prepare_length, run_length);
