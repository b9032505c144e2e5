#include "api/host/json/json_base64.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void sp_base64_encode(sp_buffer *out, sp_bytes data)
{
	const unsigned char *from = (const unsigned char *)data.data;

	for (size_t i = 0; i < data.size; i += 3) {
		size_t n = data.size - i < 3 ? data.size - i : 3;
		uint32_t bits = (uint32_t)from[i] << 16;
		char text[4];

		if (n > 1)
			bits |= (uint32_t)from[i + 1] << 8;
		if (n > 2)
			bits |= from[i + 2];
		text[0] = digits[bits >> 18];
		text[1] = digits[(bits >> 12) & 63];
		text[2] = n > 1 ? digits[(bits >> 6) & 63] : '=';
		text[3] = n > 2 ? digits[bits & 63] : '=';
		sp_buffer_append(out, text, 4);
	}
}

static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Removes the padding; false if it is wrong. */
static bool strip_padding(sp_bytes *text)
{
	size_t padding = 0;

	while (padding < 2 && padding < text->size && text->data[text->size - 1 - padding] == '=')
		padding++;
	if (padding != 0 && text->size % 4 != 0)
		return false;
	text->size -= padding;
	return text->size % 4 != 1;
}

sp_base64_result sp_base64_decode(sp_bytes *out, sp_bytes text, sp_arena *arena)
{
	uint32_t bits = 0;
	unsigned held = 0;
	char *bytes, *to;

	if (!strip_padding(&text))
		return SP_BASE64_INVALID;
	bytes = to = sp_arena_alloc(arena, text.size / 4 * 3 + 3);
	if (bytes == NULL)
		return SP_BASE64_NO_MEMORY;
	for (size_t i = 0; i < text.size; i++) {
		int value = digit_value(text.data[i]);

		if (value < 0)
			return SP_BASE64_INVALID;
		bits = (bits << 6) | (uint32_t)value;
		held += 6;
		if (held >= 8) {
			held -= 8;
			*to++ = (char)(bits >> held);
		}
	}
	*out = (sp_bytes){bytes, (size_t)(to - bytes)};
	return SP_BASE64_OK;
}
