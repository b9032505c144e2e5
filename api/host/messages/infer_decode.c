#include <string.h>

#include "api/host/infer/tensors.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/message_fields.h"
#include "api/host/messages/tensor_message.h"
#include "base/utf8.h"
#include "base/wire_values.h"

/* The last field of the parameter is its value. */
static sp_status check_bool(sp_bytes key, sp_bytes value, sp_error *err)
{
	sp_wire wire = sp_wire_of(value);
	sp_wire_field field;
	bool is_bool = false;

	while (sp_wire_next(&wire, &field))
		is_bool = field.number == SP_PARAMETER_BOOL && field.type == SP_WIRE_VARINT;
	SP_TRY(sp_message_end(&wire, err));
	return is_bool ? SP_OK
		       : sp_error_set(err, SP_INVALID, "parameter '%.*s' must be a bool",
				      (int)key.size, key.data);
}

/* A parameter: an entry of a map.  Three of them count. */
static sp_status read_parameter(sp_infer_head *out, sp_bytes entry, sp_error *err)
{
	sp_bytes key = {"", 0}, value = {"", 0}, text = {NULL, 0};
	uint64_t timeout = (uint64_t)out->timeout_us;
	const sp_wire_place parts[] = {{SP_ENTRY_KEY, SP_WIRE_BYTES, &key},
				       {SP_ENTRY_VALUE, SP_WIRE_BYTES, &value}};
	const sp_wire_place values[] = {{SP_PARAMETER_STRING, SP_WIRE_BYTES, &text},
					{SP_PARAMETER_INT64, SP_WIRE_VARINT, &timeout},
					{SP_PARAMETER_UINT64, SP_WIRE_VARINT, &timeout}};
	bool is_timeout;

	SP_TRY(sp_message_read(entry, parts, 2, err));
	if (sp_bytes_equal_text(key, "triton_enable_empty_final_response"))
		return check_bool(key, value, err);
	is_timeout = sp_bytes_equal_text(key, "timeout");
	if (!is_timeout && !sp_bytes_equal_text(key, "signature_name"))
		return SP_OK;
	SP_TRY(sp_message_read(value, values, 3, err));
	if (!is_timeout)
		return text.data != NULL ? sp_message_get_text(&out->signature_name, text, err)
					 : SP_OK;
	out->timeout_us = (int64_t)timeout;
	if (out->timeout_us < 0)
		return sp_error_set(err, SP_INVALID, "parameter 'timeout' must not be negative");
	return SP_OK;
}

sp_status sp_infer_message_head(sp_infer_head *out, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	memset(out, 0, sizeof(*out));
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_INFER_MODEL_NAME)
			SP_TRY(sp_message_get_text(&out->model_name, field.bytes, err));
		else if (field.number == SP_INFER_MODEL_VERSION)
			SP_TRY(sp_message_get_text(&out->model_version, field.bytes, err));
		else if (field.number == SP_INFER_ID)
			SP_TRY(sp_message_get_text(&out->id, field.bytes, err));
		else if (field.number == SP_INFER_PARAMETERS)
			SP_TRY(read_parameter(out, field.bytes, err));
	}
	return sp_message_end(&wire, err);
}

sp_bytes sp_infer_message_id(sp_bytes message)
{
	sp_wire wire = sp_wire_of(message);
	sp_bytes id = {"", 0};
	sp_wire_field field;

	while (sp_wire_next(&wire, &field))
		if (field.number == SP_INFER_ID && field.type == SP_WIRE_BYTES &&
		    field.bytes.size != 0 && sp_utf8_valid(field.bytes))
			id = field.bytes;
	return id;
}

/* --------------------------------------------------------------- one tensor */

/* An InferInputTensor. */
typedef struct tensor_scan {
	sp_bytes name, datatype;
	sp_bytes contents; /* the last one */
	bool has_contents;
	sp_tensor_dims shape;
} tensor_scan;

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
	for (scan->shape.rank = 0; at != end; scan->shape.rank++) {
		dim = sp_wire_read_small(&at, end);
		if (dim < 0 || scan->shape.rank == SP_TENSOR_MAX_DIMS)
			return false;
		scan->shape.dims[scan->shape.rank] = dim;
	}
	return true;
}

