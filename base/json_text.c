#include "base/json_text.h"

#include "base/utf8.h"

/* Length of the prefix that needs no escapes. */
static size_t plain_run(sp_bytes text)
{
	size_t i = 0;

	while (i < text.size) {
		unsigned char c = (unsigned char)text.data[i];
		size_t n = 1;

		if (c < 0x20 || c == '"' || c == '\\')
			break;
		if (c >= 0x80)
			n = sp_utf8_length(text.data + i, text.size - i);
		if (n == 0)
			break;
		i += n;
	}
	return i;
}

static void write_escape(sp_buffer *out, unsigned char c)
{
	static const char letters[] = "btn\0fr"; /* for 8 to 13 */

	if (c >= 0x80)
		sp_buffer_append_text(out, "\xef\xbf\xbd");
	else if (c == '"' || c == '\\')
		sp_buffer_append(out, (char[]){'\\', (char)c}, 2);
	else if (c >= 8 && c <= 13 && c != 11)
		sp_buffer_append(out, (char[]){'\\', letters[c - 8]}, 2);
	else
		sp_buffer_printf(out, "\\u%04x", c);
}

void sp_json_text_append(sp_buffer *json, sp_bytes text)
{
	sp_buffer_append_char(json, '"');
	while (text.size != 0) {
		size_t run = plain_run(text);

		sp_buffer_append(json, text.data, run);
		if (run == text.size)
			break;
		write_escape(json, (unsigned char)text.data[run]);
		text = (sp_bytes){text.data + run + 1, text.size - run - 1};
	}
	sp_buffer_append_char(json, '"');
}
