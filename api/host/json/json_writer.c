#include "api/host/json/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/json/json_base64.h"
#include "api/host/json/decimal.h"
#include "api/host/json/json_reader.h"
#include "base/utf8.h"

/* ---------------------------------------------------------------- strings */

/* Length of the prefix that needs no escapes. */
static size_t plain_run(sp_bytes text)
{
	size_t i = 0;

	while (i < text.size) {
		unsigned char c = (unsigned char)text.data[i];
		size_t n = 1;

		if (c < 0x20 || c == '"' || c == '\\')
			break;
		if (c >= 0x80)
			n = sp_utf8_length(text.data + i, text.size - i);
		if (n == 0)
			break;
		i += n;
	}
	return i;
}

static void write_escape(sp_buffer *out, unsigned char c)
{
	static const char letters[] = "btn\0fr"; /* for 8 to 13 */

	if (c >= 0x80)
		sp_buffer_append_text(out, "\xef\xbf\xbd");
	else if (c == '"' || c == '\\')
		sp_buffer_append(out, (char[]){'\\', (char)c}, 2);
	else if (c >= 8 && c <= 13 && c != 11)
		sp_buffer_append(out, (char[]){'\\', letters[c - 8]}, 2);
	else
		sp_buffer_printf(out, "\\u%04x", c);
}

void sp_json_write_string(sp_buffer *out, sp_bytes text)
{
	sp_buffer_append_char(out, '"');
	while (text.size != 0) {
		size_t run = plain_run(text);

		sp_buffer_append(out, text.data, run);
		if (run == text.size)
			break;
		write_escape(out, (unsigned char)text.data[run]);
		text = (sp_bytes){text.data + run + 1, text.size - run - 1};
	}
	sp_buffer_append_char(out, '"');
}

void sp_json_write_key(sp_buffer *out, const char *key, bool first)
{
	if (!first)
		sp_buffer_append_char(out, ',');
	sp_json_write_string(out, sp_bytes_of(key));
	sp_buffer_append_char(out, ':');
}

void sp_json_write_base64(sp_buffer *out, sp_bytes data)
{
	sp_buffer_append_text(out, "{\"b64\":\"");
	sp_base64_encode(out, data);
	sp_buffer_append_text(out, "\"}");
}

/* ---------------------------------------------------------------- numbers */

/* Digits tried first; digits with which any value of the type reads back. */
enum { SHORT_DIGITS = 6, F32_DIGITS = 9, F64_DIGITS = 17 };

/* Smaller numbers are rare and need the text for sp_json_number_to_f64(). */
enum { LEAST_EXPONENT = -14 };

void sp_json_write_u64(sp_buffer *out, uint64_t value)
{
	char text[20];
	char *at = text + sizeof(text);

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	sp_buffer_append(out, at, (size_t)(text + sizeof(text) - at));
}

void sp_json_write_i64(sp_buffer *out, int64_t value)
{
	if (value < 0)
		sp_buffer_append_char(out, '-');
	sp_json_write_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static bool write_special(sp_buffer *out, double value)
{
	if (isnan(value))
		sp_buffer_append_text(out, "NaN");
	else if (isinf(value))
		sp_buffer_append_text(out, value < 0 ? "-Infinity" : "Infinity");
	return !isfinite(value);
}

static void write_decimal(sp_buffer *out, const char *text)
{
	sp_buffer_append_text(out, text);
	if (strpbrk(text, ".e") == NULL)
		sp_buffer_append_text(out, ".0");
}

/* Whether the digits of a value of at least 10^-14 read back as that value. */
static bool reads_back(sp_decimal decimal, double magnitude, bool narrow)
{
	sp_json_number number = {.digits = decimal.digits,
				 .exponent = decimal.exponent - (SHORT_DIGITS - 1)};

	return narrow ? (double)sp_json_number_to_f32(&number) == magnitude
		      : sp_json_number_to_f64(&number) == magnitude;
}

/* Prints by integer arithmetic; false if sp_decimal_of() does not cover the magnitude. */
static bool print_fast(char text[32], double value, bool narrow)
{
	double magnitude = fabs(value);
	int digits = narrow ? F32_DIGITS : F64_DIGITS;
	sp_decimal decimal;

	if (magnitude == 0) {
		memcpy(text, signbit(value) ? "-0.0" : "0.0", 5 - !signbit(value));
		return true;
	}
	if (!sp_decimal_of(&decimal, magnitude, SHORT_DIGITS) || decimal.exponent < LEAST_EXPONENT)
		return false;
	if (reads_back(decimal, magnitude, narrow)) {
		sp_decimal_print(text, value < 0, decimal, SHORT_DIGITS);
		return true;
	}
	if (!sp_decimal_of(&decimal, magnitude, digits))
		return false;
	sp_decimal_print(text, value < 0, decimal, digits);
	return true;
}

/* printf() writes the decimal point of the locale; JSON's is always '.'. */
static void print_slow(char text[32], double value, bool narrow)
{
	char *comma;
	bool same;

	snprintf(text, 32, "%.*g", SHORT_DIGITS, value);
	same = narrow ? (double)strtof(text, NULL) == value : strtod(text, NULL) == value;
	if (!same)
		snprintf(text, 32, "%.*g", narrow ? F32_DIGITS : F64_DIGITS, value);
	comma = strchr(text, ',');
	if (comma != NULL)
		*comma = '.';
}

static void write_number(sp_buffer *out, double value, bool narrow)
{
	char text[32];

	if (write_special(out, value))
		return;
	if (!print_fast(text, value, narrow))
		print_slow(text, value, narrow);
	write_decimal(out, text);
}

void sp_json_write_f32(sp_buffer *out, float value)
{
	write_number(out, (double)value, true);
}

void sp_json_write_f64(sp_buffer *out, double value)
{
	write_number(out, value, false);
}
