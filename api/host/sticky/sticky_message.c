#include <string.h>

#include "api/host/messages/examples_message.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/predict_message.h"
#include "api/host/sticky/sticky_internal.h"
#include "base/wire.h"

/* Field numbers of a map's entry. */
enum { KEY = 1, VALUE = 2 };

/* --------------------------------------------------------------------- tensors */

static sp_bytes first_of(sp_sticky_body *body, const serving_processor_tensor *tensor)
{
	return tensor->count != 0 ? sp_sticky__element(body, tensor->dtype, tensor->data)
				  : SP_STICKY_NONE;
}

sp_bytes sp_sticky__predict(sp_sticky_body *body, const char *name)
{
	sp_message_memory memory = {body->arena, NULL};
	serving_processor_tensor tensor;

	return sp_predict_message_find(&tensor, sp_bytes_of(name), body->bytes, &memory, NULL) ==
			       SP_OK
		       ? first_of(body, &tensor)
		       : SP_STICKY_NONE;
}

sp_bytes sp_sticky__infer(sp_sticky_body *body, const char *name)
{
	serving_processor_tensor tensor;

	return sp_infer_message_find(&tensor, sp_bytes_of(name), body->bytes, body->arena, NULL) ==
			       SP_OK
		       ? first_of(body, &tensor)
		       : SP_STICKY_NONE;
}

/* ---------------------------------------------------------------- repeated values */

/*
 * Takes the first value of a repeated field of numbers, or of its packed run, in eight bytes; false
 * if this part of the field has none.
 */
static bool take_first(uint64_t *out, const sp_wire_field *field, sp_wire_type type)
{
	sp_wire run;
	size_t size = type == SP_WIRE_FIXED32 ? sizeof(uint32_t) : sizeof(uint64_t);

	*out = field->value;
	if (field->type == type)
		return true;
	if (field->type != SP_WIRE_BYTES)
		return false;
	run = sp_wire_of(field->bytes);
	if (type == SP_WIRE_VARINT)
		return sp_wire_read_varint(&run, out);
	*out = 0;
	if (field->bytes.size < size)
		return false;
	memcpy(out, field->bytes.data, size);
	return true;
}

/* An entry of a map; the last key and the last value count. */
static bool read_entry(sp_bytes *key, sp_bytes *value, sp_bytes message)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	*key = *value = (sp_bytes){"", 0};
	while (sp_wire_next(&wire, &field)) {
		if (field.type == SP_WIRE_BYTES && field.number == KEY)
			*key = field.bytes;
		else if (field.type == SP_WIRE_BYTES && field.number == VALUE)
			*value = field.bytes;
	}
	return !wire.malformed;
}

/* Searches the entries of a map, field `number` of the message; of several the last counts. */
static bool find_entry(sp_bytes *out, sp_bytes message, uint32_t number, const char *name)
{
	sp_wire wire = sp_wire_of(message);
	sp_bytes key, value;
	sp_wire_field field;
	bool found = false;

	while (sp_wire_next(&wire, &field))
		if (field.number == number && field.type == SP_WIRE_BYTES &&
		    read_entry(&key, &value, field.bytes) && sp_bytes_equal_text(key, name)) {
			*out = value;
			found = true;
		}
	return found;
}

/* ------------------------------------------------------------------- tf.Example */

/* Field numbers of tf.Example, Features and Feature. */
enum { EXAMPLE_FEATURES = 1, FEATURES_ENTRY = 1, LIST_VALUE = 1 };
enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

static bool find_feature(sp_bytes *out, sp_bytes example, const char *name)
{
	sp_wire wire = sp_wire_of(example);
	sp_wire_field field;
	bool found = false;

	while (sp_wire_next(&wire, &field))
		if (field.number == EXAMPLE_FEATURES && field.type == SP_WIRE_BYTES)
			found |= find_entry(out, field.bytes, FEATURES_ENTRY, name);
	return found;
}

static sp_bytes first_of_list(sp_sticky_body *body, uint32_t kind, sp_bytes list)
{
	sp_wire wire = sp_wire_of(list);
	sp_wire_field field;
	uint64_t bits;

	while (sp_wire_next(&wire, &field)) {
		if (field.number != LIST_VALUE)
			continue;
		if (kind == BYTES_LIST && field.type == SP_WIRE_BYTES)
			return field.bytes;
		if (kind == FLOAT_LIST && take_first(&bits, &field, SP_WIRE_FIXED32))
			return sp_sticky__element(body, SERVING_PROCESSOR_FLOAT, &bits);
		if (kind == INT64_LIST && take_first(&bits, &field, SP_WIRE_VARINT))
			return sp_sticky__signed(body, (int64_t)bits);
	}
	return SP_STICKY_NONE;
}

