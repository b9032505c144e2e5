#ifndef SP_BASE_UTF8_H
#define SP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * UTF-8 as defined by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
 * Threads: pure.
 */

/* Length of the sequence that starts at `s`, of `size` >= 1 bytes; 0 if it is invalid. */
size_t sp_utf8_length(const char *s, size_t size);

bool sp_utf8_valid(sp_bytes text);

/* Whether a valid sequence is a control character: below U+0020, U+007F to U+009F. */
bool sp_utf8_is_control(const char *s);

/*
 * Makes a terminated text safe for one line of a log or a terminal: each byte of invalid
 * UTF-8 and of control characters becomes '?'.
 */
void sp_utf8_make_printable(char *text);

/* Writes a code point (<= 0x10FFFF, no surrogate); returns the number of bytes. */
size_t sp_utf8_encode(char out[4], uint32_t code);

#endif
