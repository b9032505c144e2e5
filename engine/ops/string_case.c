#include "engine/ops.h"
#include "engine/ops/text.h"

static sp_status prepare_case(sp_prepare *prepare, sp_error *err)
{
	sp_bytes encoding;

	SP_TRY(sp_node_attr_bytes(prepare->node, "encoding", "", &encoding, err));
	if (sp_bytes_equal_text(encoding, "utf-8"))
		return sp_error_set(err, SP_UNSUPPORTED, "%s with encoding utf-8 is not supported",
				    prepare->node->op_name);
	if (encoding.size > 0)
		return sp_error_set(err, SP_INVALID, "encoding must be empty or utf-8, not %.*s",
				    (int)encoding.size, encoding.data);
	return sp_text_prepare_unary(prepare, SP_STRING, err);
}

/* Bytes from `first` to `first` + 25 have their bit 0x20 turned over, all others stay. */
static sp_status map_letters(const sp_call *call, char first)
{
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	sp_text_pool pool = {.call = call};
	sp_bytes *y;

	SP_TRY(sp_call_output(call, 0, SP_STRING, &call->in[0]->shape));
	y = sp_tensor_strings(call->out[0]);
	for (size_t i = 0; i < call->in[0]->count; i++) {
		char *out = sp_text_pool_take(&pool, text[i].size);

		if (out == NULL)
			return sp_call_no_memory(call);
		for (size_t k = 0; k < text[i].size; k++) {
			char c = text[i].data[k];

			out[k] = (char)((unsigned char)(c - first) < 26 ? c ^ 0x20 : c);
		}
		y[i] = (sp_bytes){out, text[i].size};
	}
	return SP_OK;
}

static sp_status run_lower(const sp_call *call)
{
	return map_letters(call, 'A');
}

static sp_status run_upper(const sp_call *call)
{
	return map_letters(call, 'a');
}

const sp_op sp_op_StringLower = {
	.name = "StringLower",
	.outputs = "output",
	.prepare = prepare_case,
	.run = run_lower,
};

const sp_op sp_op_StringUpper = {
	.name = "StringUpper",
	.outputs = "output",
	.prepare = prepare_case,
	.run = run_upper,
};
