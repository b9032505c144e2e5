#include "engine/ops/parse/proto_linked.h"

#include <stdint.h>
#include <string.h>

#include "engine/kernels/descriptor_set.h"
#include "engine/kernels/protobuf_reader.h"
#include "engine/kernels/protobuf_writer.h"

#define PACKAGE "tensorflow"

typedef struct linked_field {
	const char *name;
	unsigned char number;
	sp_proto_type type;
	enum { ONE, MANY, PACKED, OF_ONEOF } manner;
	const char *type_name; /* of a message: its type, in the same package */
} linked_field;

typedef struct linked_type {
	const char *name;
	linked_field fields[3];
	const char *entry, *entry_value; /* of a map: its entry type, the value type */
} linked_type;

static const linked_type types[] = {
	{"Example", {{"features", 1, SP_PROTO_MESSAGE, ONE, "Features"}}, NULL, NULL},
	{"SequenceExample",
	 {{"context", 1, SP_PROTO_MESSAGE, ONE, "Features"},
	  {"feature_lists", 2, SP_PROTO_MESSAGE, ONE, "FeatureLists"}},
	 NULL,
	 NULL},
	{"Features",
	 {{"feature", 1, SP_PROTO_MESSAGE, MANY, "Features.FeatureEntry"}},
	 "FeatureEntry",
	 "Feature"},
	{"FeatureLists",
	 {{"feature_list", 1, SP_PROTO_MESSAGE, MANY, "FeatureLists.FeatureListEntry"}},
	 "FeatureListEntry",
	 "FeatureList"},
	{"FeatureList", {{"feature", 1, SP_PROTO_MESSAGE, MANY, "Feature"}}, NULL, NULL},
	{"Feature",
	 {{"bytes_list", 1, SP_PROTO_MESSAGE, OF_ONEOF, "BytesList"},
	  {"float_list", 2, SP_PROTO_MESSAGE, OF_ONEOF, "FloatList"},
	  {"int64_list", 3, SP_PROTO_MESSAGE, OF_ONEOF, "Int64List"}},
	 NULL,
	 NULL},
	{"BytesList", {{"value", 1, SP_PROTO_BYTES, MANY, NULL}}, NULL, NULL},
	{"FloatList", {{"value", 1, SP_PROTO_FLOAT, PACKED, NULL}}, NULL, NULL},
	{"Int64List", {{"value", 1, SP_PROTO_INT64, PACKED, NULL}}, NULL, NULL},
};

enum { TYPES = sizeof(types) / sizeof(types[0]), SET_ROOM = 2048 };

/* A buffer for a message.  It is larger than all of the messages; a test checks that. */
typedef struct out {
	char data[SET_ROOM];
	size_t size;
} out;

static void put_bytes(out *to, uint32_t field, const char *data, size_t size)
{
	char *at = to->data + to->size;

	if (size > SET_ROOM - 2 * SP_PROTOBUF_MAX_VARINT - to->size)
		return;
	at = sp_protobuf_put_varint(at, field << 3 | SP_PROTOBUF_DELIMITED);
	at = sp_protobuf_put_varint(at, size);
	memcpy(at, data, size);
	to->size = (size_t)(at + size - to->data);
}

static void put_text(out *to, uint32_t field, const char *text)
{
	put_bytes(to, field, text, strlen(text));
}

static void put_number(out *to, uint32_t field, uint64_t number)
{
	char *at = to->data + to->size;

	at = sp_protobuf_put_varint(at, field << 3 | SP_PROTOBUF_VARINT);
	to->size = (size_t)(sp_protobuf_put_varint(at, number) - to->data);
}

/* FieldDescriptorProto */
static void put_field(out *to, const linked_field *field)
{
	char full[64] = "." PACKAGE ".";
	out made = {.size = 0};

	put_text(&made, 1, field->name);
	put_number(&made, 3, field->number);
	put_number(&made, 4, field->manner == MANY || field->manner == PACKED ? 3 : 1);
	put_number(&made, 5, field->type);
	if (field->type_name != NULL) {
		strncat(full, field->type_name, sizeof(full) - strlen(full) - 1);
		put_text(&made, 6, full);
	}
	if (field->manner == PACKED)
		put_text(&made, 8, "\x10\x01");
	if (field->manner == OF_ONEOF)
		put_number(&made, 9, 0);
	put_bytes(to, 2, made.data, made.size);
}

/* DescriptorProto */
static void put_type(out *to, const linked_type *type)
{
	out made = {.size = 0};

	put_text(&made, 1, type->name);
	for (size_t i = 0; i < 3 && type->fields[i].name != NULL; i++)
		put_field(&made, &type->fields[i]);
	if (type->entry != NULL) {
		const linked_field key = {"key", 1, SP_PROTO_STRING, ONE, NULL};
		const linked_field value = {"value", 2, SP_PROTO_MESSAGE, ONE, type->entry_value};
		out entry = {.size = 0};

		put_text(&entry, 1, type->entry);
		put_field(&entry, &key);
		put_field(&entry, &value);
		put_text(&entry, 7, "\x38\x01");
		put_bytes(&made, 3, entry.data, entry.size);
	}
	put_bytes(to, 4, made.data, made.size);
}

static bool is_linked(sp_bytes name)
{
	if (!sp_bytes_starts_with(name, PACKAGE "."))
		return false;
	name = sp_protobuf_skip(name, strlen(PACKAGE "."));
	for (size_t i = 0; i < TYPES; i++)
		if (sp_bytes_equal_text(name, types[i].name))
			return true;
	return false;
}

sp_status sp_proto_linked(sp_bytes message_type, sp_arena *arena, sp_bytes *set, sp_error *err)
{
	out file = {.size = 0}, all = {.size = 0};
	char *data;

	if (!is_linked(message_type))
		return sp_error_set(
			err, SP_UNSUPPORTED,
			"message type %.*s is not linked in: descriptor_source must hold its "
			"descriptor (bytes://)",
			(int)(message_type.size < 100 ? message_type.size : 100),
			message_type.data);
	put_text(&file, 2, PACKAGE);
	for (size_t i = 0; i < TYPES; i++)
		put_type(&file, &types[i]);
	put_text(&file, 12, "proto3");
	put_bytes(&all, 1, file.data, file.size);
	data = sp_arena_alloc(arena, all.size);
	SP_NEED_MEMORY(data, err, "message types");
	memcpy(data, all.data, all.size);
	*set = (sp_bytes){data, all.size};
	return SP_OK;
}
