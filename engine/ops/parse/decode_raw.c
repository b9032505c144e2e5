#include "engine/ops/string/text.h"

#include <string.h>

/*
 * DecodeRaw: the bytes of strings, all of one length, as numbers.  DecodePaddedRaw: strings of any
 * length, truncated or zero-padded to `fixed_length`.
 */
typedef struct state {
	sp_dtype dtype;
	size_t size; /* of an element */
	size_t word; /* bytes that are swapped together; 1: none */
} state;

static sp_status read_attributes(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));
	bool little;

	SP_NEED_MEMORY(s, err, "%s", prepare->node->op_name);
	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_INVALID_DTYPE, &s->dtype, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "little_endian", true, &little, err));
	switch (s->dtype) {
	case SP_HALF:
	case SP_BFLOAT16:
	case SP_FLOAT:
	case SP_DOUBLE:
	case SP_INT8:
	case SP_INT16:
	case SP_INT32:
	case SP_INT64:
	case SP_UINT8:
	case SP_UINT16:
	case SP_BOOL:
		s->size = s->word = sp_dtype_size(s->dtype);
		break;
	case SP_COMPLEX64:
	case SP_COMPLEX128:
		s->size = sp_dtype_size(s->dtype);
		s->word = s->size / 2;
		break;
	default:
		return sp_prepare_unsupported(prepare, s->dtype, err);
	}
	if (little)
		s->word = 1;
	return SP_OK;
}

static sp_status prepare_decode(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(read_attributes(prepare, err));
	return sp_prepare_types(prepare, "string -> @out_type", err);
}

/* All strings have the length of the first one. */
static sp_status common_length(const sp_call *call, size_t *out)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);

	*out = call->in[0]->count > 0 ? text[0].size : 0;
	for (size_t i = 1; i < call->in[0]->count; i++)
		if (text[i].size != *out)
			return sp_call_invalid(call, "string %zu has %zu bytes, string 0 has %zu",
					       i, text[i].size, *out);
	if (*out % s->size != 0)
		return sp_call_invalid(call, "%zu bytes are not a multiple of %zu, the size of %s",
				       *out, s->size, sp_dtype_name(s->dtype));
	return SP_OK;
}

static void copy_words(const state *s, char *to, const char *from, size_t size)
{
	if (s->dtype == SP_BOOL) {
		for (size_t i = 0; i < size; i++)
			to[i] = from[i] != 0;
	} else if (s->word == 1) {
		memcpy(to, from, size);
	} else {
		for (size_t i = 0; i < size; i += s->word)
			for (size_t k = 0; k < s->word; k++)
				to[i + k] = from[i + s->word - 1 - k];
	}
}

static sp_status run_decode(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	sp_shape shape = call->in[0]->shape;
	size_t size;

	SP_TRY(common_length(call, &size));
	if (shape.rank == SP_MAX_RANK)
		return sp_call_invalid(call, "the result would have more than %d dimensions",
				       SP_MAX_RANK);
	shape.dims[shape.rank++] = (int64_t)(size / s->size);
	SP_TRY(sp_call_output(call, 0, s->dtype, &shape));
	if (size == 0)
		return SP_OK;
	for (size_t i = 0; i < call->in[0]->count; i++)
		copy_words(s, (char *)call->out[0]->data + i * size, text[i].data, size);
	return SP_OK;
}

SP_DEFINE_OP(DecodeRaw, "output", 0, prepare_decode, run_decode);

static sp_status prepare_padded(sp_prepare *prepare, sp_error *err)
{
	const state *s;

	SP_TRY(read_attributes(prepare, err));
	s = prepare->state;
	if (s->dtype == SP_BOOL || s->dtype == SP_COMPLEX64 || s->dtype == SP_COMPLEX128)
		return sp_prepare_unsupported(prepare, s->dtype, err);
	return sp_prepare_types(prepare, "string int32 -> @out_type", err);
}

static sp_status run_padded(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	sp_shape shape = call->in[0]->shape;
	int64_t length;
	char *padded;

	SP_TRY(sp_call_scalar(call, 1, &length));
	if (length <= 0 || length % (int64_t)s->size != 0)
		return sp_call_invalid(call,
				       "fixed_length %lld is not a positive multiple of %zu, the "
				       "size of %s",
				       (long long)length, s->size, sp_dtype_name(s->dtype));
	if (shape.rank == SP_MAX_RANK)
		return sp_call_invalid(call, "the result would have more than %d dimensions",
				       SP_MAX_RANK);
	shape.dims[shape.rank++] = length / (int64_t)s->size;
	SP_TRY(sp_call_output(call, 0, s->dtype, &shape));
	SP_CALL_BYTES(padded, call, 1, (size_t)length);
	for (size_t i = 0; i < call->in[0]->count; i++) {
		size_t size = text[i].size < (size_t)length ? text[i].size : (size_t)length;

		if (size > 0)
			memcpy(padded, text[i].data, size);
		memset(padded + size, 0, (size_t)length - size);
		copy_words(s, (char *)call->out[0]->data + i * (size_t)length, padded,
			   (size_t)length);
	}
	return SP_OK;
}

SP_DEFINE_OP(DecodePaddedRaw, "output", 0, prepare_padded, run_padded);
