#include "api/host/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/base64.h"
#include "api/host/utf8.h"

/* ---------------------------------------------------------------- strings */

/* How many bytes from the front can stand in a string as they are. */
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

void sp_json_write_base64(sp_buffer *out, sp_bytes data)
{
	sp_buffer_append_text(out, "{\"b64\":\"");
	sp_base64_encode(out, data);
	sp_buffer_append_text(out, "\"}");
}

/* ---------------------------------------------------------------- numbers */

void sp_json_write_u64(sp_buffer *out, uint64_t value)
{
	char text[20];
	char *at = text + sizeof(text);

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	sp_buffer_append(out, at, (size_t)(text + sizeof(text) - at));
}

void sp_json_write_i64(sp_buffer *out, int64_t value)
{
	if (value < 0)
		sp_buffer_append_char(out, '-');
	sp_json_write_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static bool write_special(sp_buffer *out, double value)
{
	if (isnan(value))
		sp_buffer_append_text(out, "NaN");
	else if (isinf(value))
		sp_buffer_append_text(out, value < 0 ? "-Infinity" : "Infinity");
	return !isfinite(value);
}

/* printf() spells the point as the locale does; JSON has one way only. */
static void write_decimal(sp_buffer *out, char *text)
{
	char *comma = strchr(text, ',');

	if (comma != NULL)
		*comma = '.';
	sp_buffer_append_text(out, text);
	if (strpbrk(text, ".e") == NULL)
		sp_buffer_append_text(out, ".0");
}

void sp_json_write_f32(sp_buffer *out, float value)
{
	char text[32];

	if (write_special(out, value))
		return;
	snprintf(text, sizeof(text), "%.6g", (double)value);
	if (strtof(text, NULL) != value)
		snprintf(text, sizeof(text), "%.9g", (double)value);
	write_decimal(out, text);
}

void sp_json_write_f64(sp_buffer *out, double value)
{
	char text[32];

	if (write_special(out, value))
		return;
	snprintf(text, sizeof(text), "%.6g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	write_decimal(out, text);
}
