#include "api/host/messages/message_writer.h"

#include <string.h>

#include "base/wire.h"

void sp_message_put_number(sp_buffer *out, uint32_t number, uint64_t value)
{
	unsigned char bytes[20], *end = bytes;

	if (value == 0)
		return;
	end = sp_wire_put_varint(end, (uint64_t)number << 3 | SP_WIRE_VARINT);
	end = sp_wire_put_varint(end, value);
	sp_buffer_append(out, bytes, (size_t)(end - bytes));
}

void sp_message_put_text(sp_buffer *out, uint32_t number, sp_bytes text)
{
	if (text.size != 0)
		sp_message_put_bytes(out, number, text);
}

void sp_message_put_bytes(sp_buffer *out, uint32_t number, sp_bytes bytes)
{
	unsigned char header[12];
	unsigned char *end = sp_wire_put_header(header, number, bytes.size);

	sp_buffer_append(out, header, (size_t)(end - header));
	sp_buffer_append(out, bytes.data, bytes.size);
}

void sp_message_put_numbers(sp_buffer *out, uint32_t number, const int64_t *values, size_t count)
{
	size_t opened = sp_message_open(out, number);
	unsigned char bytes[10];

	for (size_t i = 0; i < count; i++)
		sp_buffer_append(out, bytes,
				 (size_t)(sp_wire_put_varint(bytes, (uint64_t)values[i]) - bytes));
	if (count != 0)
		sp_message_close(out, opened);
	else if (!out->failed)
		out->size = opened - 1;
}

size_t sp_message_open(sp_buffer *out, uint32_t number)
{
	sp_buffer_append_char(out, (char)(number << 3 | SP_WIRE_BYTES));
	return out->size;
}

/* Inserts the length before the content. */
void sp_message_close(sp_buffer *out, size_t opened)
{
	unsigned char length[10];
	size_t size, content = out->size - opened;

	if (out->failed)
		return;
	size = (size_t)(sp_wire_put_varint(length, content) - length);
	if (sp_buffer_reserve(out, size) == NULL)
		return;
	memmove(out->data + opened + size, out->data + opened, content);
	memcpy(out->data + opened, length, size);
}
