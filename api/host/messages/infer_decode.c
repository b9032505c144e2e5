#include <inttypes.h>
#include <string.h>

#include "api/host/messages/infer_message.h"
#include "api/host/messages/message_fields.h"
#include "api/host/messages/tensor_message.h"
#include "base/utf8.h"
#include "base/wire.h"

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "the message cannot be parsed");
}

static sp_status read_text(sp_bytes *out, sp_bytes text, sp_error *err)
{
	*out = text;
	return sp_utf8_valid(text) ? SP_OK : malformed(err);
}

/* The value of a parameter that counts. */
static sp_status read_parameter(sp_infer_head *out, sp_bytes key, sp_bytes value, sp_error *err)
{
	bool timeout = sp_bytes_equal_text(key, "timeout");
	sp_wire wire = sp_wire_of(value);
	sp_wire_result result;
	sp_wire_field field;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (!timeout && field.number == SP_PARAMETER_STRING && field.type == SP_WIRE_BYTES)
			SP_TRY(read_text(&out->signature_name, field.bytes, err));
		else if (timeout && field.type == SP_WIRE_VARINT &&
			 (field.number == SP_PARAMETER_INT64 ||
			  field.number == SP_PARAMETER_UINT64))
			out->timeout_us = (int64_t)field.value;
	}
	if (out->timeout_us < 0)
		return sp_error_set(err, SP_INVALID, "parameter 'timeout' must not be negative");
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

/* The last of the fields is the value. */
static sp_status check_bool(sp_bytes key, sp_bytes value, sp_error *err)
{
	sp_wire wire = sp_wire_of(value);
	sp_wire_result result;
	sp_wire_field field;
	bool is_bool = false;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD)
		is_bool = field.number == SP_PARAMETER_BOOL && field.type == SP_WIRE_VARINT;
	if (result != SP_WIRE_END)
		return malformed(err);
	return is_bool ? SP_OK
		       : sp_error_set(err, SP_INVALID, "parameter '%.*s' must be a bool",
				      (int)key.size, key.data);
}

/* An entry of the map of parameters. */
static sp_status read_entry(sp_infer_head *out, sp_bytes entry, sp_error *err)
{
	sp_wire wire = sp_wire_of(entry);
	sp_bytes key = {"", 0}, value = {"", 0};
	sp_wire_result result;
	sp_wire_field field;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number == SP_ENTRY_KEY && field.type == SP_WIRE_BYTES)
			key = field.bytes;
		else if (field.number == SP_ENTRY_VALUE && field.type == SP_WIRE_BYTES)
			value = field.bytes;
	}
	if (result != SP_WIRE_END)
		return malformed(err);
	if (sp_bytes_equal_text(key, "triton_enable_empty_final_response"))
		return check_bool(key, value, err);
	if (sp_bytes_equal_text(key, "timeout") || sp_bytes_equal_text(key, "signature_name"))
		return read_parameter(out, key, value, err);
	return SP_OK;
}

sp_status sp_infer_message_head(sp_infer_head *out, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	memset(out, 0, sizeof(*out));
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_INFER_MODEL_NAME)
			SP_TRY(read_text(&out->model_name, field.bytes, err));
		else if (field.number == SP_INFER_MODEL_VERSION)
			SP_TRY(read_text(&out->model_version, field.bytes, err));
		else if (field.number == SP_INFER_ID)
			SP_TRY(read_text(&out->id, field.bytes, err));
		else if (field.number == SP_INFER_PARAMETERS)
			SP_TRY(read_entry(out, field.bytes, err));
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

sp_bytes sp_infer_message_id(sp_bytes message)
{
	sp_wire wire = sp_wire_of(message);
	sp_bytes id = {"", 0};
	sp_wire_field field;

	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
		if (field.number == SP_INFER_ID && field.type == SP_WIRE_BYTES &&
		    field.bytes.size != 0 && sp_utf8_valid(field.bytes))
			id = field.bytes;
	return id;
}

/* --------------------------------------------------------------- one tensor */

enum { MAX_DIMS = 16 };

/* An InferInputTensor. */
typedef struct tensor_scan {
	sp_bytes name, datatype;
	sp_bytes contents; /* the last one */
	bool has_contents;
	int rank;
	int64_t dims[MAX_DIMS];
} tensor_scan;