static sp_bytes first_of_feature(sp_sticky_body *body, sp_bytes feature)
{
	sp_wire wire = sp_wire_of(feature);
	sp_bytes list = SP_STICKY_NONE;
	sp_wire_field field;
	uint32_t kind = 0;

	while (sp_wire_next(&wire, &field))
		if (field.type == SP_WIRE_BYTES && field.number <= INT64_LIST) {
			kind = field.number;
			list = field.bytes;
		}
	return first_of_list(body, kind, list);
}

sp_bytes sp_sticky__examples(sp_sticky_body *body, const char *name)
{
	sp_bytes example, context, feature;

	if (sp_examples_message_first(&example, &context, body->bytes, body->arena, NULL) ==
		    SP_OK &&
	    (find_feature(&feature, example, name) || find_feature(&feature, context, name)))
		return first_of_feature(body, feature);
	return SP_STICKY_NONE;
}

/* ------------------------------------------------------------ DeepRec's messages */

/* Field numbers of api/predict.proto. */
enum {
	EAS_INPUTS = 2,
	ARRAY_DTYPE = 1,
	ARRAY_FLOATS = 3,
	ARRAY_DOUBLES = 4,
	ARRAY_INTS = 5,
	ARRAY_STRINGS = 6,
	ARRAY_INT64S = 7,
	ARRAY_BOOLS = 8,
};

/* The field of an ArrayProto that has the values of a type; 0: none that makes a key. */
static uint32_t array_field(int dtype, sp_wire_type *type)
{
	*type = SP_WIRE_VARINT;
	switch (dtype) {
	case SERVING_PROCESSOR_FLOAT:
		*type = SP_WIRE_FIXED32;
		return ARRAY_FLOATS;
	case SERVING_PROCESSOR_DOUBLE:
		*type = SP_WIRE_FIXED64;
		return ARRAY_DOUBLES;
	case SERVING_PROCESSOR_INT8:
	case SERVING_PROCESSOR_UINT8:
	case SERVING_PROCESSOR_INT16:
	case SERVING_PROCESSOR_UINT16:
	case SERVING_PROCESSOR_INT32:
		return ARRAY_INTS;
	case SERVING_PROCESSOR_STRING:
		*type = SP_WIRE_BYTES;
		return ARRAY_STRINGS;
	case SERVING_PROCESSOR_INT64:
		return ARRAY_INT64S;
	case SERVING_PROCESSOR_BOOL:
		return ARRAY_BOOLS;
	default:
		return 0;
	}
}

/* The last dtype counts. */
static int array_dtype(sp_bytes array)
{
	sp_wire wire = sp_wire_of(array);
	sp_wire_field field;
	int dtype = 0;

	while (sp_wire_next(&wire, &field))
		if (field.number == ARRAY_DTYPE && field.type == SP_WIRE_VARINT)
			dtype = (int)(int32_t)field.value;
	return dtype;
}

static sp_bytes first_of_array(sp_sticky_body *body, sp_bytes array)
{
	int dtype = array_dtype(array);
	sp_wire wire = sp_wire_of(array);
	sp_wire_type type;
	uint32_t number = array_field(dtype, &type);
	sp_wire_field field;
	uint64_t bits;

	while (number != 0 && sp_wire_next(&wire, &field)) {
		if (field.number != number)
			continue;
		if (type == SP_WIRE_BYTES && field.type == SP_WIRE_BYTES)
			return field.bytes;
		if (type != SP_WIRE_BYTES && take_first(&bits, &field, type)) {
			bits = dtype == SERVING_PROCESSOR_BOOL ? bits != 0 : bits;
			return sp_sticky__element(body, dtype, &bits);
		}
	}
	return SP_STICKY_NONE;
}

sp_bytes sp_sticky__eas(sp_sticky_body *body, const char *name)
{
	sp_bytes array;

	return find_entry(&array, body->bytes, EAS_INPUTS, name) ? first_of_array(body, array)
								 : SP_STICKY_NONE;
}
