#ifndef SP_BASE_BASE64_TEXT_H
#define SP_BASE_BASE64_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* Base64 (RFC 4648).  Threads: pure. */
typedef enum sp_base64_alphabet {
	SP_BASE64_STANDARD, /* section 4: + and / */
	SP_BASE64_URL,      /* section 5: - and _ */
} sp_base64_alphabet;

/* Writes at most (size / 3 + 1) * 4 characters, not terminated; returns their number. */
size_t sp_base64_write(char *out, sp_bytes data, sp_base64_alphabet alphabet, bool pad);

/*
 * Reads digits without padding, whose number is not 1 modulo 4, and writes size / 4 * 3 bytes and
 * up to two more; bits after the last whole byte are ignored.  False for a character outside the
 * alphabet.  *size is the number of bytes.
 */
bool sp_base64_read(char *out, size_t *size, sp_bytes digits, sp_base64_alphabet alphabet);

#endif
