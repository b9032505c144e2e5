#include "api/host/json/json_base64.h"

#include "base/base64_text.h"

void sp_base64_encode(sp_buffer *out, sp_bytes data)
{
	char text[4];

	for (size_t i = 0; i < data.size; i += 3) {
		sp_bytes three = {data.data + i, data.size - i < 3 ? data.size - i : 3};

		sp_buffer_append(out, text, sp_base64_write(text, three, SP_BASE64_STANDARD, true));
	}
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
	char *bytes;

	if (!strip_padding(&text))
		return SP_BASE64_INVALID;
	bytes = sp_arena_alloc(arena, text.size / 4 * 3 + 3);
	if (bytes == NULL)
		return SP_BASE64_NO_MEMORY;
	if (!sp_base64_read(bytes, &out->size, text, SP_BASE64_STANDARD))
		return SP_BASE64_INVALID;
	out->data = bytes;
	return SP_BASE64_OK;
}
