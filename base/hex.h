#ifndef SP_BASE_HEX_H
#define SP_BASE_HEX_H

#include <stddef.h>

/* The value of a hexadecimal digit in either case; -1 for any other byte. */
static inline int sp_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Writes 2 * size lower-case digits and a NUL. */
static inline void sp_hex_print(char *out, const unsigned char *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * size] = '\0';
}

#endif
