#include "base/json_text.h"

#include "base/utf8.h"

void sp_json_text_append(sp_buffer *json, sp_bytes text)
{
	sp_buffer_append_char(json, '"');
	for (size_t i = 0, length; i < text.size; i += length != 0 ? length : 1) {
		unsigned char c = (unsigned char)text.data[i];

		length = sp_utf8_length(text.data + i, text.size - i);
		if (length == 0)
			sp_buffer_append_text(json, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			sp_buffer_printf(json, "\\%c", c);
		else if (c < 0x20)
			sp_buffer_printf(json, "\\u%04x", c);
		else
			sp_buffer_append(json, text.data + i, length);
	}
	sp_buffer_append_char(json, '"');
}
