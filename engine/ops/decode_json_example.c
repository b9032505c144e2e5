#include <string.h>

#include "engine/ops/json_example.h"
#include "engine/ops/text.h"

/*
 * DecodeJSONExample: texts in protobuf's JSON to serialized Examples
 * (engine/ops/json_example.h).
 *
 * A message is made in scratch that is large enough for any text of the call, then
 * copied in its own size.
 */
static sp_status prepare_json(sp_prepare *prepare, sp_error *err)
{
	return sp_text_prepare_unary(prepare, SP_STRING, err);
}

static sp_status decode(const sp_call *call, size_t i, char *scratch, sp_json_key *keys)
{
	sp_bytes json = sp_tensor_strings(call->in[0])[i];
	const char *why;
	size_t size;
	char *copy;

	memset(keys, 0, sp_json_example_keys(json.size) * sizeof(*keys));
	why = sp_json_example_read(json, scratch, &size, keys);
	if (why != NULL)
		return sp_call_invalid(call, "Error while parsing JSON: text %zu: %s", i, why);
	copy = sp_call_bytes(call, size, 1);
	if (copy == NULL)
		return sp_call_no_memory(call);
	memcpy(copy, scratch, size);
	sp_tensor_strings(call->out[0])[i] = (sp_bytes){copy, size};
	return SP_OK;
}

static sp_status run_json(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t longest = 0;
	sp_json_key *keys;
	char *scratch;

	for (size_t i = 0; i < in->count; i++)
		if (sp_tensor_strings(in)[i].size > longest)
			longest = sp_tensor_strings(in)[i].size;
	if (longest > SP_JSON_EXAMPLE_MAX)
		return sp_call_invalid(call, "a text of %zu bytes is too long", longest);
	scratch = sp_call_bytes(call, sp_json_example_room(longest), 1);
	keys = sp_call_bytes(call, sp_json_example_keys(longest), sizeof(*keys));
	if (scratch == NULL || keys == NULL)
		return sp_call_no_memory(call);
	SP_TRY(sp_call_output(call, 0, SP_STRING, &in->shape));
	for (size_t i = 0; i < in->count; i++)
		SP_TRY(decode(call, i, scratch, keys));
	return SP_OK;
}

const sp_op sp_op_DecodeJSONExample = {
	.name = "DecodeJSONExample",
	.outputs = "binary_examples",
	.prepare = prepare_json,
	.run = run_json,
};