static sp_status add_dim(tensor_scan *scan, uint64_t dim, sp_error *err)
{
	if (scan->rank == MAX_DIMS)
		return sp_error_set(err, SP_INVALID, "more than %d dimensions", MAX_DIMS);
	scan->dims[scan->rank++] = (int64_t)dim;
	return SP_OK;
}

static sp_status add_dims(tensor_scan *scan, sp_bytes packed, sp_error *err)
{
	sp_wire wire = sp_wire_of(packed);
	uint64_t dim;

	while (wire.at != wire.end) {
		if (!sp_wire_read_varint(&wire, &dim))
			return malformed(err);
		SP_TRY(add_dim(scan, dim, err));
	}
	return SP_OK;
}

/* Takes a short field of bytes with this tag; false if it is not the next one. */
static inline bool take_short(const unsigned char **at, const unsigned char *end, unsigned char tag,
			      sp_bytes *out)
{
	const unsigned char *p = *at;

	if (end - p < 2 || p[0] != tag || p[1] >= 0x80 || p[1] > end - p - 2)
		return false;
	*out = (sp_bytes){(const char *)p + 2, p[1]};
	*at = p + 2 + p[1];
	return true;
}

/*
 * Reads a tensor as writers make it where raw_input_contents have its values: name, datatype,
 * shape.  False for any other, whose scan starts afresh.
 */
static bool scan_usual(tensor_scan *scan, sp_bytes message)
{
	enum { TAG_NAME = 0x0a, TAG_DATATYPE = 0x12, TAG_SHAPE = 0x1a };
	const unsigned char *at = (const unsigned char *)message.data, *end = at + message.size;
	sp_bytes shape;
	int dim;

	if (message.size == 0 || !take_short(&at, end, TAG_NAME, &scan->name) ||
	    !take_short(&at, end, TAG_DATATYPE, &scan->datatype) ||
	    !take_short(&at, end, TAG_SHAPE, &shape) || at != end)
		return false;
	at = (const unsigned char *)shape.data;
	end = at + shape.size;
	for (scan->rank = 0; at != end; scan->rank++) {
		dim = sp_wire_read_small(&at, end);
		if (dim < 0 || scan->rank == MAX_DIMS)
			return false;
		scan->dims[scan->rank] = dim;
	}
	return true;
}

static sp_status scan_tensor(tensor_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	scan->contents = (sp_bytes){"", 0};
	scan->has_contents = false;
	if (scan_usual(scan, message))
		return SP_OK;
	scan->name = scan->datatype = (sp_bytes){"", 0};
	scan->rank = 0;
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number == SP_INFER_TENSOR_SHAPE && field.type == SP_WIRE_VARINT) {
			SP_TRY(add_dim(scan, field.value, err));
			continue;
		}
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_INFER_TENSOR_NAME) {
			scan->name = field.bytes;
		} else if (field.number == SP_INFER_TENSOR_DATATYPE) {
			scan->datatype = field.bytes;
		} else if (field.number == SP_INFER_TENSOR_SHAPE) {
			SP_TRY(add_dims(scan, field.bytes, err));
		} else if (field.number == SP_INFER_TENSOR_CONTENTS) {
			if (scan->has_contents)
				return sp_error_set(err, SP_INVALID, "contents are given twice");
			scan->contents = field.bytes;
			scan->has_contents = true;
		}
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

/* ------------------------------------------------------------------- values */

static sp_status decode_texts(serving_processor_tensor *tensor, sp_bytes raw, sp_arena *arena,
			      sp_error *err)
{
	const char *at = raw.data;
	size_t left = raw.size;
	sp_bytes *texts;

	if (tensor->count > raw.size / sizeof(uint32_t))
		return sp_error_set(err, SP_INVALID, "%zu bytes for %zu strings", raw.size,
				    tensor->count);
	texts = sp_arena_array(arena, tensor->count, sizeof(*texts));
	if (texts == NULL)
		return sp_no_memory(err, "an input");
	for (size_t i = 0; i < tensor->count; i++) {
		uint32_t size;

		if (left < sizeof(size))
			return sp_error_set(err, SP_INVALID, "string %zu is cut short", i);
		memcpy(&size, at, sizeof(size));
		at += sizeof(size);
		left -= sizeof(size);
		if (left < size)
			return sp_error_set(err, SP_INVALID, "string %zu is cut short", i);
		texts[i] = (sp_bytes){at, size};
		at += size;
		left -= size;
	}
	if (left != 0)
		return sp_error_set(err, SP_INVALID, "%zu bytes behind the last string", left);
	tensor->data = texts;
	return SP_OK;
}

