#ifndef SP_ENGINE_KERNELS_PROTOBUF_READER_H
#define SP_ENGINE_KERNELS_PROTOBUF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/*
 * A reader of protobuf's encoding.  Each function removes what it reads from the front of `from`,
 * and returns false for malformed input; then the position of `from` is unspecified.
 *
 * Threads: pure.
 * Source: protobuf's encoding, protobuf.dev/programming-guides/encoding.
 */
enum {
	SP_PROTOBUF_VARINT = 0,
	SP_PROTOBUF_FIXED64 = 1,
	SP_PROTOBUF_DELIMITED = 2,
	SP_PROTOBUF_FIXED32 = 5,
};

static inline sp_bytes sp_protobuf_skip(sp_bytes from, size_t n)
{
	return (sp_bytes){from.data + n, from.size - n};
}

/* At most ten bytes; bits beyond 64 are dropped, as in protobuf's own reader. */
static inline bool sp_protobuf_varint(sp_bytes *from, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < 10 && i < from->size; i++) {
		unsigned char byte = (unsigned char)from->data[i];

		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*from = sp_protobuf_skip(*from, i + 1);
			*out = value;
			return true;
		}
	}
	return false;
}

/* A length and that many bytes. */
static inline bool sp_protobuf_delimited(sp_bytes *from, sp_bytes *out)
{
	uint64_t size;

	if (!sp_protobuf_varint(from, &size) || size > from->size)
		return false;
	*out = (sp_bytes){from->data, (size_t)size};
	*from = sp_protobuf_skip(*from, (size_t)size);
	return true;
}

/* A field's tag: number * 8 + wire type. */
static inline bool sp_protobuf_tag(sp_bytes *from, uint32_t *tag)
{
	uint64_t value;

	if (!sp_protobuf_varint(from, &value) || value == 0 || value > UINT32_MAX)
		return false;
	*tag = (uint32_t)value;
	return true;
}

/* The value after a tag: the number of a varint, the bytes of all other wire types. */
static inline bool sp_protobuf_value(sp_bytes *from, uint32_t tag, uint64_t *number,
				     sp_bytes *bytes)
{
	size_t size = (tag & 7) == SP_PROTOBUF_FIXED32 ? 4 : 8;

	*number = 0;
	*bytes = (sp_bytes){"", 0};
	switch (tag & 7) {
	case SP_PROTOBUF_VARINT:
		return sp_protobuf_varint(from, number);
	case SP_PROTOBUF_DELIMITED:
		return sp_protobuf_delimited(from, bytes);
	case SP_PROTOBUF_FIXED32:
	case SP_PROTOBUF_FIXED64:
		if (from->size < size)
			return false;
		*bytes = (sp_bytes){from->data, size};
		*from = sp_protobuf_skip(*from, size);
		return true;
	default:
		return false;
	}
}

/* Iterates over the fields of a message. */
typedef struct sp_protobuf_cursor {
	sp_bytes rest;
	uint32_t tag;
	uint64_t number; /* value of a varint */
	sp_bytes bytes;  /* value of other wire types */
	bool broken;
} sp_protobuf_cursor;

/* False at the end, and at a malformed field: then `broken` is set. */
static inline bool sp_protobuf_next(sp_protobuf_cursor *at)
{
	if (at->rest.size == 0)
		return false;
	at->broken = !sp_protobuf_tag(&at->rest, &at->tag) || at->tag < 8 ||
		     !sp_protobuf_value(&at->rest, at->tag, &at->number, &at->bytes);
	return !at->broken;
}

static inline bool sp_protobuf_is(const sp_protobuf_cursor *at, uint32_t field, uint32_t type)
{
	return at->tag == (field << 3 | type);
}

/* Whether it is that field, holding a message, a string or packed numbers. */
static inline bool sp_protobuf_is_message(const sp_protobuf_cursor *at, uint32_t field)
{
	return sp_protobuf_is(at, field, SP_PROTOBUF_DELIMITED);
}

/* Skips a field, with its tag. */
static inline bool sp_protobuf_skip_field(sp_bytes *from)
{
	uint64_t number;
	sp_bytes bytes;
	uint32_t tag;

	return sp_protobuf_tag(from, &tag) && sp_protobuf_value(from, tag, &number, &bytes);
}

#endif
