#ifndef SP_API_HOST_UTF8_H
#define SP_API_HOST_UTF8_H

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

/* Writes a code point (<= 0x10FFFF, no surrogate); returns the number of bytes. */
size_t sp_utf8_encode(char out[4], uint32_t code);

#endif
