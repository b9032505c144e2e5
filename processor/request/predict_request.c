#include "processor/request/predict_codec.h"

#include <string.h>

#include "base/utf8.h"
#include "processor/request/predict_fields.h"
#include "base/wire.h"

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "the request is not a PredictRequest message");
}

sp_status sp_predict__no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY,
			    "the request needs more memory than session_workspace_bytes allows");
}

/* Checks a string of proto3. */
static sp_status check_text(sp_bytes text, sp_error *err)
{
	return sp_utf8_valid(text) ? SP_OK : malformed(err);
}

/* Validates an ArrayProto that is not decoded. */
static sp_status check_array(sp_bytes array, sp_error *err)
{
	return sp_wire_check(array, &sp_predict__array_schema) ? SP_OK : malformed(err);
}

/* The last map entry for one input of the signature. */
typedef struct given_input {
	sp_bytes name; /* data NULL: not given */
	sp_bytes value;
} given_input;

/*
 * A submessage given in several parts is their concatenation.  The parts are joined in *joined,
 * which has room for the whole entry.
 */
static sp_status append_part(sp_bytes *value, char **joined, sp_bytes part, size_t entry_size,
			     sp_workspace *workspace, sp_error *err)
{
	if (value->size == 0) {
		*value = part;
		return SP_OK;
	}
	SP_TRY(check_array(part, err));
	if (*joined == NULL) {
		SP_TRY(check_array(*value, err));
		*joined = sp_workspace_bytes(workspace, 1, entry_size);
		if (*joined == NULL)
			return sp_predict__no_memory(err);
		memcpy(*joined, value->data, value->size);
		value->data = *joined;
	}
	if (part.size != 0)
		memcpy(*joined + value->size, part.data, part.size);
	value->size += part.size;
	return SP_OK;
}

static sp_status read_entry(given_input *out, sp_bytes message, sp_workspace *workspace,
			    sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	char *joined = NULL;

	*out = (given_input){.name = {"", 0}, .value = {"", 0}};
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_ENTRY_KEY) {
			SP_TRY(check_text(field.bytes, err));
			out->name = field.bytes;
		} else if (field.number == SP_ENTRY_VALUE) {
			SP_TRY(append_part(&out->value, &joined, field.bytes, message.size,
					   workspace, err));
		}
	}
	return !wire.malformed ? SP_OK : malformed(err);
}

static sp_status note_input(given_input *inputs, const sp_endpoint *endpoint, sp_bytes entry,
			    sp_workspace *workspace, sp_error *err)
{
	size_t index;
	given_input given;

	SP_TRY(read_entry(&given, entry, workspace, err));
	SP_TRY(sp_endpoint_find_input(endpoint, given.name, &index, err));
	if (inputs[index].name.data != NULL && !sp_bytes_equal(inputs[index].name, given.name))
		return sp_error_set(err, SP_INVALID,
				    "'%.*s' and '%.*s' are the same input; give it once",
				    (int)inputs[index].name.size, inputs[index].name.data,
				    (int)given.name.size, given.name.data);
	if (inputs[index].name.data != NULL) /* the last entry counts, but all are validated */
		SP_TRY(check_array(inputs[index].value, err));
	inputs[index] = given;
	return SP_OK;
}

/* `seen` has a bit for each name of each output. */
static sp_status note_output(sp_predict_request *request, unsigned char *seen,
			     const sp_endpoint *endpoint, sp_bytes name, sp_error *err)
{
	sp_spelling spelling;
	size_t index;

	SP_TRY(check_text(name, err));
	SP_TRY(sp_endpoint_find_output(endpoint, name, &index, &spelling, err));
	if ((seen[index] & 1u << spelling) != 0)
		return SP_OK;
	seen[index] |= (unsigned char)(1u << spelling);
	request->outputs[request->output_count++] = (sp_predict_output){.index = index,
									.name = name};
	return SP_OK;
}

static void take_all_outputs(sp_predict_request *request, const sp_signature *signature)
{
	for (size_t i = 0; i < signature->output_count; i++)
		request->outputs[i] = (sp_predict_output){
			.index = i, .name = sp_bytes_of(signature->outputs[i].alias)};
	request->output_count = signature->output_count;
}

static sp_status read_request(sp_predict_request *out, given_input *inputs, unsigned char *seen,
			      const sp_endpoint *endpoint, sp_bytes message,
			      sp_workspace *workspace, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_REQUEST_INPUTS)
			SP_TRY(note_input(inputs, endpoint, field.bytes, workspace, err));
		else if (field.number == SP_REQUEST_OUTPUT_FILTER)
			SP_TRY(note_output(out, seen, endpoint, field.bytes, err));
		else if (field.number == SP_REQUEST_SIGNATURE_NAME)
			SP_TRY(check_text(field.bytes, err));
	}
	return !wire.malformed ? SP_OK : malformed(err);
}

sp_status sp_predict_request_decode(sp_predict_request *out, const sp_endpoint *endpoint,
				    sp_bytes message, sp_workspace *workspace, sp_error *err)
{
	const sp_signature *signature = &endpoint->signature;
	size_t input_count = signature->input_count, output_count = signature->output_count;
	given_input *inputs = sp_workspace_bytes(workspace, input_count, sizeof(*inputs));
	unsigned char *seen = sp_workspace_bytes(workspace, output_count, 1);

	out->inputs = sp_workspace_bytes(workspace, input_count, sizeof(*out->inputs));
	out->outputs = sp_workspace_bytes(workspace, output_count,
					  SP_SPELLING_COUNT * sizeof(*out->outputs));
	out->output_count = 0;
	if (inputs == NULL || seen == NULL || out->inputs == NULL || out->outputs == NULL)
		return sp_predict__no_memory(err);
	memset(inputs, 0, input_count * sizeof(*inputs));
	memset(seen, 0, output_count);
	memset(out->inputs, 0, input_count * sizeof(*out->inputs));

	SP_TRY(read_request(out, inputs, seen, endpoint, message, workspace, err));
	if (out->output_count == 0)
		take_all_outputs(out, signature);
	for (size_t i = 0; i < input_count; i++)
		if (inputs[i].name.data != NULL)
			SP_TRY(sp_predict__array_decode(&out->inputs[i], signature->inputs[i].alias,
							inputs[i].value, message, workspace, err));
	return SP_OK;
}
