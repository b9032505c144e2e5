#include "engine/kernels/descriptor_set.h"

#include <string.h>

#include "engine/kernels/protobuf_reader.h"

/* Numbers of the fields that are read, by message. */
enum {
	SET_FILE = 1,
	FILE_PACKAGE = 2,
	FILE_MESSAGE = 4,
	FILE_ENUM = 5,
	FILE_EXTENSION = 7,
	MESSAGE_FIELD = 2,
	MESSAGE_NESTED = 3,
	MESSAGE_ENUM = 4,
	MESSAGE_EXTENSION = 6,
	ANY_NAME = 1, /* field "name" of a message, enum, enum value or field */
	ENUM_VALUE = 2,
	VALUE_NUMBER = 2,
};

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "the descriptor set is malformed");
}

static bool is_number(const sp_protobuf_cursor *at, uint32_t field)
{
	return sp_protobuf_is(at, field, SP_PROTOBUF_VARINT);
}

/* The last string in that field; empty without one. */
static sp_bytes text_of(sp_bytes message, uint32_t field)
{
	sp_protobuf_cursor at = {.rest = message};
	sp_bytes text = {"", 0};

	while (sp_protobuf_next(&at))
		if (sp_protobuf_is_message(&at, field))
			text = at.bytes;
	return text;
}

/* Removes the component `first`, which may be all of the name, and the '.' after it. */
static bool take_name(sp_bytes *name, sp_bytes first)
{
	if (first.size == 0 || first.size > name->size ||
	    memcmp(name->data, first.data, first.size) != 0)
		return false;
	if (first.size == name->size) {
		*name = (sp_bytes){"", 0};
		return true;
	}
	if (name->data[first.size] != '.')
		return false;
	*name = sp_protobuf_skip(*name, first.size + 1);
	return true;
}

/* ------------------------------------------------------------ lookup by name */

/* The fields in which a file or a message declares things. */
typedef struct scope {
	uint32_t messages, enums, extensions;
} scope;

static const scope in_file = {FILE_MESSAGE, FILE_ENUM, FILE_EXTENSION};
static const scope in_message = {MESSAGE_NESTED, MESSAGE_ENUM, MESSAGE_EXTENSION};

typedef enum wanted { A_MESSAGE, AN_ENUM, AN_EXTENSION } wanted;

static uint32_t field_of(const scope *where, wanted kind)
{
	switch (kind) {
	case A_MESSAGE:
		return where->messages;
	case AN_ENUM:
		return where->enums;
	default:
		return where->extensions;
	}
}

/*
 * Finds in `in` the declaration that `name` names, or the nested message that its first component
 * names, and removes that component.  Components have no dots, so at most one matches.
 */
static bool step(sp_bytes in, const scope *where, wanted kind, sp_bytes *name, sp_bytes *out)
{
	sp_protobuf_cursor at = {.rest = in};

	while (sp_protobuf_next(&at)) {
		bool is_wanted = sp_protobuf_is_message(&at, field_of(where, kind));
		sp_bytes rest = *name;

		if (!is_wanted && !sp_protobuf_is_message(&at, where->messages))
			continue;
		if (!take_name(&rest, text_of(at.bytes, ANY_NAME)))
			continue;
		if (rest.size == 0 ? !is_wanted : !sp_protobuf_is_message(&at, where->messages))
			continue;
		*name = rest;
		*out = at.bytes;
		return true;
	}
	return false;
}

/* Terminates, because every step shortens the name. */
static bool find_in_file(sp_bytes file, wanted kind, sp_bytes name, sp_bytes *out)
{
	sp_bytes package = text_of(file, FILE_PACKAGE);
	const scope *where = &in_file;

	if (package.size != 0 && (!take_name(&name, package) || name.size == 0))
		return false;
	for (*out = file; name.size != 0; where = &in_message)
		if (!step(*out, where, kind, &name, out))
			return false;
	return true;
}

static sp_status find(sp_bytes set, wanted kind, sp_bytes name, sp_bytes *out, sp_error *err)
{
	static const char *const words[] = {"message type", "enum", "extension"};
	sp_protobuf_cursor at = {.rest = set};

	if (name.size != 0 && name.data[0] == '.')
		name = sp_protobuf_skip(name, 1);
	while (name.size != 0 && sp_protobuf_next(&at))
		if (sp_protobuf_is_message(&at, SET_FILE) &&
		    find_in_file(at.bytes, kind, name, out))
			return SP_OK;
	if (at.broken)
		return malformed(err);
	return sp_error_set(err, SP_INVALID, "No descriptor found for %s %.*s", words[kind],
			    (int)(name.size < 100 ? name.size : 100), name.data);
}

