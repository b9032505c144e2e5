#include "api/host/json/json_writer.h"

#include "api/host/json/json_print.h"
#include "base/utf8.h"

/* ---------------------------------------------------------------- strings */

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

void sp_json_write_string(sp_buffer *out, sp_bytes text)
{
	sp_buffer_append_char(out, '"');
	while (text.size != 0) {
		size_t run = plain_run(text);

		sp_buffer_append(out, text.data, run);
		if (run == text.size)
			break;
		write_escape(out, (unsigned char)text.data[run]);
		text = (sp_bytes){text.data + run + 1, text.size - run - 1};
	}
	sp_buffer_append_char(out, '"');
}

void sp_json_write_key(sp_buffer *out, const char *key, bool first)
{
	if (!first)
		sp_buffer_append_char(out, ',');
	sp_json_write_string(out, sp_bytes_of(key));
	sp_buffer_append_char(out, ':');
}

/* ---------------------------------------------------------------- numbers */

static void end_number(sp_buffer *out, const char *text, const char *end)
{
	sp_buffer_append(out, text, (size_t)(end - text));
}

void sp_json_write_f32(sp_buffer *out, float value)
{
	char text[SP_JSON_PRINT_BYTES];

	end_number(out, text, sp_json_print_f32(text, value));
}

void sp_json_write_f64(sp_buffer *out, double value)
{
	char text[SP_JSON_PRINT_BYTES];

	end_number(out, text, sp_json_print_f64(text, value));
}

void sp_json_write_i64(sp_buffer *out, int64_t value)
{
	char text[SP_JSON_PRINT_BYTES];

	end_number(out, text, sp_json_print_i64(text, value));
}

void sp_json_write_u64(sp_buffer *out, uint64_t value)
{
	char text[SP_JSON_PRINT_BYTES];

	end_number(out, text, sp_json_print_u64(text, value));
}
