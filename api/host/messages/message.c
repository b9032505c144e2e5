#include "api/host/messages/message.h"

#include <string.h>

#include "base/utf8.h"

sp_status sp_message_malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "the message cannot be parsed");
}

sp_status sp_message_read(sp_bytes message, const sp_wire_place *places, size_t count,
			  sp_error *err)
{
	return sp_wire_read(message, places, count) ? SP_OK : sp_message_malformed(err);
}

sp_status sp_message_check_bools(sp_bytes bools, sp_error *err)
{
	for (size_t i = 0; i < bools.size; i++)
		if ((unsigned char)bools.data[i] > 1)
			return sp_error_set(err, SP_INVALID, "a bool that is neither 0 nor 1");
	return SP_OK;
}

sp_status sp_message_get_text(sp_bytes *out, sp_bytes text, sp_error *err)
{
	*out = text;
	return sp_utf8_valid(text) ? SP_OK : sp_message_malformed(err);
}

sp_status sp_message_join(sp_bytes *out, sp_bytes part, sp_arena *arena, sp_error *err)
{
	char *joined;

	if (out->size == 0) {
		*out = part;
		return SP_OK;
	}
	joined = sp_arena_alloc(arena, out->size + part.size);
	if (joined == NULL)
		return sp_no_memory(err, "the request");
	memcpy(joined, out->data, out->size);
	if (part.size != 0)
		memcpy(joined + out->size, part.data, part.size);
	*out = (sp_bytes){joined, out->size + part.size};
	return SP_OK;
}

sp_status sp_message_inputs_init(sp_message_inputs *inputs,
				 const serving_processor_signature *signature,
				 sp_message_memory *memory, sp_error *err)
{
	inputs->signature = signature;
	inputs->given = 0;
	inputs->outputs = NULL;
	inputs->output_count = 0;
	inputs->tensors = sp_arena_zeros(memory->arena, signature->input_count,
					 sizeof(*inputs->tensors));
	return inputs->tensors != NULL ? SP_OK : sp_no_memory(err, "the inputs");
}

/* As strcmp(). */
static int compare(const char *alias, sp_bytes name)
{
	int order = strncmp(alias, name.data != NULL ? name.data : "", name.size);

	return order != 0 ? order : alias[name.size] != '\0';
}

static int find(const serving_processor_tensor_info *const *infos, size_t count, sp_bytes alias)
{
	size_t low = 0, high = count;

	if (memchr(alias.data != NULL ? alias.data : "", '\0', alias.size) != NULL)
		return -1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(infos[middle]->alias, alias);

		if (order == 0)
			return (int)middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

int sp_message__search_input(const sp_message_inputs *inputs, sp_message_memory *memory, size_t nth,
			     sp_bytes alias)
{
	int index = find(inputs->signature->inputs, inputs->signature->input_count, alias);

	if (nth < SP_MESSAGE_ORDER && index >= 0 && index <= UINT16_MAX)
		memory->order[nth] = (uint16_t)index;
	return index;
}

const char *sp_message_output_alias(const serving_processor_signature *signature, sp_bytes alias)
{
	int index = find(signature->outputs, signature->output_count, alias);

	return index >= 0 ? signature->outputs[index]->alias : NULL;
}

sp_status sp_message_inputs_check(const sp_message_inputs *inputs, sp_error *err)
{
	const serving_processor_signature *signature = inputs->signature;

	for (size_t i = 0; i < signature->input_count; i++)
		if (inputs->tensors[i].dtype == 0)
			return sp_error_set(err, SP_INVALID,
					    "expected %zu inputs but got %zu inputs: required "
					    "input '%s' is missing",
					    signature->input_count, inputs->given,
					    signature->inputs[i]->alias);
	return SP_OK;
}
