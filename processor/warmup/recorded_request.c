#include "processor/warmup/recorded_request.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "model_loader/proto/tensor_proto.h"
#include "processor/warmup/prediction_log.h"

/* Limit of a request's inputs: a TensorProto of a few bytes can repeat one value often. */
#define MAX_REQUEST_BYTES ((size_t)512 << 20)

/* ------------------------------------------------------------------ TFRecord */

enum { LENGTH_BYTES = 8, CRC_BYTES = 4 };

static bool has_crc(const char *data, size_t size, const char *stored)
{
	uint32_t crc;

	memcpy(&crc, stored, sizeof(crc));
	return sp_crc32c_mask(sp_crc32c(0, data, size)) == crc;
}

bool sp_recorded_is_file(sp_bytes file)
{
	return file.size >= LENGTH_BYTES + CRC_BYTES &&
	       has_crc(file.data, LENGTH_BYTES, file.data + LENGTH_BYTES);
}

sp_status sp_recorded_take(sp_bytes *out, sp_bytes *file, sp_error *err)
{
	const char *data = file->data + LENGTH_BYTES + CRC_BYTES;
	size_t left;
	uint64_t length;

	if (file->size < LENGTH_BYTES + CRC_BYTES)
		return sp_error_set(err, SP_INVALID, "it ends in the length of a record");
	memcpy(&length, file->data, sizeof(length));
	if (!has_crc(file->data, LENGTH_BYTES, file->data + LENGTH_BYTES))
		return sp_error_set(err, SP_INVALID, "the checksum of a length is wrong");
	left = file->size - LENGTH_BYTES - CRC_BYTES;
	if (left < CRC_BYTES || length > left - CRC_BYTES)
		return sp_error_set(err, SP_INVALID, "it ends in a record of %" PRIu64 " bytes",
				    length);
	if (!has_crc(data, (size_t)length, data + length))
		return sp_error_set(err, SP_INVALID, "the checksum of a record is wrong");
	*out = (sp_bytes){data, (size_t)length};
	*file = (sp_bytes){data + length + CRC_BYTES, left - CRC_BYTES - (size_t)length};
	return SP_OK;
}

/* ------------------------------------------------------------------ messages */

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "it is not a PredictionLog message");
}

/* A NUL-terminated copy of a name. */
static sp_status copy_name(const char **out, sp_bytes name, sp_arena *arena, sp_error *err)
{
	if (name.size != 0 && memchr(name.data, '\0', name.size) != NULL)
		return sp_error_set(err, SP_INVALID, "a name in it holds a NUL byte");
	*out = sp_arena_text(arena, name);
	return *out != NULL ? SP_OK : sp_no_memory(err, "a name");
}

/* A field, or all fields of a oneof, of which the last one given counts. */
typedef struct field_choice {
	uint32_t number, first_of_oneof, last_of_oneof;
} field_choice;

static const field_choice predict_log = {SP_LOG_PREDICT, SP_LOG_FIRST_KIND, SP_LOG_LAST_KIND};

static field_choice field_of(uint32_t number)
{
	return (field_choice){.number = number, .first_of_oneof = UINT32_MAX};
}

/* The submessage in a field of a validated message; data NULL: none.  Parts are concatenated. */
static sp_status find_message(sp_bytes *out, sp_bytes message, field_choice choice, sp_arena *arena,
			      sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	char *joined = NULL;
	sp_wire_field field;

	*out = (sp_bytes){NULL, 0};
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number != choice.number) {
			if (field.number >= choice.first_of_oneof &&
			    field.number <= choice.last_of_oneof)
				*out = (sp_bytes){NULL, 0};
			continue;
		}
		if (out->size == 0) {
			*out = field.bytes;
			continue;
		}
		if (joined == NULL && (joined = sp_arena_alloc(arena, message.size)) == NULL)
			return sp_no_memory(err, "a message");
		if (out->data != joined)
			memcpy(joined, out->data, out->size);
		memcpy(joined + out->size, field.bytes.data, field.bytes.size);
		*out = (sp_bytes){joined, out->size + field.bytes.size};
	}
	return SP_OK;
}

/* The last string in that field; empty if there is none. */
static sp_bytes find_text(sp_bytes message, uint32_t number)
{
	sp_wire wire = sp_wire_of(message);
	sp_bytes text = {"", 0};
	sp_wire_field field;

	while (sp_wire_next(&wire, &field))
		if (field.type == SP_WIRE_BYTES && field.number == number)
			text = field.bytes;
	return text;
}