sp_status sp_infer_raw_decode(serving_processor_tensor *tensor, sp_bytes raw, sp_arena *arena,
			      sp_error *err)
{
	size_t bytes = tensor->count * sp_tensor_message_element_size(tensor->dtype);

	if (tensor->dtype == SERVING_PROCESSOR_STRING)
		return decode_texts(tensor, raw, arena, err);
	if (raw.size != bytes)
		return sp_error_set(err, SP_INVALID, "%zu bytes of values, but the shape needs %zu",
				    raw.size, bytes);
	if (tensor->dtype == SERVING_PROCESSOR_BOOL)
		for (size_t i = 0; i < raw.size; i++)
			if ((unsigned char)raw.data[i] > 1)
				return sp_error_set(err, SP_INVALID,
						    "a bool that is neither 0 nor 1");
	tensor->data = raw.data != NULL ? raw.data : "";
	return SP_OK;
}

/* The field of InferTensorContents for a type, and the wire type of its values; 0: none. */
static uint32_t contents_field(int dtype, sp_wire_type *wire)
{
	*wire = SP_WIRE_VARINT;
	switch (dtype) {
	case SERVING_PROCESSOR_BOOL:
		return SP_CONTENTS_BOOL;
	case SERVING_PROCESSOR_INT8:
	case SERVING_PROCESSOR_INT16:
	case SERVING_PROCESSOR_INT32:
		return SP_CONTENTS_INT;
	case SERVING_PROCESSOR_INT64:
		return SP_CONTENTS_INT64;
	case SERVING_PROCESSOR_UINT8:
	case SERVING_PROCESSOR_UINT16:
	case SERVING_PROCESSOR_UINT32:
		return SP_CONTENTS_UINT;
	case SERVING_PROCESSOR_UINT64:
		return SP_CONTENTS_UINT64;
	case SERVING_PROCESSOR_FLOAT:
		*wire = SP_WIRE_FIXED32;
		return SP_CONTENTS_FP32;
	case SERVING_PROCESSOR_DOUBLE:
		*wire = SP_WIRE_FIXED64;
		return SP_CONTENTS_FP64;
	case SERVING_PROCESSOR_STRING:
		*wire = SP_WIRE_BYTES;
		return SP_CONTENTS_BYTES;
	default:
		return 0;
	}
}

/* The elements that contents give, one after another. */
typedef struct sink {
	int dtype;
	size_t size; /* of an element */
	char *at;
	size_t left, extra; /* elements */
} sink;

static bool fits(int dtype, size_t size, uint64_t value)
{
	int64_t limit = (int64_t)1 << (8 * size - 1);
	int64_t number = (int32_t)value;

	if (dtype == SERVING_PROCESSOR_INT8 || dtype == SERVING_PROCESSOR_INT16)
		return number >= -limit && number < limit;
	if (dtype == SERVING_PROCESSOR_UINT8 || dtype == SERVING_PROCESSOR_UINT16)
		return (uint32_t)value < 2 * (uint64_t)limit;
	return true;
}

static sp_status take_value(sink *out, const void *value, sp_error *err)
{
	if (out->left == 0) {
		out->extra++;
		return SP_OK;
	}
	if (out->size <= 2 && out->dtype != SERVING_PROCESSOR_BOOL) {
		uint64_t number;

		memcpy(&number, value, sizeof(number));
		if (!fits(out->dtype, out->size, number))
			return sp_error_set(err, SP_INVALID, "a value out of the range of %s",
					    sp_infer_datatype(out->dtype));
	}
	memcpy(out->at, value, out->size);
	out->at += out->size;
	out->left--;
	return SP_OK;
}

