#include <string.h>

#include "api/host/infer/tensors.h"
#include "api/host/json/json_reader.h"
#include "api/host/messages/infer_message.h"
#include "api/host/predict/json_tensor.h"
#include "api/host/sticky/sticky_internal.h"

/* --------------------------------------------------------------- moving in the text */

/* The quote that ends the string at `at`; `end` if there is none. */
static const char *end_of_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at : end;
}

/*
 * Moves behind a value of any depth; false at the end of the text.  Only brackets are counted: what
 * is wrong with the value will be said when the request is decoded.
 */
static bool skip(sp_json_reader *reader)
{
	const char *at = reader->at, *end = reader->end;
	size_t depth = 0;
	bool done = false;

	for (; at < end && !done; at++) {
		if (*at == '"') {
			at = end_of_string(at, end);
			done = depth == 0;
		} else if (*at == '[' || *at == '{') {
			depth++;
		} else if (*at == ']' || *at == '}') {
			if (depth == 0)
				break; /* behind a number or a word */
			done = --depth == 0;
		} else if (*at == ',' && depth == 0) {
			break;
		}
	}
	reader->at = at < end ? at : end;
	return at < end;
}

/* Moves to the value of a member of the object that is next; false if it has none of the names. */
static bool enter(sp_json_reader *reader, const char *name, const char *other, sp_arena *arena)
{
	sp_bytes key;
	bool more;

	if (sp_json_peek(reader) != SP_JSON_OBJECT)
		return false;
	for (size_t n = 0;; n++) {
		if (sp_json_object_next(reader, n, &more, &key, arena, NULL) != SP_OK || !more)
			return false;
		if (sp_bytes_equal_text(key, name) ||
		    (other != NULL && sp_bytes_equal_text(key, other)))
			return true;
		if (!skip(reader))
			return false;
	}
}

/* Moves to the first element of the array that is next; false if there is none. */
static bool enter_array(sp_json_reader *reader)
{
	bool more;

	return sp_json_peek(reader) == SP_JSON_ARRAY &&
	       sp_json_array_next(reader, 0, &more, NULL) == SP_OK && more;
}

/* -------------------------------------------------------------------------- values */

static sp_bytes read_number(sp_sticky_body *body, sp_json_reader *reader)
{
	sp_json_number number;
	uint64_t positive;
	int64_t value;

	if (sp_json_number_read(reader, &number, NULL) != SP_OK)
		return SP_STICKY_NONE;
	if (sp_json_number_to_i64(&number, &value))
		return sp_sticky__signed(body, value);
	if (sp_json_number_to_u64(&number, &positive))
		return sp_sticky__unsigned(body, positive);
	return sp_sticky__real(body, sp_json_number_to_f64(&number));
}

/* The first scalar of the value that is next. */
static sp_bytes read_first(sp_sticky_body *body, sp_json_reader *reader)
{
	sp_bytes text = SP_STICKY_NONE;
	sp_json_kind kind;

	while ((kind = sp_json_peek(reader)) == SP_JSON_ARRAY)
		if (!enter_array(reader))
			return SP_STICKY_NONE;
	switch (kind) {
	case SP_JSON_NUMBER:
		return read_number(body, reader);
	case SP_JSON_TRUE:
	case SP_JSON_FALSE:
		return sp_sticky__unsigned(body, kind == SP_JSON_TRUE);
	case SP_JSON_STRING:
		return sp_json_string(reader, &text, body->arena, NULL) == SP_OK ? text
										 : SP_STICKY_NONE;
	case SP_JSON_OBJECT:
		if (sp_json_is_base64(reader, body->arena) &&
		    sp_json_read_base64(reader, &text, body->arena, NULL) == SP_OK)
			return text;
		break;
	case SP_JSON_NULL:
	case SP_JSON_ARRAY:
	case SP_JSON_NONE:
		break;
	}
	return SP_STICKY_NONE;
}

static sp_bytes predict_json(sp_sticky_body *body, sp_json_reader *reader, const char *name)
{
	if (!enter(reader, "instances", "inputs", body->arena))
		return SP_STICKY_NONE;
	while (sp_json_peek(reader) == SP_JSON_ARRAY) /* its first row */
		if (!enter_array(reader))
			return SP_STICKY_NONE;
	if (sp_json_peek(reader) == SP_JSON_OBJECT && !sp_json_is_base64(reader, body->arena) &&
	    !enter(reader, name, NULL, body->arena))
		return SP_STICKY_NONE;
	return read_first(body, reader);
}

static sp_bytes examples_json(sp_sticky_body *body, sp_json_reader *reader, const char *name)
{
	const char *start = reader->at;

	if (enter(reader, "examples", NULL, body->arena) && enter_array(reader) &&
	    enter(reader, name, NULL, body->arena))
		return read_first(body, reader);
	reader->at = start;
	if (enter(reader, "context", NULL, body->arena) && enter(reader, name, NULL, body->arena))
		return read_first(body, reader);
	return SP_STICKY_NONE;
}

/* ------------------------------------------------------------ Open Inference Protocol */

/* An element of "inputs". */
typedef struct v2_input {
	sp_bytes name, datatype;
	const char *data;    /* NULL: none */
	int64_t binary_size; /* -1: none */
} v2_input;

