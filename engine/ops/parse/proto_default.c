#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "engine/ops/string/number.h"
#include "engine/ops/parse/proto_message.h"

/*
 * Default values in the syntax of a descriptor: decimal numbers, "inf", "nan", "true", the name of
 * an enum value, strings unquoted, bytes with C's escapes.
 *
 * As in TensorFlow, unsigned integers keep their low 8 bits only, and a string ends at its first
 * NUL.
 */

/* -------------------------------------------------------------------- numbers */

/* Reads digits with an optional sign, in the range of the type; an empty text is 0. */
static bool read_integer(sp_bytes text, bool is_signed, uint64_t *out)
{
	char copy[32], *end;

	*out = 0;
	if (text.size == 0)
		return true;
	if (text.size >= sizeof(copy) || memchr(text.data, '\0', text.size) != NULL)
		return false;
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	errno = 0;
	*out = is_signed ? (uint64_t)strtoll(copy, &end, 10) : strtoull(copy, &end, 10);
	return errno == 0 && *end == '\0' && end != copy;
}

static bool read_real(sp_bytes text, double *out)
{
	*out = 0;
	return text.size == 0 || sp_number_read_f64(text, out);
}

/* A float is read as float: reading a double first would round twice. */
static bool read_float(sp_bytes text, sp_dtype dtype, char element[8])
{
	float narrow = 0;
	double wide;

	if (text.size != 0 && !sp_number_read_f32(text, &narrow))
		return false;
	wide = narrow;
	memcpy(element, dtype == SP_FLOAT ? (void *)&narrow : &wide,
	       dtype == SP_FLOAT ? sizeof(narrow) : sizeof(wide));
	return true;
}

/* ---------------------------------------------------------------------- texts */

static int octal_digit(char c)
{
	return c >= '0' && c <= '7' ? c - '0' : -1;
}

/* Reads at most `most` digits at `at`; false when there are none. */
static bool read_digits(sp_bytes text, size_t *at, int (*digit)(char), unsigned base, size_t most,
			char *out)
{
	unsigned value = 0;
	size_t n = 0;

	for (; n < most && *at < text.size && digit(text.data[*at]) >= 0; n++)
		value = value * base + (unsigned)digit(text.data[(*at)++]);
	*out = (char)value;
	return n > 0;
}

/* Reads what follows a backslash. */
static bool read_escape(sp_bytes text, size_t *at, char *out)
{
	static const char names[] = "abfnrtv\\'\"?", codes[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *name;
	char c;

	if (*at == text.size)
		return false;
	c = text.data[*at];
	if (octal_digit(c) >= 0)
		return read_digits(text, at, octal_digit, 8, 3, out);
	(*at)++;
	if (c == 'x' || c == 'X')
		return read_digits(text, at, sp_hex_value, 16, 2, out);
	name = c != '\0' ? strchr(names, c) : NULL;
	if (name == NULL)
		return false;
	*out = codes[name - names];
	return true;
}

static bool unescape(sp_bytes text, sp_arena *arena, sp_bytes *out)
{
	char *to = sp_arena_alloc(arena, text.size + 1);
	size_t n = 0;

	if (to == NULL)
		return false;
	for (size_t at = 0; at < text.size;) {
		char c = text.data[at++];

		if (c == '\\' && !read_escape(text, &at, &c))
			return false;
		to[n++] = c;
	}
	*out = (sp_bytes){to, n};
	return true;
}

/* -------------------------------------------------------------------- a field */

static bool is_unsigned(sp_proto_type type)
{
	return type == SP_PROTO_UINT32 || type == SP_PROTO_FIXED32 || type == SP_PROTO_UINT64 ||
	       type == SP_PROTO_FIXED64;
}

static bool read_default(const sp_proto_field *field, sp_dtype dtype, sp_arena *arena,
			 sp_proto_default *out)
{
	sp_bytes text = field->default_value;
	uint64_t number;
	double real;

	switch (field->type) {
	case SP_PROTO_DOUBLE:
		if (!read_real(text, &real))
			return false;
		memcpy(out->element, &real, sizeof(real));
		return true;
	case SP_PROTO_FLOAT:
		return read_float(text, dtype, out->element);
	case SP_PROTO_BOOL:
		out->element[0] = sp_bytes_equal_text(text, "true");
		return true;
	case SP_PROTO_MESSAGE:
	case SP_PROTO_GROUP:
		return true;
	case SP_PROTO_STRING:
		out->text = text;
		return true;
	case SP_PROTO_BYTES:
		return unescape(text, arena, &out->text);
	default:
		if (!read_integer(text, !is_unsigned(field->type), &number))
			return false;
		if (is_unsigned(field->type))
			number &= 0xff;
		memcpy(out->element, &number, sizeof(number));
		return true;
	}
}

sp_status sp_proto_message__default(const sp_proto_message *message, const sp_proto_field *field,
				    sp_dtype dtype, sp_arena *arena, sp_proto_default *out,
				    sp_error *err)
{
	sp_bytes text = field->default_value;

	*out = (sp_proto_default){.text = {"", 0}};
	if (field->type == SP_PROTO_ENUM) {
		int32_t number;

		SP_TRY(sp_descriptor_enum(message->set, field->type_name, text, &number, err));
		memcpy(out->element, &number, sizeof(number));
		return SP_OK;
	}
	if (!read_default(field, dtype, arena, out))
		return sp_error_set(err, SP_INVALID, "field %.*s cannot have the default %.*s",
				    (int)(field->name.size < 60 ? field->name.size : 60),
				    field->name.data, (int)(text.size < 60 ? text.size : 60),
				    text.data);
	if (out->text.size != 0)
		out->text.size = strnlen(out->text.data, out->text.size);
	return SP_OK;
}