static sp_status scan_tensor(tensor_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	scan->contents = (sp_bytes){"", 0};
	scan->has_contents = false;
	if (scan_usual(scan, message))
		return SP_OK;
	scan->name = scan->datatype = (sp_bytes){"", 0};
	scan->shape.rank = 0;
	while (sp_wire_next(&wire, &field)) {
		if (field.number == SP_INFER_TENSOR_SHAPE)
			SP_TRY(sp_tensor_dims_take(&scan->shape, &field, err));
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_INFER_TENSOR_NAME) {
			scan->name = field.bytes;
		} else if (field.number == SP_INFER_TENSOR_DATATYPE) {
			scan->datatype = field.bytes;
		} else if (field.number == SP_INFER_TENSOR_CONTENTS) {
			if (scan->has_contents)
				return sp_error_set(err, SP_INVALID, "contents are given twice");
			scan->contents = field.bytes;
			scan->has_contents = true;
		}
	}
	return sp_message_end(&wire, err);
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
	size_t bytes = tensor->count * sp_tensor_element_size(tensor->dtype);

	if (tensor->dtype == SERVING_PROCESSOR_STRING)
		return decode_texts(tensor, raw, arena, err);
	if (raw.size != bytes)
		return sp_error_set(err, SP_INVALID, "%zu bytes of values, but the shape needs %zu",
				    raw.size, bytes);
	if (tensor->dtype == SERVING_PROCESSOR_BOOL)
		SP_TRY(sp_message_check_bools(raw, err));
	tensor->data = raw.data != NULL ? raw.data : "";
	return SP_OK;
}

/* The fields of InferTensorContents; other types have none. */
typedef struct contents_form {
	int dtype;
	uint32_t field;
	sp_wire_form values;
} contents_form;

static const contents_form contents_forms[] = {
	{SERVING_PROCESSOR_FLOAT, SP_CONTENTS_FP32, {SP_WIRE_FIXED32, 4, SP_WIRE_AS_IS, false}},
	{SERVING_PROCESSOR_INT64, SP_CONTENTS_INT64, {SP_WIRE_VARINT, 8, SP_WIRE_AS_IS, true}},
	{SERVING_PROCESSOR_INT32, SP_CONTENTS_INT, {SP_WIRE_VARINT, 4, SP_WIRE_AS_IS, true}},
	{SERVING_PROCESSOR_INT16, SP_CONTENTS_INT, {SP_WIRE_VARINT, 2, SP_WIRE_IN_RANGE, true}},
	{SERVING_PROCESSOR_INT8, SP_CONTENTS_INT, {SP_WIRE_VARINT, 1, SP_WIRE_IN_RANGE, true}},
	{SERVING_PROCESSOR_UINT64, SP_CONTENTS_UINT64, {SP_WIRE_VARINT, 8, SP_WIRE_AS_IS, false}},
	{SERVING_PROCESSOR_UINT32, SP_CONTENTS_UINT, {SP_WIRE_VARINT, 4, SP_WIRE_AS_IS, false}},
	{SERVING_PROCESSOR_UINT16, SP_CONTENTS_UINT, {SP_WIRE_VARINT, 2, SP_WIRE_IN_RANGE, false}},
	{SERVING_PROCESSOR_UINT8, SP_CONTENTS_UINT, {SP_WIRE_VARINT, 1, SP_WIRE_IN_RANGE, false}},
	{SERVING_PROCESSOR_BOOL, SP_CONTENTS_BOOL, {SP_WIRE_VARINT, 1, SP_WIRE_TO_BOOL, false}},
	{SERVING_PROCESSOR_DOUBLE, SP_CONTENTS_FP64, {SP_WIRE_FIXED64, 8, SP_WIRE_AS_IS, false}},
	{SERVING_PROCESSOR_STRING,
	 SP_CONTENTS_BYTES,
	 {SP_WIRE_BYTES, sizeof(sp_bytes), SP_WIRE_AS_IS, false}},
};

