#include "engine/ops/ops.h"
#include "engine/ops/string/text.h"

#include "base/base64_text.h"
#include "base/size.h"

/* The URL- and filename-safe alphabet, as in TensorFlow. */

typedef struct state {
	bool pad;
} state;

static sp_status prepare_encode(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	if (s == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for EncodeBase64");
	SP_TRY(sp_node_attr_bool(prepare->node, "pad", false, &s->pad, err));
	return sp_text_prepare_unary(prepare, SP_STRING, err);
}

static sp_status run_encode(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	sp_text_pool pool = {.call = call};

	SP_TRY(sp_call_output(call, 0, SP_STRING, &call->in[0]->shape));
	for (size_t i = 0; i < call->in[0]->count; i++) {
		size_t size;
		char *out;

		if (!sp_size_mul(&size, text[i].size / 3 + 1, 4))
			return sp_call_no_memory(call);
		out = sp_text_pool_take(&pool, size);
		if (out == NULL)
			return sp_call_no_memory(call);
		sp_tensor_strings(call->out[0])[i] = (sp_bytes){
			out, sp_base64_write(out, text[i], SP_BASE64_URL, s->pad)};
	}
	return SP_OK;
}

static sp_status prepare_decode(sp_prepare *prepare, sp_error *err)
{
	return sp_text_prepare_unary(prepare, SP_STRING, err);
}

/* Padding counts only if it completes the last group of four characters. */
static size_t unpadded_size(sp_bytes text)
{
	size_t size = text.size;

	if (size == 0 || size % 4 != 0 || text.data[size - 1] != '=')
		return size;
	return text.data[size - 2] == '=' ? size - 2 : size - 1;
}

static sp_status run_decode(const sp_call *call)
{
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	sp_text_pool pool = {.call = call};

	SP_TRY(sp_call_output(call, 0, SP_STRING, &call->in[0]->shape));
	for (size_t i = 0; i < call->in[0]->count; i++) {
		size_t size = unpadded_size(text[i]);
		char *out;

		if (size % 4 == 1)
			return sp_call_invalid(call,
					       "string %zu is not base64: its length is 1 "
					       "modulo 4",
					       i);
		out = sp_text_pool_take(&pool, size);
		if (out == NULL)
			return sp_call_no_memory(call);
		if (!sp_base64_read(out, &size, (sp_bytes){text[i].data, size}, SP_BASE64_URL))
			return sp_call_invalid(call,
					       "string %zu is not base64: it has a character "
					       "outside the alphabet",
					       i);
		sp_tensor_strings(call->out[0])[i] = (sp_bytes){out, size};
	}
	return SP_OK;
}

SP_DEFINE_OP(EncodeBase64, "output", 0, prepare_encode, run_encode);
SP_DEFINE_OP(DecodeBase64, "output", 0, prepare_decode, run_decode);