static sp_status take_packed(sink *out, sp_bytes run, sp_wire_type type, sp_error *err)
{
	sp_wire wire = sp_wire_of(run);
	uint64_t value;

	if (type == SP_WIRE_BYTES)
		return take_value(out, &run, err);
	if (type != SP_WIRE_VARINT) {
		if (run.size % out->size != 0)
			return malformed(err);
		for (size_t i = 0; i < run.size; i += out->size)
			SP_TRY(take_value(out, run.data + i, err));
		return SP_OK;
	}
	while (wire.at != wire.end) {
		if (!sp_wire_read_varint(&wire, &value))
			return malformed(err);
		if (out->dtype == SERVING_PROCESSOR_BOOL)
			value = value != 0;
		SP_TRY(take_value(out, &value, err));
	}
	return SP_OK;
}

static sp_status decode_contents(serving_processor_tensor *tensor, sp_bytes contents,
				 size_t element_size, sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(contents);
	sp_wire_type type;
	uint32_t number = contents_field(tensor->dtype, &type);
	sink out = {tensor->dtype, element_size, NULL, tensor->count, 0};
	sp_wire_result result;
	sp_wire_field field;
	char *data;

	if (number == 0)
		return sp_error_set(err, SP_INVALID, "%s goes into raw_input_contents only",
				    sp_infer_datatype(tensor->dtype));
	if (tensor->count > contents.size)
		return sp_error_set(err, SP_INVALID, "too few values for the shape");
	data = out.at = sp_arena_array(arena, tensor->count, element_size);
	if (data == NULL)
		return sp_no_memory(err, "an input");
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number == number && field.type == SP_WIRE_BYTES)
			SP_TRY(take_packed(&out, field.bytes, type, err));
		else if (field.number == number && field.type == type) {
			field.value = tensor->dtype == SERVING_PROCESSOR_BOOL ? field.value != 0
									      : field.value;
			SP_TRY(take_value(&out, &field.value, err));
		} else if (field.number < SP_CONTENTS_COUNT) {
			return sp_error_set(err, SP_INVALID,
					    "contents have values of another datatype than %s",
					    sp_infer_datatype(tensor->dtype));
		}
	}
	if (result != SP_WIRE_END)
		return malformed(err);
	if (out.left != 0 || out.extra != 0)
		return sp_error_set(err, SP_INVALID, "%zu values, but the shape needs %zu",
				    tensor->count - out.left + out.extra, tensor->count);
	tensor->data = data;
	return SP_OK;
}

static sp_status decode_tensor(serving_processor_tensor *tensor, const tensor_scan *scan,
			       const sp_bytes *raw, sp_arena *arena, sp_error *err)
{
	int64_t *dims = sp_arena_array(arena, (size_t)scan->rank, sizeof(*dims));
	size_t element_size, bytes;

	if (dims == NULL)
		return sp_no_memory(err, "an input");
	tensor->dtype = sp_infer_dtype(scan->datatype);
	if (tensor->dtype == 0)
		return sp_error_set(err, SP_INVALID, "datatype '%.*s' does not exist",
				    (int)(scan->datatype.size < 64 ? scan->datatype.size : 64),
				    scan->datatype.data);
	memcpy(dims, scan->dims, (size_t)scan->rank * sizeof(*dims));
	tensor->rank = scan->rank;
	tensor->dims = dims;
	element_size = sp_tensor_message_element_size(tensor->dtype);
	if (!sp_tensor_message_size(dims, scan->rank, element_size, &tensor->count, &bytes))
		return sp_error_set(err, SP_INVALID, "the shape is negative or too large");
	if (raw == NULL)
		return decode_contents(tensor, scan->contents, element_size, arena, err);
	if (scan->has_contents)
		return sp_error_set(err, SP_INVALID,
				    "contents must not be given with raw_input_contents");
	return sp_infer_raw_decode(tensor, *raw, arena, err);
}

/* ------------------------------------------------------------------- request */

/* The repeated fields of a request. */
typedef struct request_scan {
	sp_bytes *raw; /* [raw_count] */
	size_t input_count, raw_count, output_count;
} request_scan;

