#ifndef SP_BASE_HEX_H
#define SP_BASE_HEX_H

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

#endif
