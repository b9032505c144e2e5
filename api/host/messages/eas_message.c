#include "api/host/messages/eas_message.h"

#include <string.h>

#include "api/host/messages/message_fields.h"
#include "api/host/messages/predict_message.h"
#include "base/name_list.h"

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "the request is not a PredictRequest message");
}

sp_status sp_eas_message_signature(sp_bytes *out, sp_bytes message, sp_error *err)
{
	const sp_wire_place place = {SP_EAS_SIGNATURE_NAME, SP_WIRE_BYTES, out};

	*out = (sp_bytes){"", 0};
	return sp_wire_read(message, &place, 1) ? SP_OK : malformed(err);
}

/* --------------------------------------------------------------------- names */

typedef const serving_processor_tensor_info *const *infos;

/* Whether the tensor has that name, given with or without ":0". */
static bool is_tensor(const serving_processor_tensor_info *info, sp_bytes name)
{
	size_t size = strlen(info->tensor_name);

	return name.size <= size && memcmp(info->tensor_name, name.data, name.size) == 0 &&
	       (name.size == size || strcmp(info->tensor_name + name.size, ":0") == 0);
}

/* The tensor with that alias, else that tensor; -1: none. */
static int find(infos all, size_t count, sp_bytes name)
{
	for (size_t i = 0; i < count; i++)
		if (sp_bytes_equal_text(name, all[i]->alias))
			return (int)i;
	for (size_t i = 0; i < count; i++)
		if (is_tensor(all[i], name))
			return (int)i;
	return -1;
}

static sp_status unknown(const sp_message_inputs *out, const char *what, infos all, size_t count,
			 sp_bytes name, sp_error *err)
{
	sp_name_list list = {0};

	for (size_t i = 0; i < count; i++)
		sp_name_list_add(&list, all[i]->alias);
	return sp_error_set(err, SP_INVALID, "signature '%s' has no %s '%.*s'; it has %s",
			    out->signature->name, what, sp_message_shown(name), name.data,
			    sp_name_list_text(&list));
}

/* ------------------------------------------------------------------- request */

/* names: [the signature's input_count] by which they were given; data NULL: not given */
static sp_status take_input(sp_message_inputs *out, sp_bytes *names, size_t nth, sp_bytes message,
			    sp_message_memory *memory, sp_error *err)
{
	const serving_processor_signature *signature = out->signature;
	serving_processor_tensor *tensor;
	sp_predict_entry given;
	sp_status status;
	int index;

	status = sp_predict__entry(&given, message, memory->arena, err);
	if (status == SP_OK)
		status = sp_message_get_text(&given.key, given.key, err);
	if (status != SP_OK)
		return status == SP_INVALID ? malformed(err) : status;
	index = sp_message_input_index(out, memory, nth, given.key);
	if (index < 0)
		index = find(signature->inputs, signature->input_count, given.key);
	if (index < 0)
		return unknown(out, "input", signature->inputs, signature->input_count, given.key,
			       err);
	if (names[index].data != NULL && !sp_bytes_equal(names[index], given.key))
		return sp_error_set(err, SP_INVALID,
				    "'%.*s' and '%.*s' are the same input; give it once",
				    sp_message_shown(names[index]), names[index].data,
				    sp_message_shown(given.key), given.key.data);
	names[index] = given.key;
	tensor = &out->tensors[index];
	out->given += tensor->dtype == 0;
	tensor->name = signature->inputs[index]->alias;
	status = sp_tensor_message_decode_array(tensor, given.value, memory->arena, err);
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "input '%s'", tensor->name);
}

/* A name that is repeated counts once. */
static sp_status take_output(sp_message_inputs *out, sp_bytes name, sp_message_memory *memory,
			     sp_error *err)
{
	const serving_processor_signature *signature = out->signature;
	const char *copy;

	if (find(signature->outputs, signature->output_count, name) < 0)
		return unknown(out, "output", signature->outputs, signature->output_count, name,
			       err);
	for (size_t i = 0; i < out->output_count; i++)
		if (sp_bytes_equal_text(name, out->outputs[i]))
			return SP_OK;
	copy = sp_arena_text(memory->arena, name);
	if (copy == NULL)
		return sp_no_memory(err, "an output");
	out->outputs[out->output_count++] = copy;
	return SP_OK;
}

sp_status sp_eas_message_decode(sp_message_inputs *out,
				const serving_processor_signature *signature, sp_bytes message,
				sp_message_memory *memory, sp_error *err)
{
	enum { NAMES = 3 }; /* that a tensor has */
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	sp_bytes *names = sp_arena_zeros(memory->arena, signature->input_count, sizeof(*names));
	size_t nth = 0;

	SP_TRY(sp_message_inputs_init(out, signature, memory, err));
	out->outputs = sp_arena_array(memory->arena, signature->output_count,
				      NAMES * sizeof(*out->outputs));
	if (names == NULL || out->outputs == NULL)
		return sp_no_memory(err, "the request");
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_PREDICT_INPUTS)
			SP_TRY(take_input(out, names, nth++, field.bytes, memory, err));
		else if (field.number == SP_PREDICT_OUTPUT_FILTER)
			SP_TRY(take_output(out, field.bytes, memory, err));
	}
	return !wire.malformed ? SP_OK : malformed(err);
}
