#include "engine/ops/math/broadcast.h"
#include "engine/ops/string/text.h"

typedef struct state {
	bool characters; /* positions count UTF-8 characters, not bytes */
} state;

static sp_status prepare_substr(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	SP_NEED_MEMORY(s, err, "Substr");
	SP_TRY(sp_prepare_types(prepare, "string I I -> string", err));
	return sp_text_attr_unit(prepare, &s->characters, err);
}

/* Advances *at by `n` characters; false when the text ends before, or n is negative. */
static bool forward(sp_bytes text, int64_t n, size_t *at)
{
	for (; n > 0 && *at < text.size; n--)
		do
			++*at;
		while (*at < text.size && sp_text_is_trail(text.data[*at]));
	return n == 0;
}

static bool backward(sp_bytes text, int64_t n, size_t *at)
{
	for (; n > 0 && *at > 0; n--)
		do
			--*at;
		while (*at > 0 && sp_text_is_trail(text.data[*at]));
	return n == 0;
}

static bool cut_characters(sp_bytes text, int64_t pos, int64_t len, sp_bytes *out)
{
	size_t begin = 0, end;

	if (pos >= 0) {
		if (!forward(text, pos, &begin))
			return false;
		end = begin;
		forward(text, len, &end); /* the text may end before the substring */
	} else {
		/*
		 * A negative position counts from the end: go back first to the end of the
		 * substring, then to its start. Neither sum overflows: pos is in [-2^63, -1], and a
		 * skip above 2^63 - 1 would exceed any text.
		 */
		int64_t skip, span;

		if (__builtin_sub_overflow(-(pos + 1), len, &skip))
			return false;
		if (__builtin_add_overflow(skip, 1, &skip))
			return false;
		if (skip < 0)
			skip = 0;
		if (__builtin_sub_overflow(-(pos + 1), skip, &span) ||
		    __builtin_add_overflow(span, 1, &span))
			return false;
		end = text.size;
		if (!backward(text, skip, &end))
			return false;
		begin = end;
		if (!backward(text, span, &begin))
			return false;
	}
	*out = (sp_bytes){text.data + begin, end - begin};
	return true;
}

/* A negative length extends to the end, as in TensorFlow. */
static bool cut_bytes(sp_bytes text, int64_t pos, int64_t len, sp_bytes *out)
{
	if (pos < 0)
		pos += (int64_t)text.size;
	if (pos < 0 || (uint64_t)pos > text.size)
		return false;
	*out = (sp_bytes){text.data + pos, text.size - (size_t)pos};
	if (len >= 0 && (uint64_t)len < out->size)
		out->size = (size_t)len;
	return true;
}

static sp_status run_substr(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	char shape1[SP_SHAPE_TEXT_SIZE], shape2[SP_SHAPE_TEXT_SIZE];
	sp_broadcast b;
	sp_bytes *y;

	if (!sp_shape_equal(&call->in[1]->shape, &call->in[2]->shape))
		return sp_call_invalid(call, "pos and len must have the same shape, not %s and %s",
				       sp_shape_text(&call->in[1]->shape, shape1),
				       sp_shape_text(&call->in[2]->shape, shape2));
	SP_TRY(sp_broadcast__init(&b, call, 2));
	SP_TRY(sp_call_output(call, 0, SP_STRING, &b.shape));
	y = sp_tensor_strings(call->out[0]);
	for (sp_broadcast__start(&b); b.more; sp_broadcast__next(&b))
		for (size_t i = 0; i < b.run; i++) {
			size_t at_text = b.at[0] + i * b.step[0];
			size_t at_cut = b.at[1] + i * b.step[1];
			int64_t pos = sp_tensor_index(call->in[1], at_cut);
			int64_t len = sp_tensor_index(call->in[2], at_cut);

			if (!(s->characters ? cut_characters : cut_bytes)(text[at_text], pos, len,
									  &y[b.out + i]))
				return sp_call_invalid(call,
						       "pos %lld is out of range for string %zu",
						       (long long)pos, at_text);
		}
	return SP_OK;
}

SP_DEFINE_OP(Substr, "output", 0, prepare_substr, run_substr);
