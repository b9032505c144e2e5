#ifndef SP_BASE_UTF8_H
#define SP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above
 * U+10FFFF.  Threads: pure.
 */

/* Length of the sequence at `s`, of which `size` >= 1 bytes are there; 0 if it is none. */
size_t sp_utf8_length(const char *s, size_t size);

bool sp_utf8_valid(sp_bytes text);

/*
 * Makes a terminated text fit for one line of a log or a terminal: what is not UTF-8, and
 * control characters (below U+0020, U+007F to U+009F), become '?' byte by byte.
 */
void sp_utf8_make_printable(char *text);

/* Writes a code point (<= 0x10FFFF, no surrogate); returns the number of bytes. */
size_t sp_utf8_encode(char out[4], uint32_t code);

#endif
