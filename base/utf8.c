#include "base/utf8.h"

#include <string.h>

size_t sp_utf8_length(const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (n == 1)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4 || size < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Fast path: eight bytes at a time; the last eight may overlap. */
static bool is_ascii(sp_bytes text)
{
	uint64_t all = 0, eight;

	if (text.size < sizeof(eight)) {
		for (size_t i = 0; i < text.size; i++)
			all |= (unsigned char)text.data[i];
		return all < 0x80;
	}
	for (size_t i = 0; i < text.size; i += sizeof(eight)) {
		size_t last = text.size - sizeof(eight);

		memcpy(&eight, text.data + (i < last ? i : last), sizeof(eight));
		all |= eight;
	}
	return (all & UINT64_C(0x8080808080808080)) == 0;
}

bool sp_utf8_valid(sp_bytes text)
{
	size_t i = is_ascii(text) ? text.size : 0;

	while (i < text.size) {
		size_t n = sp_utf8_length(text.data + i, text.size - i);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

bool sp_utf8_is_control(const char *s)
{
	unsigned char first = (unsigned char)s[0];

	/* U+0080 to U+009F are the two bytes C2 80 to C2 9F. */
	return first < 0x20 || first == 0x7f || (first == 0xc2 && (unsigned char)s[1] < 0xa0);
}

void sp_utf8_make_printable(char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size;) {
		size_t n = sp_utf8_length(text + i, size - i);

		if (n == 0 || sp_utf8_is_control(text + i)) {
			text[i] = '?';
			n = 1;
		}
		i += n;
	}
}

size_t sp_utf8_encode(char out[4], uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | (code >> 6));
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | (code >> 12));
		out[1] = (char)(0x80 | ((code >> 6) & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (code >> 18));
	out[1] = (char)(0x80 | ((code >> 12) & 0x3f));
	out[2] = (char)(0x80 | ((code >> 6) & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}