static const contents_form *find_form(int dtype)
{
	for (size_t i = 0; i < sizeof(contents_forms) / sizeof(contents_forms[0]); i++)
		if (contents_forms[i].dtype == dtype)
			return &contents_forms[i];
	return NULL;
}

static sp_status take_contents(sp_wire_sink *out, const contents_form *form, sp_bytes contents,
			       sp_error *err)
{
	sp_wire wire = sp_wire_of(contents);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		bool known = field.type == SP_WIRE_BYTES || field.type == out->form.type;

		if (field.number >= SP_CONTENTS_COUNT)
			continue;
		if (field.number != form->field || !known)
			return sp_error_set(err, SP_INVALID,
					    "contents have values of another datatype than %s",
					    sp_infer_datatype(form->dtype));
		if (!sp_wire_take_values(out, &field))
			return out->out_of_range ? sp_error_set(err, SP_INVALID,
								"a value out of the range of %s",
								sp_infer_datatype(form->dtype))
						 : sp_message_malformed(err);
	}
	return sp_message_end(&wire, err);
}

static sp_status decode_contents(serving_processor_tensor *tensor, sp_bytes contents,
				 sp_arena *arena, sp_error *err)
{
	const contents_form *form = find_form(tensor->dtype);
	sp_wire_sink out;
	size_t left, size;
	char *data;

	if (form == NULL)
		return sp_error_set(err, SP_INVALID, "%s goes into raw_input_contents only",
				    sp_infer_datatype(tensor->dtype));
	if (tensor->count > contents.size)
		return sp_error_set(err, SP_INVALID, "too few values for the shape");
	size = tensor->count * form->values.size;
	data = sp_arena_alloc(arena, size);
	if (data == NULL)
		return sp_no_memory(err, "an input");
	out = (sp_wire_sink){.form = form->values, .at = data, .end = data + size};
	SP_TRY(take_contents(&out, form, contents, err));
	left = (size_t)(out.end - out.at) / form->values.size;
	if (left != 0 || out.dropped != 0)
		return sp_error_set(err, SP_INVALID, "%zu values, but the shape needs %zu",
				    tensor->count - left + out.dropped, tensor->count);
	tensor->data = data;
	return SP_OK;
}

static sp_status decode_values(serving_processor_tensor *tensor, const tensor_scan *scan,
			       const sp_bytes *raw, sp_arena *arena, sp_error *err)
{
	SP_TRY(sp_tensor_dims_set(tensor, &scan->shape, arena, err));
	if (raw == NULL)
		return decode_contents(tensor, scan->contents, arena, err);
	if (scan->has_contents)
		return sp_error_set(err, SP_INVALID,
				    "contents must not be given with raw_input_contents");
	return sp_infer_raw_decode(tensor, *raw, arena, err);
}

/* ------------------------------------------------------------------- request */

/* The repeated fields of a request. */
typedef struct request_scan {
	sp_bytes *raw; /* [raw_count] */
	size_t input_count, raw_count;
} request_scan;

static sp_status scan_request(request_scan *scan, sp_bytes message, sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	size_t raw = 0;

	memset(scan, 0, sizeof(*scan));
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		scan->input_count += field.number == SP_INFER_INPUTS;
		scan->raw_count += field.number == SP_INFER_RAW_INPUTS;
	}
	SP_TRY(sp_message_end(&wire, err));
	if (scan->raw_count != 0 && scan->raw_count != scan->input_count)
		return sp_error_set(err, SP_INVALID,
				    "%zu raw_input_contents for %zu inputs: expected one for each",
				    scan->raw_count, scan->input_count);
	scan->raw = sp_arena_array(arena, scan->raw_count, sizeof(*scan->raw));
	if (scan->raw == NULL)
		return sp_no_memory(err, "the inputs");
	wire = sp_wire_of(message);
	while (raw < scan->raw_count && sp_wire_next(&wire, &field))
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
	while (sp_wire_next(&wire, &field)) {
		if (field.number != SP_INFER_INPUTS || field.type != SP_WIRE_BYTES)
			continue;
		SP_TRY(scan_tensor(&input, field.bytes, err));
		if (sp_bytes_equal(input.name, name)) {
			out->dtype = sp_infer_dtype(input.datatype);
			return out->dtype == 0
				       ? sp_message_malformed(err)
				       : decode_values(out, &input,
						       scan.raw_count != 0 ? &scan.raw[nth] : NULL,
						       arena, err);
		}
		nth++;
	}
	return sp_error_set(err, SP_NOT_FOUND, "there is no such input");
}

