#include "engine/ops/ops.h"
#include "engine/ops/string/text.h"

typedef struct state {
	bool characters; /* positions count UTF-8 characters, not bytes */
} state;

static sp_status prepare_substr(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	if (s == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for Substr");
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_STRING, err));
	SP_TRY(sp_prepare_input_index(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, prepare->in_dtypes[1], err));
	SP_TRY(sp_text_attr_unit(prepare, &s->characters, err));
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
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

/* The shape of two inputs broadcast with each other, and the step of each along every axis. */
typedef struct pairing {
	sp_shape shape;
	int64_t text_stride[SP_MAX_RANK];
	int64_t cut_stride[SP_MAX_RANK];
} pairing;

static int64_t dim_from_end(const sp_shape *shape, int back)
{
	return back < shape->rank ? shape->dims[shape->rank - 1 - back] : 1;
}

static sp_status pair_shapes(const sp_call *call, const sp_shape *a, const sp_shape *b,
			     pairing *out)
{
	int rank = a->rank > b->rank ? a->rank : b->rank;
	uint64_t a_step = 1, b_step = 1; /* may wrap, but only when there are no elements */
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];

	out->shape.rank = rank;
	for (int back = 0; back < rank; back++) {
		int axis = rank - 1 - back;
		int64_t a_dim = dim_from_end(a, back), b_dim = dim_from_end(b, back);

		if (a_dim != b_dim && a_dim != 1 && b_dim != 1)
			return sp_call_invalid(call, "incompatible shapes: %s and %s",
					       sp_shape_text(a, a_text), sp_shape_text(b, b_text));
		out->shape.dims[axis] = a_dim == 1 ? b_dim : a_dim;
		out->text_stride[axis] = a_dim == 1 ? 0 : (int64_t)a_step;
		out->cut_stride[axis] = b_dim == 1 ? 0 : (int64_t)b_step;
		a_step *= (uint64_t)a_dim;
		b_step *= (uint64_t)b_dim;
	}
	return SP_OK;
}

static sp_status run_substr(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	int64_t index[SP_MAX_RANK] = {0};
	int64_t at_text = 0, at_cut = 0;
	char shape1[SP_SHAPE_TEXT_SIZE], shape2[SP_SHAPE_TEXT_SIZE];
	pairing p;

	if (!sp_shape_equal(&call->in[1]->shape, &call->in[2]->shape))
		return sp_call_invalid(call, "pos and len must have the same shape, not %s and %s",
				       sp_shape_text(&call->in[1]->shape, shape1),
				       sp_shape_text(&call->in[2]->shape, shape2));
	SP_TRY(pair_shapes(call, &call->in[0]->shape, &call->in[1]->shape, &p));
	SP_TRY(sp_call_output(call, 0, SP_STRING, &p.shape));
	for (size_t i = 0; i < call->out[0]->count; i++) {
		int64_t pos = sp_tensor_index(call->in[1], (size_t)at_cut);
		int64_t len = sp_tensor_index(call->in[2], (size_t)at_cut);
		sp_bytes *y = &sp_tensor_strings(call->out[0])[i];

		if (!(s->characters ? cut_characters : cut_bytes)(text[at_text], pos, len, y))
			return sp_call_invalid(call, "pos %lld is out of range for string %lld",
					       (long long)pos, (long long)at_text);
		for (int axis = p.shape.rank - 1; axis >= 0; axis--) {
			at_text += p.text_stride[axis];
			at_cut += p.cut_stride[axis];
			if (++index[axis] < p.shape.dims[axis])
				break;
			at_text -= p.text_stride[axis] * index[axis];
			at_cut -= p.cut_stride[axis] * index[axis];
			index[axis] = 0;
		}
	}
	return SP_OK;
}

SP_DEFINE_OP(Substr, "output", 0, prepare_substr, run_substr);
