#include "api/host/metrics/openmetrics.h"

#include <string.h>

#define TOTAL   "_total"
#define COUNTER " counter"

/* "# HELP name text" or "# TYPE name type": the name without "_total". */
static void write_description(sp_buffer *out, sp_bytes line)
{
	enum { NAME_AT = 7 };
	const char *space = memchr(line.data + NAME_AT, ' ', line.size - NAME_AT);
	sp_bytes name = {line.data, space != NULL ? (size_t)(space - line.data) : line.size};
	sp_bytes rest = {line.data + name.size, line.size - name.size};
	bool is_total = sp_bytes_ends_with(name, TOTAL);

	sp_buffer_append(out, name.data, name.size - (is_total ? strlen(TOTAL) : 0));
	if (!is_total && sp_bytes_equal_text(rest, COUNTER))
		sp_buffer_append_text(out, " unknown");
	else
		sp_buffer_append(out, rest.data, rest.size);
}

/* The newline of a line is written with the next one, unless that is its exemplar. */
void sp_openmetrics_write(sp_buffer *out, sp_bytes page)
{
	const char *at = page.data, *end = page.data + page.size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		sp_bytes line = {at, (size_t)((newline != NULL ? newline : end) - at)};

		if (sp_bytes_starts_with(line, SP_EXEMPLAR_MARK)) {
			size_t mark = strlen(SP_EXEMPLAR_MARK);

			sp_buffer_append_text(out, " # ");
			sp_buffer_append(out, line.data + mark, line.size - mark);
		} else {
			if (at != page.data)
				sp_buffer_append_char(out, '\n');
			if (sp_bytes_starts_with(line, "# HELP ") ||
			    sp_bytes_starts_with(line, "# TYPE "))
				write_description(out, line);
			else
				sp_buffer_append(out, line.data, line.size);
		}
		at = newline != NULL ? newline + 1 : end;
	}
	sp_buffer_append_text(out, page.size != 0 ? "\n# EOF\n" : "# EOF\n");
}