static int64_t read_binary_size(sp_json_reader *reader, sp_arena *arena)
{
	const char *start = reader->at;
	sp_json_number number;
	int64_t size = -1;

	if (!enter(reader, "binary_data_size", NULL, arena) ||
	    sp_json_peek(reader) != SP_JSON_NUMBER ||
	    sp_json_number_read(reader, &number, NULL) != SP_OK ||
	    !sp_json_number_to_i64(&number, &size) || size < 0)
		size = -1;
	reader->at = start;
	return size;
}

static bool read_v2_input(v2_input *out, sp_json_reader *reader, sp_arena *arena)
{
	sp_bytes key, *text;
	bool more;

	*out = (v2_input){.binary_size = -1};
	if (sp_json_peek(reader) != SP_JSON_OBJECT)
		return false;
	for (size_t n = 0;; n++) {
		if (sp_json_object_next(reader, n, &more, &key, arena, NULL) != SP_OK)
			return false;
		if (!more)
			return true;
		text = sp_bytes_equal_text(key, "name")       ? &out->name
		       : sp_bytes_equal_text(key, "datatype") ? &out->datatype
							      : NULL;
		if (text != NULL && sp_json_peek(reader) == SP_JSON_STRING) {
			if (sp_json_string(reader, text, arena, NULL) != SP_OK)
				return false;
			continue;
		}
		if (sp_bytes_equal_text(key, "data"))
			out->data = reader->at;
		else if (sp_bytes_equal_text(key, "parameters"))
			out->binary_size = read_binary_size(reader, arena);
		if (!skip(reader))
			return false;
	}
}

/* The key of the first of the raw values. */
static sp_bytes read_raw(sp_sticky_body *body, sp_bytes datatype, sp_bytes raw)
{
	int dtype = sp_infer_dtype(datatype);
	uint32_t size;

	if (dtype != SERVING_PROCESSOR_STRING)
		return raw.size != 0 && raw.size >= sp_tensor_element_size(dtype)
			       ? sp_sticky__element(body, dtype, raw.data)
			       : SP_STICKY_NONE;
	if (raw.size < sizeof(size))
		return SP_STICKY_NONE;
	memcpy(&size, raw.data, sizeof(size));
	return size <= raw.size - sizeof(size) ? (sp_bytes){raw.data + sizeof(size), size}
					       : SP_STICKY_NONE;
}

static sp_bytes v2_json(sp_sticky_body *body, sp_json_reader *reader, const char *name,
			sp_bytes binary)
{
	v2_input input;
	bool more;

	if (!enter(reader, "inputs", NULL, body->arena) || sp_json_peek(reader) != SP_JSON_ARRAY)
		return SP_STICKY_NONE;
	for (size_t n = 0;; n++) {
		size_t size;

		if (sp_json_array_next(reader, n, &more, NULL) != SP_OK || !more ||
		    !read_v2_input(&input, reader, body->arena))
			return SP_STICKY_NONE;
		size = input.binary_size >= 0 ? (size_t)input.binary_size : 0;
		if (size > binary.size)
			return SP_STICKY_NONE;
		if (sp_bytes_equal_text(input.name, name))
			break;
		binary = (sp_bytes){binary.data + size, binary.size - size};
	}
	if (input.binary_size >= 0)
		return read_raw(body, input.datatype,
				(sp_bytes){binary.data, (size_t)input.binary_size});
	reader->at = input.data;
	return input.data != NULL ? read_first(body, reader) : SP_STICKY_NONE;
}

/* ------------------------------------------------------------------------- bodies */

typedef sp_bytes json_finder(sp_sticky_body *body, sp_json_reader *reader, const char *name);

static sp_bytes find_in_json(sp_sticky_body *body, const char *name, json_finder *find)
{
	sp_json_reader reader;
	sp_bytes key;

	sp_json_reader_init(&reader, body->bytes);
	key = find(body, &reader, name);
	sp_json_reader_fini(&reader);
	return key;
}

sp_bytes sp_sticky__predict_json(sp_sticky_body *body, const char *name)
{
	return find_in_json(body, name, predict_json);
}

sp_bytes sp_sticky__examples_json(sp_sticky_body *body, const char *name)
{
	return find_in_json(body, name, examples_json);
}

/* Binary data of a single input, without JSON, have no type before the version is known. */
sp_bytes sp_sticky__v2_json(sp_sticky_body *body, const char *name)
{
	size_t size = body->json_size < 0 ? body->bytes.size : (size_t)body->json_size;
	sp_bytes text = {body->bytes.data, size}, binary, key;
	sp_json_reader reader;

	if (size == 0 || size > body->bytes.size)
		return SP_STICKY_NONE;
	binary = (sp_bytes){text.data + size, body->bytes.size - size};
	if (binary.size != 0) /* the reader needs a NUL behind the text */
		text.data = sp_arena_text(body->arena, text);
	if (text.data == NULL)
		return SP_STICKY_NONE;
	sp_json_reader_init(&reader, text);
	key = v2_json(body, &reader, name, binary);
	sp_json_reader_fini(&reader);
	return key;
}