static sp_status scan_request(request_scan *scan, sp_bytes message, sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;
	size_t raw = 0;

	memset(scan, 0, sizeof(*scan));
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		scan->input_count += field.number == SP_INFER_INPUTS;
		scan->output_count += field.number == SP_INFER_OUTPUTS;
		scan->raw_count += field.number == SP_INFER_RAW_INPUTS;
	}
	if (result != SP_WIRE_END)
		return malformed(err);
	if (scan->raw_count != 0 && scan->raw_count != scan->input_count)
		return sp_error_set(err, SP_INVALID,
				    "%zu raw_input_contents for %zu inputs: expected one for each",
				    scan->raw_count, scan->input_count);
	scan->raw = sp_arena_array(arena, scan->raw_count, sizeof(*scan->raw));
	if (scan->raw == NULL)
		return sp_no_memory(err, "the inputs");
	wire = sp_wire_of(message);
	while (raw < scan->raw_count && sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
		if (field.number == SP_INFER_RAW_INPUTS && field.type == SP_WIRE_BYTES)
			scan->raw[raw++] = field.bytes;
	return SP_OK;
}

sp_status sp_infer_message_find(serving_processor_tensor *out, sp_bytes name, sp_bytes message,
				sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	request_scan scan;
	tensor_scan input;
	sp_wire_field field;
	size_t nth = 0;

	SP_TRY(scan_request(&scan, message, arena, err));
	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD) {
		if (field.number != SP_INFER_INPUTS || field.type != SP_WIRE_BYTES)
			continue;
		SP_TRY(scan_tensor(&input, field.bytes, err));
		if (sp_bytes_equal(input.name, name))
			return decode_tensor(out, &input,
					     scan.raw_count != 0 ? &scan.raw[nth] : NULL, arena,
					     err);
		nth++;
	}
	return sp_error_set(err, SP_NOT_FOUND, "there is no such input");
}

static int shown(sp_bytes name)
{
	return (int)(name.size < 256 ? name.size : 256);
}

static sp_status take_input(sp_message_inputs *out, const request_scan *scan, size_t nth,
			    sp_bytes message, sp_message_memory *memory, sp_error *err)
{
	serving_processor_tensor *tensor;
	tensor_scan input;
	sp_status status;
	int index;

	SP_TRY(scan_tensor(&input, message, err));
	index = sp_message_input_index(out, memory, nth, input.name);
	if (index < 0)
		return sp_error_set(err, SP_INVALID, "unexpected inference input '%.*s'",
				    shown(input.name), input.name.data);
	tensor = &out->tensors[index];
	if (tensor->dtype != 0)
		return sp_error_set(err, SP_INVALID, "input '%.*s' already exists in request",
				    shown(input.name), input.name.data);
	tensor->name = out->signature->inputs[index]->alias;
	out->given++;
	status = decode_tensor(tensor, &input, scan->raw_count != 0 ? &scan->raw[nth] : NULL,
			       memory->arena, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "input '%s'", tensor->name);
	return SP_OK;
}

static sp_status take_output(sp_message_inputs *out, sp_bytes message, sp_error *err)
{
	const char *alias;
	tensor_scan output;

	SP_TRY(scan_tensor(&output, message, err));
	alias = sp_message_output_alias(out->signature, output.name);
	if (alias == NULL)
		return sp_error_set(err, SP_INVALID, "unexpected inference output '%.*s'",
				    shown(output.name), output.name.data);
	for (size_t i = 0; i < out->output_count; i++)
		if (out->outputs[i] == alias)
			return sp_error_set(err, SP_INVALID, "output '%s' is requested twice",
					    alias);
	out->outputs[out->output_count++] = alias;
	return SP_OK;
}

sp_status sp_infer_message_decode(sp_message_inputs *out,
				  const serving_processor_signature *signature, sp_bytes message,
				  sp_message_memory *memory, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	request_scan scan;
	sp_wire_field field;
	size_t nth = 0, outputs;

	SP_TRY(sp_message_inputs_init(out, signature, memory, err));
	SP_TRY(scan_request(&scan, message, memory->arena, err));
	/* Each at most once. */
	outputs = scan.output_count < signature->output_count ? scan.output_count
							      : signature->output_count;
	out->outputs = sp_arena_array(memory->arena, outputs, sizeof(*out->outputs));
	if (out->outputs == NULL)
		return sp_no_memory(err, "the outputs");
	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_INFER_INPUTS)
			SP_TRY(take_input(out, &scan, nth++, field.bytes, memory, err));
		else if (field.number == SP_INFER_OUTPUTS)
			SP_TRY(take_output(out, field.bytes, err));
	}
	return sp_message_inputs_check(out, err);
}
