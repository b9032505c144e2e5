#include "api/host/json/json_print.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/json/decimal.h"
#include "api/host/json/json_reader.h"

/* ------------------------------------------------------------------- digits */

enum { BLOCK = 8 };

#define ASCII_ZEROS UINT64_C(0x3030303030303030)

/* The eight digits of a number below 10^8 as bytes 0 to 9, the first one in the lowest byte. */
static inline uint64_t digits_of(uint32_t value)
{
	uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
	uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
	uint64_t tens = (twos * 103 >> 10) & UINT64_C(0x000f000f000f000f);

	return tens | (twos - tens * 10) << 8;
}

/* Writes eight characters, the lowest byte first. */
static inline void put_block(char *out, uint64_t block)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	block = __builtin_bswap64(block);
#endif
	memcpy(out, &block, sizeof(block));
}

char *sp_json_print_u64(char *out, uint64_t value)
{
	uint64_t digits;
	size_t zeros;

	if (value >= 100000000) {
		out = sp_json_print_u64(out, value / 100000000);
		put_block(out, digits_of((uint32_t)(value % 100000000)) | ASCII_ZEROS);
		return out + BLOCK;
	}
	digits = digits_of((uint32_t)value);
	zeros = value == 0 ? BLOCK - 1 : (size_t)__builtin_ctzll(digits) / 8;
	put_block(out, (digits | ASCII_ZEROS) >> zeros * 8);
	return out + BLOCK - zeros;
}

