#include "base/json_text.h"

void sp_json_text_append(sp_buffer *json, const char *text)
{
	sp_buffer_append_char(json, '"');
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			sp_buffer_append_char(json, '\\');
		if ((unsigned char)*c < 0x20)
			sp_buffer_printf(json, "\\u%04x", (unsigned)*c);
		else
			sp_buffer_append_char(json, *c);
	}
	sp_buffer_append_char(json, '"');
}