sp_status sp_descriptor_message(sp_bytes set, sp_bytes name, sp_bytes *out, sp_error *err)
{
	return find(set, A_MESSAGE, name, out, err);
}

/* -------------------------------------------------------------------- fields */

/* `most` is the largest valid field number. */
static sp_status read_field(sp_bytes from, uint32_t most, sp_proto_field *out, sp_error *err)
{
	sp_protobuf_cursor at = {.rest = from};
	uint64_t number = 0, type = 0;

	*out = (sp_proto_field){.name = {"", 0}, .default_value = {"", 0}, .type_name = {"", 0}};
	while (sp_protobuf_next(&at)) {
		if (sp_protobuf_is_message(&at, ANY_NAME))
			out->name = at.bytes;
		else if (sp_protobuf_is_message(&at, 2))
			out->extendee = at.bytes;
		else if (is_number(&at, 3))
			number = at.number;
		else if (is_number(&at, 4))
			out->is_repeated = at.number == 3;
		else if (is_number(&at, 5))
			type = at.number;
		else if (sp_protobuf_is_message(&at, 6))
			out->type_name = at.bytes;
		else if (sp_protobuf_is_message(&at, 7))
			out->default_value = at.bytes;
	}
	if (at.broken)
		return malformed(err);
	if (number < 1 || number > most || type < SP_PROTO_DOUBLE || type > SP_PROTO_SINT64)
		return sp_error_set(err, SP_INVALID,
				    "field %.*s has number %llu and type %llu in its descriptor",
				    (int)(out->name.size < 60 ? out->name.size : 60),
				    out->name.data, (unsigned long long)number,
				    (unsigned long long)type);
	out->number = (uint32_t)number;
	out->type = (sp_proto_type)type;
	return SP_OK;
}

/* The count of fields with that number. */
static sp_status count_texts(sp_bytes message, uint32_t field, size_t *count, sp_error *err)
{
	sp_protobuf_cursor at = {.rest = message};

	for (*count = 0; sp_protobuf_next(&at);)
		*count += sp_protobuf_is_message(&at, field);
	return at.broken ? malformed(err) : SP_OK;
}

sp_status sp_descriptor_fields(sp_bytes message, sp_arena *arena, sp_proto_field **out,
			       size_t *count, sp_error *err)
{
	sp_protobuf_cursor at = {.rest = message};
	size_t n = 0;

	SP_TRY(count_texts(message, MESSAGE_FIELD, count, err));
	*out = sp_arena_array(arena, *count, sizeof(**out));
	SP_NEED_MEMORY(*out, err, "%zu fields", *count);
	while (sp_protobuf_next(&at))
		if (sp_protobuf_is_message(&at, MESSAGE_FIELD))
			SP_TRY(read_field(at.bytes, SP_PROTO_MAX_NUMBER, &(*out)[n++], err));
	return SP_OK;
}

sp_status sp_descriptor_extension(sp_bytes set, sp_bytes extended, sp_bytes name,
				  sp_proto_field *out, sp_error *err)
{
	sp_bytes field, extendee;

	SP_TRY(find(set, AN_EXTENSION, name, &field, err));
	SP_TRY(read_field(field, INT32_MAX, out, err));
	extendee = out->extendee;
	if (extendee.size != 0 && extendee.data[0] == '.')
		extendee = sp_protobuf_skip(extendee, 1);
	if (sp_bytes_equal(extendee, extended))
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "extension %.*s is not of message type %.*s",
			    (int)(name.size < 60 ? name.size : 60), name.data,
			    (int)(extended.size < 60 ? extended.size : 60), extended.data);
}

/* --------------------------------------------------------------------- enums */

static int32_t value_number(sp_bytes value)
{
	sp_protobuf_cursor at = {.rest = value};
	int32_t number = 0;

	while (sp_protobuf_next(&at))
		if (is_number(&at, VALUE_NUMBER))
			number = (int32_t)at.number;
	return number;
}

sp_status sp_descriptor_enum(sp_bytes set, sp_bytes name, sp_bytes value, int32_t *out,
			     sp_error *err)
{
	sp_protobuf_cursor at = {.rest = {"", 0}};

	*out = 0;
	SP_TRY(find(set, AN_ENUM, name, &at.rest, err));
	while (sp_protobuf_next(&at)) {
		if (!sp_protobuf_is_message(&at, ENUM_VALUE))
			continue;
		if (value.size != 0 && !sp_bytes_equal(text_of(at.bytes, ANY_NAME), value))
			continue;
		*out = value_number(at.bytes);
		return SP_OK;
	}
	if (at.broken)
		return malformed(err);
	if (value.size == 0)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "enum %.*s has no value %.*s",
			    (int)(name.size < 60 ? name.size : 60), name.data,
			    (int)(value.size < 60 ? value.size : 60), value.data);
}