char *sp_json_print_i64(char *out, int64_t value)
{
	*out = '-';
	return sp_json_print_u64(out + (value < 0), value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* ------------------------------------------------------------------- layout */

/* As printf() prints with %g and so many digits: six, or what every value of the type needs. */
enum { SHORT_DIGITS = 6, F32_DIGITS = 9, F64_DIGITS = 17 };

/* Smaller numbers are rare and need the text for sp_json_number_to_f64(). */
enum { LEAST_EXPONENT = -14 };

static char *put_text(char *out, const char *text)
{
	size_t size = strlen(text);

	memcpy(out, text, size);
	return out + size;
}

/* A decimal of any size. */
static char *put_decimal(char *out, bool negative, sp_decimal decimal, int count)
{
	int size = sp_decimal_print(out, negative, decimal, count);

	return strpbrk(out, ".e") == NULL ? put_text(out + size, ".0") : out + size;
}

/*
 * Nine digits, the first of which counts 10^exponent, as "ddd.ddd" or "0.00ddd", without zeros at
 * the end; -5 < exponent < 8.
 */
static inline char *put_nine(char *out, uint32_t digits, int exponent)
{
	uint64_t rest = digits_of(digits % 100000000), before;
	int count = rest == 0 ? 1 : 9 - __builtin_clzll(rest) / 8;
	char first = (char)('0' + digits / 100000000);

	rest |= ASCII_ZEROS;
	if (exponent < 0) {
		memcpy(out, "0.000000", 8);
		out += 1 - exponent;
		*out = first;
		put_block(out + 1, rest);
		return out + count;
	}
	*out++ = first;
	before = (UINT64_C(1) << exponent * 8) - 1; /* the digits before the point */
	put_block(out, (rest & before) | (uint64_t)'.' << exponent * 8 | (rest & ~before) << 8);
	out[BLOCK] = (char)(rest >> 56);
	return out + (count > exponent + 2 ? count : exponent + 2);
}

/* ----------------------------------------------------------- exact arithmetic */

/* Whether the digits of a value of at least 10^-14 read back as that value. */
static bool reads_back(sp_decimal decimal, double magnitude, bool narrow)
{
	sp_json_number number = {.digits = decimal.digits,
				 .exponent = decimal.exponent - (SHORT_DIGITS - 1)};

	return narrow ? (double)sp_json_number_to_f32(&number) == magnitude
		      : sp_json_number_to_f64(&number) == magnitude;
}

/* Prints by integer arithmetic; NULL if sp_decimal_of() does not cover the magnitude. */
static char *print_exactly(char *out, double value, bool narrow)
{
	double magnitude = fabs(value);
	int digits = narrow ? F32_DIGITS : F64_DIGITS;
	sp_decimal decimal;

	if (!sp_decimal_of(&decimal, magnitude, SHORT_DIGITS) || decimal.exponent < LEAST_EXPONENT)
		return NULL;
	if (reads_back(decimal, magnitude, narrow))
		return put_decimal(out, value < 0, decimal, SHORT_DIGITS);
	if (!sp_decimal_of(&decimal, magnitude, digits))
		return NULL;
	return put_decimal(out, value < 0, decimal, digits);
}

/* printf() writes the decimal point of the locale; JSON's is always '.'. */
static char *print_by_printf(char *out, double value, bool narrow)
{
	char *comma;
	bool same;

	snprintf(out, 32, "%.*g", SHORT_DIGITS, value);
	same = narrow ? (double)strtof(out, NULL) == value : strtod(out, NULL) == value;
	if (!same)
		snprintf(out, 32, "%.*g", narrow ? F32_DIGITS : F64_DIGITS, value);
	comma = strchr(out, ',');
	if (comma != NULL)
		*comma = '.';
	return strpbrk(out, ".e") == NULL ? put_text(out + strlen(out), ".0") : out + strlen(out);
}

static char *print_any(char *out, double value, bool narrow)
{
	char *end;

	if (isnan(value))
		return put_text(out, "NaN");
	if (isinf(value))
		return put_text(out, value < 0 ? "-Infinity" : "Infinity");
	if (value == 0)
		return put_text(out, signbit(value) ? "-0.0" : "0.0");
	end = print_exactly(out, value, narrow);
	return end != NULL ? end : print_by_printf(out, value, narrow);
}

/* ----------------------------------------------------- arithmetic with doubles */

/* What the functions below are for: -5 < exponent < 8. */
static inline bool is_usual(double magnitude)
{
	return magnitude >= 1e-4 && magnitude < 1e8;
}

/*
 * A usual value with nine digits.  The product is off by less than 2^-23, so a fraction that is not
 * near 1/2 is rounded as that of the exact product; else false.
 */
static inline bool nine_digits(double magnitude, uint32_t *out, int *exponent)
{
	static const double powers[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2,
					1e3,  1e4,  1e5,  1e6,  1e7, 1e8};
	static const double scales[] = {1e12, 1e11, 1e10, 1e9, 1e8, 1e7,
					1e6,  1e5,  1e4,  1e3, 1e2, 1e1};
	uint64_t bits;
	double scaled, fraction;
	int power;

	memcpy(&bits, &magnitude, sizeof(bits));
	/* The exponent of 2 times log10(2): at most one too small. */
	power = (((int)(bits >> 52) - 1023) * 1233 + 5 * 4096) / 4096;
	power -= magnitude < powers[power];
	scaled = magnitude * scales[power];
	*out = (uint32_t)(int32_t)scaled;
	fraction = scaled - (double)(int32_t)*out;
	*out += fraction > 0.5;
	*exponent = power - 4;
	return fabs(fraction - 0.5) > 1e-6 && *out < 1000000000;
}

/*
 * reads_back() for a usual float.  The product is off by less than 4 of a double's units, so the
 * float nearest to it is right unless it is as near to the middle between two floats.
 */
static inline bool reads_back_f32(uint32_t six, int exponent, double magnitude)
{
	static const double units[] = {1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4,
				       1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2};
	double value = six * units[exponent + 4];
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if ((bits & 0x1fffffff) - (0x10000000 - 8) <= 16)
		return reads_back((sp_decimal){six, exponent}, magnitude, true);
	return (double)(float)value == magnitude;
}

/*
 * A float is at least 2.98 and at most 59.6 units of its ninth digit from the middle between it and
 * the next one (1.49 below a power of two), so the distance of the rounded value often tells
 * whether that reads back.
 */
char *sp_json_print_f32(char *out, float value)
{
	double magnitude = fabs((double)value);
	uint32_t nine, six, distance;
	int exponent;

	if (!is_usual(magnitude) || !nine_digits(magnitude, &nine, &exponent))
		return print_any(out, (double)value, true);
	six = (nine + 500) / 1000;
	distance = six * 1000 > nine ? six * 1000 - nine : nine - six * 1000;
	if (distance <= 60 && (distance == 0 || reads_back_f32(six, exponent, magnitude))) {
		if (six == 1000000 || exponent >= SHORT_DIGITS)
			return print_any(out, (double)value, true);
		nine = six * 1000;
	}
	*out = '-';
	return put_nine(out + (value < 0), nine, exponent);
}

/* As put_nine(), for 17 digits. */
static char *put_seventeen(char *out, uint64_t digits, int exponent)
{
	char text[F64_DIGITS + 2 * BLOCK];
	int count = F64_DIGITS;

	text[0] = (char)('0' + digits / 10000000000000000);
	put_block(text + 1, digits_of((uint32_t)(digits / 100000000 % 100000000)) | ASCII_ZEROS);
	put_block(text + 1 + BLOCK, digits_of((uint32_t)(digits % 100000000)) | ASCII_ZEROS);
	memset(text + F64_DIGITS, '0', 2 * BLOCK);
	while (count > 1 && text[count - 1] == '0')
		count--;
	if (exponent < 0) {
		memcpy(out, "0.000000", 8);
		memcpy(out + 1 - exponent, text, F64_DIGITS);
		return out + 1 - exponent + count;
	}
	memcpy(out, text, BLOCK);
	out[exponent + 1] = '.';
	memcpy(out + exponent + 2, text + exponent + 1, F64_DIGITS);
	return out + 1 + (count > exponent + 2 ? count : exponent + 2);
}

/* Six digits read back only if the seventh to the ninth are zero. */
char *sp_json_print_f64(char *out, double value)
{
	double magnitude = fabs(value);
	sp_decimal decimal;
	uint32_t nine;
	int exponent;

	if (!is_usual(magnitude) || !nine_digits(magnitude, &nine, &exponent) ||
	    (nine % 1000 == 0 && exponent >= SHORT_DIGITS))
		return print_any(out, value, false);
	if (nine % 1000 == 0 && reads_back((sp_decimal){nine / 1000, exponent}, magnitude, false)) {
		*out = '-';
		return put_nine(out + (value < 0), nine, exponent);
	}
	if (!sp_decimal_of(&decimal, magnitude, F64_DIGITS) || decimal.exponent > 7)
		return print_any(out, value, false);
	*out = '-';
	return put_seventeen(out + (value < 0), decimal.digits, decimal.exponent);
}
