#include <string.h>

#include "api/host/messages/message_fields.h"
#include "api/host/messages/predict_message.h"
#include "api/host/messages/tensor_message.h"
#include "base/map.h"

/* ---------------------------------------------------------------- model_spec */

static sp_status read_version(sp_model_spec *out, sp_bytes message, sp_error *err)
{
	uint64_t version = out->has_version ? (uint64_t)out->version : 0;

	SP_TRY(sp_message_read(message, &(sp_wire_place){SP_INT64_VALUE, SP_WIRE_VARINT, &version},
			       1, err));
	out->version = (int64_t)version;
	out->has_version = true;
	out->has_label = false;
	return SP_OK;
}

sp_status sp_model_spec_decode(sp_model_spec *out, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_SPEC_NAME) {
			SP_TRY(sp_message_get_text(&out->name, field.bytes, err));
		} else if (field.number == SP_SPEC_SIGNATURE_NAME) {
			SP_TRY(sp_message_get_text(&out->signature_name, field.bytes, err));
		} else if (field.number == SP_SPEC_VERSION) {
			SP_TRY(read_version(out, field.bytes, err));
		} else if (field.number == SP_SPEC_LABEL) {
			out->has_version = false;
			out->has_label = true;
			SP_TRY(sp_message_get_text(&out->label, field.bytes, err));
		}
	}
	return sp_message_end(&wire, err);
}

/* Skips fields with inputs, which are most of a request, without decoding them. */
static inline void skip_inputs(sp_wire *wire)
{
	enum { TAG_INPUTS = SP_PREDICT_INPUTS << 3 | SP_WIRE_BYTES };
	const unsigned char *at = wire->at;
	int size;

	while (at != wire->end && *at++ == TAG_INPUTS) {
		size = sp_wire_read_small(&at, wire->end);
		if (size < 0 || size > wire->end - at)
			return;
		at += size;
		wire->at = at;
	}
}

sp_status sp_model_spec_find(sp_model_spec *out, sp_bytes request, sp_error *err)
{
	sp_wire wire = sp_wire_of(request);
	sp_wire_field field;

	memset(out, 0, sizeof(*out));
	while (sp_wire_next(&wire, &field)) {
		if (field.number == SP_REQUEST_SPEC && field.type == SP_WIRE_BYTES)
			SP_TRY(sp_model_spec_decode(out, field.bytes, err));
		skip_inputs(&wire);
	}
	return sp_message_end(&wire, err);
}

/* -------------------------------------------------------------------- inputs */

/* Reads an entry as writers make it: the key and the value, each once.  False for any other. */
static inline bool read_usual_entry(sp_predict_entry *out, sp_bytes message)
{
	enum { TAG_KEY = 0x0a, TAG_VALUE = 0x12 };
	const unsigned char *at = (const unsigned char *)message.data, *end = at + message.size;
	int size;

	if (message.size < 2 || *at++ != TAG_KEY)
		return false;
	size = sp_wire_read_small(&at, end);
	if (size < 0 || end - at <= size || at[size] != TAG_VALUE)
		return false;
	out->key = (sp_bytes){(const char *)at, (size_t)size};
	at += size + 1;
	size = sp_wire_read_small(&at, end);
	out->value = (sp_bytes){(const char *)at, (size_t)size};
	return size == end - at;
}

sp_status sp_predict__entry(sp_predict_entry *out, sp_bytes message, sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	if (read_usual_entry(out, message))
		return SP_OK;
	out->key = out->value = (sp_bytes){"", 0};
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_ENTRY_KEY)
			out->key = field.bytes;
		else if (field.number == SP_ENTRY_VALUE)
			SP_TRY(sp_message_join(&out->value, field.bytes, arena, err));
	}
	return sp_message_end(&wire, err);
}

/* The last entry of a key counts. */
static sp_status take_input(sp_message_inputs *out, sp_bytes message, size_t nth, bool *unknown,
			    sp_message_memory *memory, sp_error *err)
{
	serving_processor_tensor *tensor;
	sp_status status;
	sp_predict_entry given;
	int index;

	if (!read_usual_entry(&given, message))
		SP_TRY(sp_predict__entry(&given, message, memory->arena, err));
	index = sp_message_input_index(out, memory, nth, given.key);
	if (index < 0) {
		*unknown = true;
		return SP_OK;
	}
	tensor = &out->tensors[index];
	out->given += tensor->dtype == 0;
	tensor->name = out->signature->inputs[index]->alias;
	status = sp_tensor_message_decode(tensor, given.value, memory->arena, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "tensor parsing error: %s", tensor->name);
	return SP_OK;
}

sp_status sp_predict_message_find(serving_processor_tensor *out, sp_bytes name, sp_bytes message,
				  bool arrays, sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_predict_entry given, last = {.value = {NULL, 0}};
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		if (field.number != SP_PREDICT_INPUTS || field.type != SP_WIRE_BYTES)
			continue;
		SP_TRY(sp_predict__entry(&given, field.bytes, arena, err));
		if (sp_bytes_equal(given.key, name))
			last = given;
	}
	if (last.value.data == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "there is no such input");
	return arrays ? sp_tensor_message_decode_array(out, last.value, arena, err)
		      : sp_tensor_message_decode(out, last.value, arena, err);
}

