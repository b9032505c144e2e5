#ifndef SP_BASE_PERCENT_H
#define SP_BASE_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/hex.h"

/*
 * Decodes the percent escapes of a URL's path into a terminated text.  A malformed escape is copied
 * as it is; a NUL becomes '?'.  False if it does not fit into `room` bytes.
 *
 * Threads: pure.
 */
static inline bool sp_percent_decode(char *out, size_t room, sp_bytes text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];

		if (c == '%' && i + 2 < text.size && sp_hex_value(text.data[i + 1]) >= 0 &&
		    sp_hex_value(text.data[i + 2]) >= 0) {
			c = (char)(sp_hex_value(text.data[i + 1]) * 16 +
				   sp_hex_value(text.data[i + 2]));
			i += 2;
		}
		if (n + 1 == room)
			return false;
		out[n++] = c == '\0' ? '?' : c;
	}
	out[n] = '\0';
	return true;
}

#endif
