#include <string.h>

#include "api/host/messages/examples_message.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/predict_message.h"
#include "api/host/sticky/sticky_internal.h"
#include "base/wire.h"

/* --------------------------------------------------------------------- tensors */

static sp_bytes first_of(sp_sticky_body *body, const serving_processor_tensor *tensor)
{
	return tensor->count != 0 ? sp_sticky__element(body, tensor->dtype, tensor->data)
				  : SP_STICKY_NONE;
}

/* The inputs of a message of TensorFlow Serving, or of DeepRec. */
static sp_bytes find_in_map(sp_sticky_body *body, const char *name, bool arrays)
{
	serving_processor_tensor tensor;

	return sp_predict_message_find(&tensor, sp_bytes_of(name), body->bytes, arrays, body->arena,
				       NULL) == SP_OK
		       ? first_of(body, &tensor)
		       : SP_STICKY_NONE;
}

sp_bytes sp_sticky__predict(sp_sticky_body *body, const char *name)
{
	return find_in_map(body, name, false);
}

sp_bytes sp_sticky__eas(sp_sticky_body *body, const char *name)
{
	return find_in_map(body, name, true);
}

sp_bytes sp_sticky__infer(sp_sticky_body *body, const char *name)
{
	serving_processor_tensor tensor;

	return sp_infer_message_find(&tensor, sp_bytes_of(name), body->bytes, body->arena, NULL) ==
			       SP_OK
		       ? first_of(body, &tensor)
		       : SP_STICKY_NONE;
}

/* ------------------------------------------------------------------- tf.Example */

/* Field numbers of tf.Example, Features and Feature. */
enum { EXAMPLE_FEATURES = 1, FEATURES_ENTRY = 1, LIST_VALUE = 1 };
enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

/*
 * Takes the first value of a repeated float or int64, or of its packed run; false if this part of
 * the field has none.
 */
static bool take_first(uint64_t *out, const sp_wire_field *field, sp_wire_type type)
{
	sp_wire run;

	*out = field->value;
	if (field->type == type)
		return true;
	if (field->type != SP_WIRE_BYTES)
		return false;
	run = sp_wire_of(field->bytes);
	if (type == SP_WIRE_VARINT)
		return sp_wire_read_varint(&run, out);
	if (field->bytes.size < sizeof(float))
		return false;
	memcpy(out, field->bytes.data, sizeof(float));
	return true;
}

/* Of several entries with the name the last one counts. */
static bool find_feature(sp_bytes *out, sp_bytes example, const char *name, sp_arena *arena)
{
	sp_wire wire = sp_wire_of(example);
	sp_wire_field features, entry;
	sp_predict_entry read;
	bool found = false;

	while (sp_wire_next(&wire, &features)) {
		sp_wire entries = sp_wire_of(features.bytes);

		if (features.number != EXAMPLE_FEATURES || features.type != SP_WIRE_BYTES)
			continue;
		while (sp_wire_next(&entries, &entry))
			if (entry.number == FEATURES_ENTRY && entry.type == SP_WIRE_BYTES &&
			    sp_predict__entry(&read, entry.bytes, arena, NULL) == SP_OK &&
			    sp_bytes_equal_text(read.key, name)) {
				*out = read.value;
				found = true;
			}
	}
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
	    (find_feature(&feature, example, name, body->arena) ||
	     find_feature(&feature, context, name, body->arena)))
		return first_of_feature(body, feature);
	return SP_STICKY_NONE;
}
