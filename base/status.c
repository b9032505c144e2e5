#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sp_status_name(sp_status status)
{
	switch (status) {
	case SP_OK:
		return "ok";
	case SP_NOT_FOUND:
		return "not_found";
	case SP_INVALID:
		return "invalid";
	case SP_UNSUPPORTED:
		return "unsupported";
	case SP_CORRUPT:
		return "corrupt";
	case SP_IO:
		return "io";
	case SP_NO_MEMORY:
		return "no_memory";
	case SP_BUSY:
		return "busy";
	case SP_DEADLINE:
		return "deadline";
	case SP_INTERNAL:
		return "internal";
	}
	return "unknown";
}

/* Length of the valid UTF-8 sequence at `s` (RFC 3629), 0 if there is none. */
static size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (n == 1)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* One line of printable text: the words may quote bytes of a hostile file. */
static void make_printable(char *text)
{
	unsigned char *s = (unsigned char *)text;

	while (*s != '\0') {
		size_t n = utf8_length(s);

		if (n == 0 || *s < 0x20 || *s == 0x7f) {
			*s++ = '?';
			continue;
		}
		s += n;
	}
}

sp_status sp_error_set(sp_error *err, sp_status status, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return status;
	err->status = status;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	make_printable(err->text);
	return status;
}

sp_status sp_error_prefix(sp_error *err, sp_status status, const char *fmt, ...)
{
	char words[SP_ERROR_TEXT_SIZE];
	va_list args;
	size_t used, rest;

	if (err == NULL)
		return status;
	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	make_printable(words);

	/* What was wrong matters more than where: the place gives way first. */
	used = strnlen(words, sizeof(words) / 2);
	rest = strlen(err->text);
	if (rest > sizeof(err->text) - used - 3)
		rest = sizeof(err->text) - used - 3;
	memmove(err->text + used + 2, err->text, rest);
	memcpy(err->text, words, used);
	memcpy(err->text + used, ": ", 2);
	err->text[used + 2 + rest] = '\0';
	return err->status;
}
