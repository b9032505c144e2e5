#include "api/host/json/json_indent.h"

#include <stdbool.h>

static void new_line(sp_buffer *out, size_t level)
{
	sp_buffer_append_char(out, '\n');
	for (size_t i = 0; i < level; i++)
		sp_buffer_append_char(out, ' ');
}

/* The size of the quoted string at the beginning of `text`. */
static size_t string_size(sp_bytes text)
{
	size_t n = 1;

	while (n < text.size && text.data[n] != '"')
		n += text.data[n] == '\\' ? 2 : 1;
	return n < text.size ? n + 1 : text.size;
}

void sp_json_indent(sp_buffer *out, sp_bytes value)
{
	size_t level = 0;
	bool opened = false; /* an object or array that has nothing in it yet */

	for (size_t i = 0; i < value.size && !out->failed; i++) {
		char c = value.data[i];
		size_t size = 1;

		if (c == '}' || c == ']') {
			level -= level != 0;
			if (!opened)
				new_line(out, level);
		} else if (opened) {
			new_line(out, level);
		}
		opened = c == '{' || c == '[';
		if (c == '"')
			size = string_size((sp_bytes){value.data + i, value.size - i});
		sp_buffer_append(out, value.data + i, size);
		i += size - 1;
		if (opened)
			level++;
		else if (c == ',')
			new_line(out, level);
		else if (c == ':')
			sp_buffer_append_char(out, ' ');
	}
	sp_buffer_append_char(out, '\n');
}
