#include "base/base64_text.h"

#include <stdint.h>

static const char first_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
static const char last_digits[][3] = {[SP_BASE64_STANDARD] = "+/", [SP_BASE64_URL] = "-_"};

static char digit_of(uint32_t value, sp_base64_alphabet alphabet)
{
	return value < 62 ? first_digits[value] : last_digits[alphabet][value - 62];
}

/* -1 for characters outside the alphabet. */
static int value_of(char c, sp_base64_alphabet alphabet)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == last_digits[alphabet][0] ? 62 : c == last_digits[alphabet][1] ? 63 : -1;
}

/* Four characters for three bytes; the last one or two bytes take fewer, or padding. */
size_t sp_base64_write(char *out, sp_bytes data, sp_base64_alphabet alphabet, bool pad)
{
	const unsigned char *from = (const unsigned char *)data.data;
	char *to = out;

	for (size_t i = 0; i < data.size; i += 3) {
		size_t left = data.size - i;
		uint32_t bits = (uint32_t)from[i] << 16;

		if (left > 1)
			bits |= (uint32_t)from[i + 1] << 8;
		if (left > 2)
			bits |= from[i + 2];
		for (size_t k = 0; k < 4; k++)
			if (k <= left)
				*to++ = digit_of(bits >> (18 - 6 * k) & 63, alphabet);
			else if (pad)
				*to++ = '=';
	}
	return (size_t)(to - out);
}

bool sp_base64_read(char *out, size_t *size, sp_bytes digits, sp_base64_alphabet alphabet)
{
	uint32_t bits = 0;
	unsigned held = 0;
	char *to = out;

	for (size_t i = 0; i < digits.size; i++) {
		int value = value_of(digits.data[i], alphabet);

		if (value < 0)
			return false;
		bits = (bits << 6) | (uint32_t)value;
		held += 6;
		if (held >= 8) {
			held -= 8;
			*to++ = (char)(bits >> held);
		}
	}
	*size = (size_t)(to - out);
	return true;
}
