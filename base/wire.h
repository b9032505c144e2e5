#ifndef SP_BASE_WIRE_H
#define SP_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/*
 * The wire format of protocol buffers: reading and writing fields.
 *
 * Reading copies nothing and trusts nothing: whatever protobuf's own parsers refuse is malformed.
 * Groups, which none of our messages have, are skipped as unknown fields, nested to at most
 * SP_WIRE_MAX_GROUP_DEPTH levels.
 *
 * Writing needs memory of the right size: the caller computes the sizes first.
 *
 * Source: "Encoding" of the protocol buffers documentation.
 *
 * Threads: pure.
 */
#define SP_WIRE_MAX_GROUP_DEPTH   64
#define SP_WIRE_MAX_MESSAGE_DEPTH 32

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "numbers are copied between messages and memory without conversion");

typedef enum sp_wire_type {
	SP_WIRE_VARINT = 0,
	SP_WIRE_FIXED64 = 1,
	SP_WIRE_BYTES = 2,
	SP_WIRE_GROUP_START = 3,
	SP_WIRE_GROUP_END = 4,
	SP_WIRE_FIXED32 = 5,
} sp_wire_type;

typedef struct sp_wire {
	const unsigned char *at;
	const unsigned char *end;
	bool malformed; /* what made sp_wire_next() stop before the end */
} sp_wire;

typedef struct sp_wire_field {
	uint32_t number;
	sp_wire_type type; /* VARINT, FIXED64, BYTES or FIXED32 */
	uint64_t value;    /* of VARINT, FIXED64, FIXED32 */
	sp_bytes bytes;    /* of BYTES: a view into the message */
} sp_wire_field;

static inline sp_wire sp_wire_of(sp_bytes message)
{
	const unsigned char *at = (const unsigned char *)message.data;

	return (sp_wire){at, at != NULL ? at + message.size : at, false};
}

/* Reads a varint below 2^14 and advances *at; -1: a larger one, or the bytes end. */
static inline int sp_wire_read_small(const unsigned char **at, const unsigned char *end)
{
	const unsigned char *p = *at;

	if (end - p >= 1 && p[0] < 0x80) {
		*at = p + 1;
		return p[0];
	}
	if (end - p >= 2 && p[1] < 0x80) {
		*at = p + 2;
		return (p[0] & 0x7f) | p[1] << 7;
	}
	return -1;
}

/* The next field, of any form. */
bool sp_wire__next_any(sp_wire *wire, sp_wire_field *field);

/*
 * The next field; false at the end of the message and at bytes that are no field, which
 * wire->malformed tells apart.  Fields with a number below 16 and a short value are read in line.
 */
static inline bool sp_wire_next(sp_wire *wire, sp_wire_field *field)
{
	const unsigned char *at = wire->at;

	if (wire->end - at >= 2 && at[0] < 0x80 && at[0] >= 8 && at[1] < 0x80) {
		field->number = at[0] >> 3;
		field->type = (sp_wire_type)(at[0] & 7);
		if (field->type == SP_WIRE_VARINT) {
			field->value = at[1];
			wire->at = at + 2;
			return true;
		}
		if (field->type == SP_WIRE_BYTES && wire->end - at - 2 >= at[1]) {
			field->bytes = (sp_bytes){(const char *)at + 2, at[1]};
			wire->at = at + 2 + at[1];
			return true;
		}
	}
	return sp_wire__next_any(wire, field);
}

/* Where the value of a field goes: to a uint64_t (VARINT) or to an sp_bytes (BYTES). */
typedef struct sp_wire_place {
	uint32_t number;
	sp_wire_type type;
	void *out;
} sp_wire_place;

/*
 * Reads the fields that have a place, [count], and passes over the others.  Of a repeated field the
 * last one counts; a field that is missing leaves its place as it is.  False: malformed.
 */
bool sp_wire_read(sp_bytes message, const sp_wire_place *places, size_t count);

/* Reads a varint of any length. */
bool sp_wire__read_any_varint(sp_wire *wire, uint64_t *value);

/*
 * Reads one varint; false if it is truncated or longer than 10 bytes.  Bits above 64 are dropped.
 *
 * Where eight bytes are left, the first without its top bit ends the varint; the seven bits of each
 * are then moved together, two by two.
 */
static inline bool sp_wire_read_varint(sp_wire *wire, uint64_t *value)
{
	uint64_t bytes, ends;

	if (wire->end - wire->at < (ptrdiff_t)sizeof(bytes))
		return sp_wire__read_any_varint(wire, value);
	memcpy(&bytes, wire->at, sizeof(bytes));
	ends = ~bytes & 0x8080808080808080;
	if (ends == 0)
		return sp_wire__read_any_varint(wire, value);
	wire->at += __builtin_ctzll(ends) / 8 + 1;
	bytes &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f;
	bytes = (bytes & 0x7f007f007f007f00) >> 1 | (bytes & 0x007f007f007f007f);
	bytes = (bytes & 0x3fff00003fff0000) >> 2 | (bytes & 0x00003fff00003fff);
	*value = (bytes & 0x0fffffff00000000) >> 4 | (bytes & 0x000000000fffffff);
	return true;
}

/* ----------------------------------------------------------- whole messages */

/* The content of a length-delimited field with a known number. */
typedef enum sp_wire_member_kind {
	SP_WIRE_MEMBER_OTHER, /* bytes, or a number that is never packed: not checked */
	SP_WIRE_MEMBER_TEXT,  /* a string of proto3: UTF-8 */
	SP_WIRE_MEMBER_VARINTS,
	SP_WIRE_MEMBER_FIXED32S,
	SP_WIRE_MEMBER_FIXED64S,
	SP_WIRE_MEMBER_MESSAGE,
} sp_wire_member_kind;

typedef struct sp_wire_member {
	sp_wire_member_kind kind;
	const struct sp_wire_schema *schema; /* of MESSAGE */
} sp_wire_member;

/* A message type: its fields by their numbers. */
typedef struct sp_wire_schema {
	const sp_wire_member *members;
	size_t count;
} sp_wire_schema;

/*
 * Whether protobuf's parsers would accept the message and all messages in it, nested to at most
 * SP_WIRE_MAX_MESSAGE_DEPTH.
 */
bool sp_wire_check(sp_bytes message, const sp_wire_schema *schema);

/* ------------------------------------------------------------------ writing */

/* Bytes of a varint, 1 ... 10. */
static inline size_t sp_wire_varint_size(uint64_t value)
{
	return (size_t)(9 * (64 - __builtin_clzll(value | 1)) + 64) / 64;
}

/* Bytes of a length-delimited field `number` < 16 with `size` bytes of content. */
static inline size_t sp_wire_field_size(size_t size)
{
	return 1 + sp_wire_varint_size(size) + size;
}

/* Each returns the position of the next byte. */
unsigned char *sp_wire_put_varint(unsigned char *at, uint64_t value);
unsigned char *sp_wire_put_bytes(unsigned char *at, const void *data, size_t size);

/* Writes tag and length of a length-delimited field `number` < 16, before its content. */
unsigned char *sp_wire_put_header(unsigned char *at, uint32_t number, size_t size);

/* A text in a field `number` < 16, and its bytes; an empty one is not written, as proto3 has it. */
static inline size_t sp_wire_text_size(sp_bytes text)
{
	return text.size != 0 ? sp_wire_field_size(text.size) : 0;
}
unsigned char *sp_wire_put_text(unsigned char *at, uint32_t number, sp_bytes text);

#endif