sp_status sp_infer_take_input(serving_processor_tensor **out, sp_message_inputs *inputs, size_t nth,
			      sp_bytes name, sp_bytes datatype, sp_message_memory *memory,
			      sp_error *err)
{
	int index = sp_message_input_index(inputs, memory, nth, name);
	serving_processor_tensor *tensor = &inputs->tensors[index >= 0 ? index : 0];

	if (index < 0)
		return sp_error_set(err, SP_INVALID, "unexpected inference input '%.*s'",
				    sp_message_shown(name), name.data);
	if (tensor->dtype != 0)
		return sp_error_set(err, SP_INVALID, "input '%.*s' already exists in request",
				    sp_message_shown(name), name.data);
	tensor->name = inputs->signature->inputs[index]->alias;
	tensor->dtype = sp_infer_dtype(datatype);
	if (tensor->dtype == 0)
		return sp_error_set(err, SP_INVALID, "invalid datatype '%.*s' for input '%s'",
				    sp_message_shown(datatype), datatype.data, tensor->name);
	inputs->given++;
	*out = tensor;
	return SP_OK;
}

sp_status sp_infer_take_output(sp_message_inputs *inputs, sp_bytes name, sp_error *err)
{
	const char *alias = sp_message_output_alias(inputs->signature, name);

	if (alias == NULL)
		return sp_error_set(err, SP_INVALID, "unexpected inference output '%.*s'",
				    sp_message_shown(name), name.data);
	for (size_t i = 0; i < inputs->output_count; i++)
		if (inputs->outputs[i] == alias)
			return sp_error_set(err, SP_INVALID, "output '%s' is requested twice",
					    alias);
	inputs->outputs[inputs->output_count++] = alias;
	return SP_OK;
}

static sp_status take_input(sp_message_inputs *out, const request_scan *scan, size_t nth,
			    sp_bytes message, sp_message_memory *memory, sp_error *err)
{
	const sp_bytes *raw = scan->raw_count != 0 ? &scan->raw[nth] : NULL;
	serving_processor_tensor *tensor;
	tensor_scan input;
	sp_status status;

	SP_TRY(scan_tensor(&input, message, err));
	SP_TRY(sp_infer_take_input(&tensor, out, nth, input.name, input.datatype, memory, err));
	status = decode_values(tensor, &input, raw, memory->arena, err);
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "input '%s'", tensor->name);
}

static sp_status take_output(sp_message_inputs *out, sp_bytes message, sp_error *err)
{
	tensor_scan output;

	SP_TRY(scan_tensor(&output, message, err));
	return sp_infer_take_output(out, output.name, err);
}

sp_status sp_infer_message_decode(sp_message_inputs *out,
				  const serving_processor_signature *signature, sp_bytes message,
				  sp_message_memory *memory, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	request_scan scan;
	sp_wire_field field;
	size_t nth = 0;

	SP_TRY(sp_message_inputs_init(out, signature, memory, err));
	SP_TRY(scan_request(&scan, message, memory->arena, err));
	out->outputs = sp_arena_array(memory->arena, signature->output_count,
				      sizeof(*out->outputs));
	if (out->outputs == NULL)
		return sp_no_memory(err, "the outputs");
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_INFER_INPUTS)
			SP_TRY(take_input(out, &scan, nth++, field.bytes, memory, err));
		else if (field.number == SP_INFER_OUTPUTS)
			SP_TRY(take_output(out, field.bytes, err));
	}
	return sp_message_inputs_check(out, err);
}
