#include "engine/ops/string/number.h"

#include "engine/ops/string/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REAL_SIZE = 31, REAL_ROOM = 64 };

bool sp_number_read_i64(sp_bytes text, int64_t *out)
{
	int64_t value = 0;
	bool negative;

	text = sp_text_strip(text);
	negative = text.size > 0 && text.data[0] == '-';
	if (text.size == negative)
		return false;
	for (size_t i = negative; i < text.size; i++) {
		int digit = text.data[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, negative ? -digit : digit, &value))
			return false;
	}
	*out = value;
	return true;
}

bool sp_number_read_i32(sp_bytes text, int32_t *out)
{
	int64_t value;

	if (!sp_number_read_i64(text, &value) || value < INT32_MIN || value > INT32_MAX)
		return false;
	*out = (int32_t)value;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the exponent of ten at text[at ...], which extends to the end. */
static bool read_exponent(sp_bytes text, size_t at, int *out)
{
	bool negative = at < text.size && text.data[at] == '-';
	int value = 0;

	if (at < text.size && (text.data[at] == '-' || text.data[at] == '+'))
		at++;
	if (at == text.size)
		return false;
	for (; at < text.size; at++) {
		if (!is_digit(text.data[at]))
			return false;
		if (value < 100000) /* larger exponents overflow every float */
			value = value * 10 + (text.data[at] - '0');
	}
	*out = negative ? -value : value;
	return true;
}

/*
 * Writes an unsigned decimal number as digits and an exponent, without a point, so that strtod()
 * reads it the same in every locale.
 */
static bool write_decimal(sp_bytes text, char out[REAL_ROOM])
{
	int digits = 0, point = -1, exponent = 0;
	size_t i;

	for (i = 0; i < text.size && (is_digit(text.data[i]) || text.data[i] == '.'); i++) {
		if (is_digit(text.data[i]))
			out[digits++] = text.data[i];
		else if (point < 0)
			point = digits;
		else
			return false;
	}
	if (digits == 0)
		return false;
	if (i < text.size) {
		if ((text.data[i] | 0x20) != 'e' || !read_exponent(text, i + 1, &exponent))
			return false;
	}
	if (point >= 0)
		exponent -= digits - point;
	snprintf(out + digits, REAL_ROOM - (size_t)digits, "e%d", exponent);
	return true;
}

static bool write_hexadecimal(sp_bytes text, char out[REAL_ROOM])
{
	if (text.size < 3 || text.data[0] != '0' || (text.data[1] | 0x20) != 'x')
		return false;
	for (size_t i = 2; i < text.size; i++) {
		char c = text.data[i] | 0x20;

		if (!is_digit(text.data[i]) && (c < 'a' || c > 'f'))
			return false;
	}
	snprintf(out, REAL_ROOM, "%.*s", (int)text.size, text.data);
	return true;
}

/* Writes a terminated text for strtod() or strtof(); false when it is not a number. */
static bool normalise(sp_bytes text, char out[1 + REAL_ROOM])
{
	size_t sign;

	if (text.size == 0 || text.size > MAX_REAL_SIZE)
		return false;
	text = sp_text_strip(text);
	sign = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+');
	out[0] = sign && text.data[0] == '-' ? '-' : '+';
	if (text.size == 0) {
		snprintf(out, REAL_ROOM, "0");
		return true;
	}
	text = (sp_bytes){text.data + sign, text.size - sign};
	if (sp_bytes_is_word(text, "inf") || sp_bytes_is_word(text, "nan")) {
		snprintf(out + 1, REAL_ROOM, "%.3s", text.data);
		return true;
	}
	return write_hexadecimal(text, out + 1) || write_decimal(text, out + 1);
}

bool sp_number_read_f32(sp_bytes text, float *out)
{
	char buffer[1 + REAL_ROOM];

	if (!normalise(text, buffer))
		return false;
	*out = strtof(buffer, NULL);
	return true;
}

bool sp_number_read_f64(sp_bytes text, double *out)
{
	char buffer[1 + REAL_ROOM];

	if (!normalise(text, buffer))
		return false;
	*out = strtod(buffer, NULL);
	return true;
}
