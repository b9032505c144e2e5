#include "tests/support/wire.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

sp_buffer sp_wire_begin(void)
{
	sp_buffer out;

	sp_buffer_init(&out, (size_t)1 << 30);
	return out;
}

void sp_wire_number(sp_buffer *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		sp_buffer_append_char(out, (char)(value | 0x80));
	sp_buffer_append_char(out, (char)value);
}

static void tag(sp_buffer *out, uint32_t field, uint32_t type)
{
	sp_wire_number(out, (uint64_t)field << 3 | type);
}

static void little_endian(sp_buffer *out, uint64_t value, int size)
{
	for (int i = 0; i < size; i++)
		sp_buffer_append_char(out, (char)(value >> 8 * i));
}

void sp_wire_varint(sp_buffer *out, uint32_t field, uint64_t value)
{
	tag(out, field, VARINT);
	sp_wire_number(out, value);
}

void sp_wire_fixed32(sp_buffer *out, uint32_t field, uint32_t value)
{
	tag(out, field, FIXED32);
	little_endian(out, value, 4);
}

void sp_wire_float(sp_buffer *out, uint32_t field, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	sp_wire_fixed32(out, field, bits);
}

void sp_wire_double(sp_buffer *out, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	tag(out, field, FIXED64);
	little_endian(out, bits, 8);
}

void sp_wire_bytes(sp_buffer *out, uint32_t field, sp_bytes value)
{
	tag(out, field, LENGTH);
	sp_wire_number(out, value.size);
	sp_buffer_append(out, value.data, value.size);
}

void sp_wire_text(sp_buffer *out, uint32_t field, const char *value)
{
	sp_wire_bytes(out, field, sp_bytes_of(value));
}

void sp_wire_message(sp_buffer *out, uint32_t field, sp_buffer *message)
{
	sp_wire_bytes(out, field, sp_wire_view(message));
	sp_buffer_fini(message);
}