/* Counts the length-delimited fields of that number. */
static size_t count_bytes(sp_bytes message, uint32_t number)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	size_t count = 0;

	while (sp_wire_next(&wire, &field))
		if (field.type == SP_WIRE_BYTES && field.number == number)
			count++;
	return count;
}

/* A recorded request while it is read. */
typedef struct recorded {
	sp_typed_request request;
	const char *signature;
	sp_named_tensor *inputs;
	sp_map places; /* of the inputs, by name */
	const char **outputs;
	size_t bytes; /* of the inputs */
} recorded;

/* The slot of an input; an input given twice reuses its slot, as in a map.  NULL: out of memory. */
static sp_named_tensor *find_place(recorded *r, const char *name)
{
	uint64_t place = r->request.input_count;

	if (sp_map_add(&r->places, sp_bytes_of(name), place) == SP_MAP_NO_MEMORY)
		return NULL;
	sp_map_get(&r->places, sp_bytes_of(name), &place);
	r->request.input_count += place == r->request.input_count;
	return &r->inputs[place];
}

static sp_status take_input(recorded *r, sp_bytes entry, sp_arena *arena, sp_error *err)
{
	sp_named_tensor *input;
	const char *name;
	sp_bytes value;
	sp_status status;

	SP_TRY(copy_name(&name, find_text(entry, SP_INPUT_KEY), arena, err));
	SP_TRY(find_message(&value, entry, field_of(SP_INPUT_VALUE), arena, err));
	input = find_place(r, name);
	SP_NEED_MEMORY(input, err, "a name");
	input->name = name;
	status = sp_tensor_parse(&input->tensor, value, arena, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "input '%s'", name);
	r->bytes += input->tensor.count * sp_dtype_size(input->tensor.dtype);
	if (r->bytes > MAX_REQUEST_BYTES)
		return sp_error_set(err, SP_INVALID, "its inputs are larger than %zu bytes",
				    MAX_REQUEST_BYTES);
	return SP_OK;
}

static sp_status take_fields(recorded *r, sp_bytes message, sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_SERVING_REQUEST_INPUTS)
			SP_TRY(take_input(r, field.bytes, arena, err));
		else if (field.number == SP_SERVING_REQUEST_OUTPUT_FILTER)
			SP_TRY(copy_name(&r->outputs[r->request.output_count++], field.bytes, arena,
					 err));
	}
	return SP_OK;
}

/* Reads a PredictRequest, which is not needed afterwards. */
static sp_status read_request(recorded *out, sp_bytes message, sp_arena *arena, sp_error *err)
{
	sp_bytes spec, signature;

	*out = (recorded){0};
	sp_map_init(&out->places, arena);
	SP_TRY(find_message(&spec, message, field_of(SP_SERVING_REQUEST_MODEL_SPEC), arena, err));
	signature = find_text(spec, SP_MODEL_SPEC_SIGNATURE);
	if (signature.size != 0)
		SP_TRY(copy_name(&out->signature, signature, arena, err));
	out->inputs = sp_arena_array(arena, count_bytes(message, SP_SERVING_REQUEST_INPUTS) + 1,
				     sizeof(*out->inputs));
	out->outputs = sp_arena_array(arena,
				      count_bytes(message, SP_SERVING_REQUEST_OUTPUT_FILTER) + 1,
				      sizeof(*out->outputs));
	SP_NEED_MEMORY(out->inputs != NULL && out->outputs != NULL, err, "a request");
	out->request.inputs = out->inputs;
	out->request.outputs = out->outputs;
	return take_fields(out, message, arena, err);
}

sp_status sp_recorded_read(sp_recorded_request *out, sp_bytes record, sp_arena *arena,
			   sp_error *err)
{
	sp_bytes log, message;
	recorded r;

	*out = (sp_recorded_request){.is_predict = false};
	if (!sp_wire_check(record, &sp_prediction_log_schema))
		return malformed(err);
	SP_TRY(find_message(&log, record, predict_log, arena, err));
	if (log.data == NULL)
		return SP_OK;
	SP_TRY(find_message(&message, log, field_of(SP_PREDICT_LOG_REQUEST), arena, err));
	SP_TRY(read_request(&r, message, arena, err));
	*out = (sp_recorded_request){true, r.request, r.signature};
	return SP_OK;
}