static sp_status count_outputs(sp_message_inputs *out, sp_bytes message, sp_message_memory *memory,
			       sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	size_t count = 0;

	while (sp_wire_next(&wire, &field))
		count += field.number == SP_PREDICT_OUTPUT_FILTER && field.type == SP_WIRE_BYTES;
	/* A name repeats, which is found below. */
	if (count > out->signature->output_count)
		count = out->signature->output_count + 1;
	out->outputs = sp_arena_array(memory->arena, count, sizeof(*out->outputs));
	return out->outputs != NULL ? SP_OK : sp_no_memory(err, "the output filter");
}

/* ------------------------------------------------------- texts about names */

enum { MAX_NAMES = 512 };

/* A list of names for an error text, bounded by its array. */
typedef struct names {
	char text[MAX_NAMES];
	size_t size;
} names;

static void add_name(names *list, sp_bytes name)
{
	size_t room = sizeof(list->text) - 1 - list->size;

	if (list->size != 0 && room != 0) {
		list->text[list->size++] = ',';
		room--;
	}
	if (name.size < room)
		room = name.size;
	if (room != 0)
		memcpy(list->text + list->size, name.data, room);
	list->size += room;
	list->text[list->size] = '\0';
}

static void add_infos(names *list, const serving_processor_tensor_info *const *infos, size_t count)
{
	list->size = 0;
	list->text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		add_name(list, sp_bytes_of(infos[i]->alias));
}

static sp_status unknown_output(const sp_message_inputs *out, sp_bytes alias, sp_error *err)
{
	names known;

	add_infos(&known, out->signature->outputs, out->signature->output_count);
	return sp_error_set(err, SP_INVALID,
			    "output tensor alias not found in signature: %.*s Outputs expected "
			    "to be in the set {%s}.",
			    sp_bytes_shown(alias, MAX_NAMES), alias.data, known.text);
}

/* Lists the names of the request, each once, in its order. */
typedef struct sent_names {
	names all, extra;
	sp_bytes first_extra;
	size_t count; /* different ones */
} sent_names;

static void list_sent(sent_names *sent, const sp_message_inputs *out, sp_bytes message,
		      sp_message_memory *memory)
{
	sp_wire wire = sp_wire_of(message);
	sp_map seen;
	sp_wire_field field;
	sp_predict_entry given;

	memset(sent, 0, sizeof(*sent));
	sp_map_init(&seen, memory->arena);
	while (sp_wire_next(&wire, &field)) {
		if (field.number != SP_PREDICT_INPUTS || field.type != SP_WIRE_BYTES ||
		    sp_predict__entry(&given, field.bytes, memory->arena, NULL) != SP_OK ||
		    sp_map_add(&seen, given.key, 0) != SP_MAP_ADDED)
			continue;
		sent->count++;
		add_name(&sent->all, given.key);
		if (sp_message_input_index(out, memory, SP_MESSAGE_ORDER, given.key) >= 0)
			continue;
		if (sent->extra.size == 0)
			sent->first_extra = given.key;
		add_name(&sent->extra, given.key);
	}
}

sp_status sp_predict_message_wrong_inputs(const sp_message_inputs *out, sp_bytes message,
					  sp_message_memory *memory, sp_error *err)
{
	const serving_processor_signature *signature = out->signature;
	names known, missing = {.size = 0};
	sent_names sent;

	list_sent(&sent, out, message, memory);
	add_infos(&known, signature->inputs, signature->input_count);
	for (size_t i = 0; i < signature->input_count; i++)
		if (out->tensors[i].dtype == 0)
			add_name(&missing, sp_bytes_of(signature->inputs[i]->alias));
	if (sent.count == signature->input_count)
		return sp_error_set(err, SP_INVALID,
				    "input tensor alias not found in signature: %.*s. Inputs "
				    "expected to be in the set {%s}.",
				    sp_bytes_shown(sent.first_extra, MAX_NAMES),
				    sent.first_extra.data, known.text);
	return sp_error_set(err, SP_INVALID,
			    "input size does not match signature: %zu!=%zu len({%s}) != "
			    "len({%s}). Sent extra: {%s}. Missing but required: {%s}.",
			    sent.count, signature->input_count, sent.all.text, known.text,
			    sent.extra.text, missing.text);
}

/* ------------------------------------------------------------------- request */

static sp_status take_output(sp_message_inputs *out, sp_bytes message, sp_bytes alias,
			     sp_message_memory *memory, sp_error *err)
{
	const char *found = sp_message_output_alias(out->signature, alias);

	if (found == NULL)
		return unknown_output(out, alias, err);
	if (out->outputs == NULL)
		SP_TRY(count_outputs(out, message, memory, err));
	for (size_t i = 0; i < out->output_count; i++)
		if (out->outputs[i] == found)
			return sp_error_set(err, SP_INVALID, "duplicate output tensor alias: %s",
					    found);
	out->outputs[out->output_count++] = found;
	return SP_OK;
}

sp_status sp_predict_message_decode(sp_message_inputs *out,
				    const serving_processor_signature *signature, sp_bytes message,
				    sp_message_memory *memory, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	bool unknown = false;
	size_t nth = 0;

	SP_TRY(sp_message_inputs_init(out, signature, memory, err));
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_PREDICT_INPUTS)
			SP_TRY(take_input(out, field.bytes, nth++, &unknown, memory, err));
		else if (field.number == SP_PREDICT_OUTPUT_FILTER)
			SP_TRY(take_output(out, message, field.bytes, memory, err));
	}
	SP_TRY(sp_message_end(&wire, err));
	if (unknown)
		return sp_predict_message_wrong_inputs(out, message, memory, err);
	return SP_OK;
}
