#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

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
	case SP_CANCELLED:
		return "cancelled";
	}
	return "unknown";
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
	sp_utf8_make_printable(err->text);
	return status;
}

sp_status sp_no_memory(sp_error *err, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return sp_error_set(err, SP_NO_MEMORY, "no memory for %s", what);
}

sp_status sp_error_prefix(sp_error *err, sp_status status, const char *fmt, ...)
{
	char words[SP_ERROR_TEXT_SIZE];
	va_list args;
	size_t used, rest;

	if (status == SP_OK || err == NULL)
		return status;
	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);

	/* If both are too long, the prefix is cut first: the cause matters more than the place. */
	used = strnlen(words, sizeof(words) / 2);
	rest = strlen(err->text);
	if (rest > sizeof(err->text) - used - 3)
		rest = sizeof(err->text) - used - 3;
	memmove(err->text + used + 2, err->text, rest);
	memcpy(err->text, words, used);
	memcpy(err->text + used, ": ", 2);
	err->text[used + 2 + rest] = '\0';
	sp_utf8_make_printable(err->text);
	return err->status;
}
