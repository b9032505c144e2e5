#include "engine/ops/ops.h"
#include "engine/ops/string/text.h"

#include "base/size.h"

/* The URL- and filename-safe alphabet of RFC 4648, section 5. */
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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

/* Writes four characters for three bytes; the last one or two bytes take fewer, or padding. */
static size_t encode(sp_bytes text, bool pad, char *out)
{
	const unsigned char *p = (const unsigned char *)text.data;
	size_t n = 0, i;

	for (i = 0; i + 3 <= text.size; i += 3) {
		uint32_t word = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];

		for (int shift = 18; shift >= 0; shift -= 6)
			out[n++] = alphabet[word >> shift & 63];
	}
	if (i < text.size) {
		size_t left = text.size - i;
		uint32_t word = (uint32_t)p[i] << 16 | (left == 2 ? (uint32_t)p[i + 1] << 8 : 0);

		for (size_t k = 0; k <= left; k++)
			out[n++] = alphabet[word >> (18 - 6 * k) & 63];
		for (size_t k = left; k < 3 && pad; k++)
			out[n++] = '=';
	}
	return n;
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
		sp_tensor_strings(call->out[0])[i] = (sp_bytes){out, encode(text[i], s->pad, out)};
	}
	return SP_OK;
}

static sp_status prepare_decode(sp_prepare *prepare, sp_error *err)
{
	return sp_text_prepare_unary(prepare, SP_STRING, err);
}

/* -1 for characters outside the alphabet. */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* Padding counts only if it completes the last group of four characters. */
static size_t unpadded_size(sp_bytes text)
{
	size_t size = text.size;

	if (size == 0 || size % 4 != 0 || text.data[size - 1] != '=')
		return size;
	return text.data[size - 2] == '=' ? size - 2 : size - 1;
}

/* `size` is not 1 modulo 4.  As in TensorFlow, bits after the last whole byte are ignored. */
static bool decode(const char *text, size_t size, char *out)
{
	uint32_t word = 0;
	int bits = 0;

	for (size_t i = 0; i < size; i++) {
		int value = value_of(text[i]);

		if (value < 0)
			return false;
		word = word << 6 | (uint32_t)value;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			*out++ = (char)(word >> bits);
		}
	}
	return true;
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
		if (!decode(text[i].data, size, out))
			return sp_call_invalid(call,
					       "string %zu is not base64: it has a character "
					       "outside the alphabet",
					       i);
		sp_tensor_strings(call->out[0])[i] = (sp_bytes){
			out, size / 4 * 3 + (size % 4 > 0 ? size % 4 - 1 : 0)};
	}
	return SP_OK;
}

SP_DEFINE_OP(EncodeBase64, "output", 0, prepare_encode, run_encode);
SP_DEFINE_OP(DecodeBase64, "output", 0, prepare_decode, run_decode);
