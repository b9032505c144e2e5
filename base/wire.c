#include "base/wire.h"

#include <assert.h>

#include "base/utf8.h"

bool sp_wire__read_any_varint(sp_wire *wire, uint64_t *value)
{
	uint64_t result = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		unsigned char byte;

		if (wire->at == wire->end)
			return false;
		byte = *wire->at++;
		result |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*value = result;
			return true;
		}
	}
	return false;
}

static bool take(sp_wire *wire, size_t size, const unsigned char **at)
{
	if ((size_t)(wire->end - wire->at) < size)
		return false;
	*at = wire->at;
	wire->at += size;
	return true;
}

/* Tags and lengths have 32 bits, in no more bytes than needed. */
static inline bool read_short(sp_wire *wire, uint64_t *value)
{
	enum { MOST_BYTES = 5 };
	const unsigned char *start = wire->at;

	return sp_wire_read_varint(wire, value) && wire->at - start <= MOST_BYTES &&
	       *value <= UINT32_MAX;
}

/* Tag: field number (1 ... 2^29 - 1) and type. */
static bool read_tag(sp_wire *wire, sp_wire_field *field)
{
	uint64_t tag;

	if (!read_short(wire, &tag) || tag >> 3 == 0)
		return false;
	field->number = (uint32_t)(tag >> 3);
	field->type = (sp_wire_type)(tag & 7);
	return true;
}

/* Reads the value after the tag, unless it is a group. */
static bool read_value(sp_wire *wire, sp_wire_field *field)
{
	const unsigned char *at;
	uint32_t fixed32;
	uint64_t size;

	switch (field->type) {
	case SP_WIRE_VARINT:
		return sp_wire_read_varint(wire, &field->value);
	case SP_WIRE_FIXED64:
		if (!take(wire, sizeof(field->value), &at))
			return false;
		memcpy(&field->value, at, sizeof(field->value));
		return true;
	case SP_WIRE_FIXED32:
		if (!take(wire, sizeof(fixed32), &at))
			return false;
		memcpy(&fixed32, at, sizeof(fixed32));
		field->value = fixed32;
		return true;
	case SP_WIRE_BYTES:
		if (!read_short(wire, &size) || !take(wire, (size_t)size, &at))
			return false;
		field->bytes = (sp_bytes){(const char *)at, (size_t)size};
		return true;
	default:
		return false;
	}
}

/* Skips to the end of a group whose start has been read.  Ends must match their starts. */
static bool skip_group(sp_wire *wire, uint32_t number)
{
	uint32_t open[SP_WIRE_MAX_GROUP_DEPTH];
	size_t depth = 0;
	sp_wire_field field;

	open[depth++] = number;
	while (depth > 0) {
		if (!read_tag(wire, &field))
			return false;
		if (field.type == SP_WIRE_GROUP_END) {
			if (open[--depth] != field.number)
				return false;
		} else if (field.type == SP_WIRE_GROUP_START) {
			if (depth == SP_WIRE_MAX_GROUP_DEPTH)
				return false;
			open[depth++] = field.number;
		} else if (!read_value(wire, &field)) {
			return false;
		}
	}
	return true;
}

bool sp_wire__next_any(sp_wire *wire, sp_wire_field *field)
{
	while (wire->at != wire->end) {
		bool group = false, good = read_tag(wire, field);

		if (good) {
			group = field->type == SP_WIRE_GROUP_START;
			good = group ? skip_group(wire, field->number) : read_value(wire, field);
		}
		wire->malformed = !good;
		if (!good || !group)
			return good;
	}
	return false;
}

bool sp_wire_read(sp_bytes message, const sp_wire_place *places, size_t count)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field))
		for (size_t i = 0; i < count; i++) {
			if (field.number != places[i].number || field.type != places[i].type)
				continue;
			if (field.type == SP_WIRE_BYTES)
				*(sp_bytes *)places[i].out = field.bytes;
			else
				*(uint64_t *)places[i].out = field.value;
		}
	return !wire.malformed;
}

/* -------------------------------------------------------------- whole messages */

static bool are_varints(sp_bytes packed)
{
	sp_wire wire = sp_wire_of(packed);
	uint64_t value;

	while (wire.at != wire.end)
		if (!sp_wire_read_varint(&wire, &value))
			return false;
	return true;
}

static bool check_message(sp_bytes message, const sp_wire_schema *schema, size_t depth);

static bool check_member(sp_bytes bytes, const sp_wire_member *member, size_t depth)
{
	switch (member->kind) {
	case SP_WIRE_MEMBER_TEXT:
		return sp_utf8_valid(bytes);
	case SP_WIRE_MEMBER_VARINTS:
		return are_varints(bytes);
	case SP_WIRE_MEMBER_FIXED32S:
		return bytes.size % sizeof(uint32_t) == 0;
	case SP_WIRE_MEMBER_FIXED64S:
		return bytes.size % sizeof(uint64_t) == 0;
	case SP_WIRE_MEMBER_MESSAGE:
		return depth != 0 && check_message(bytes, member->schema, depth - 1);
	case SP_WIRE_MEMBER_OTHER:
		break;
	}
	return true;
}

/* A known number with another wire type is an unknown field. */
static bool check_message(sp_bytes message, const sp_wire_schema *schema, size_t depth)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field))
		if (field.type == SP_WIRE_BYTES && field.number < schema->count &&
		    !check_member(field.bytes, &schema->members[field.number], depth))
			return false;
	return !wire.malformed;
}

bool sp_wire_check(sp_bytes message, const sp_wire_schema *schema)
{
	return check_message(message, schema, SP_WIRE_MAX_MESSAGE_DEPTH);
}

unsigned char *sp_wire_put_varint(unsigned char *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	*at++ = (unsigned char)value;
	return at;
}

unsigned char *sp_wire_put_bytes(unsigned char *at, const void *data, size_t size)
{
	if (size != 0)
		memcpy(at, data, size);
	return at + size;
}

unsigned char *sp_wire_put_header(unsigned char *at, uint32_t number, size_t size)
{
	assert(number < 16);
	*at++ = (unsigned char)(number << 3 | SP_WIRE_BYTES);
	return sp_wire_put_varint(at, size);
}

unsigned char *sp_wire_put_text(unsigned char *at, uint32_t number, sp_bytes text)
{
	if (text.size == 0)
		return at;
	at = sp_wire_put_header(at, number, text.size);
	return sp_wire_put_bytes(at, text.data, text.size);
}
