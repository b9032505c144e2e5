#include "api/host/messages/message.h"

#include <string.h>

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
