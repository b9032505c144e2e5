#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/json/decimal.h"
#include "api/host/json/json_reader.h"

/*
 * One pass over the text yields an integer and a power of ten.  Exact integer arithmetic rounds
 * these for almost all numbers in practice; the rest (more than 19 digits, large exponents) goes to
 * strtod().
 */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* This many digits always fit uint64. */
enum { SAFE_DIGITS = 18 };

/* Adds a run of digits; those of a fraction lower the exponent. */
static const char *read_digits(const char *at, bool fraction, sp_json_number *out)
{
	const char *start = at;
	uint64_t digits = out->digits, next;

	if (digits == 0) {
		for (; is_digit(*at) && at - start < SAFE_DIGITS; at++)
			digits = digits * 10 + (uint64_t)(*at - '0');
		out->exponent -= fraction ? at - start : 0;
	}
	for (; is_digit(*at); at++) {
		if (!out->truncated && !__builtin_mul_overflow(digits, 10u, &next) &&
		    !__builtin_add_overflow(next, (uint64_t)(*at - '0'), &next)) {
			digits = next;
			out->exponent -= fraction;
		} else {
			out->truncated = true;
			out->exponent += !fraction;
		}
	}
	out->digits = digits;
	return at;
}

/* The digits after "e"; the value saturates far outside the range of a double. */
static const char *read_exponent(const char *at, sp_json_number *out)
{
	const int64_t most = INT64_C(1000000000000000);
	bool negative = *at == '-';
	int64_t exponent = 0;

	if (*at == '-' || *at == '+')
		at++;
	if (!is_digit(*at))
		return NULL;
	for (; is_digit(*at); at++)
		if (exponent < most)
			exponent = exponent * 10 + (*at - '0');
	out->exponent += negative ? -exponent : exponent;
	return at;
}

static bool read_word(sp_json_reader *reader, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(reader->at, word, n) != 0)
		return false;
	reader->at += n;
	return true;
}

static sp_status read_special(sp_json_reader *reader, sp_json_number *out, sp_error *err)
{
	if (read_word(reader, "NaN")) {
		out->nan = true;
		return SP_OK;
	}
	if (read_word(reader, "Infinity") || read_word(reader, "Inf")) {
		out->infinite = true;
		return SP_OK;
	}
	return sp_json_fail(reader, "Invalid value.", err);
}

sp_status sp_json_number_read(sp_json_reader *reader, sp_json_number *out, sp_error *err)
{
	const char *after;

	*out = (sp_json_number){.text = reader->at, .integer = true};
	if (*reader->at == '-') {
		out->negative = true;
		reader->at++;
	}
	if (*reader->at == '0')
		reader->at++;
	else if (is_digit(*reader->at))
		reader->at = read_digits(reader->at, false, out);
	else
		return read_special(reader, out, err);
	out->integer = !out->truncated;
	if (*reader->at == '.') {
		out->integer = false;
		reader->at++;
		if (!is_digit(*reader->at))
			return sp_json_fail(reader, "Miss fraction part in number.", err);
		reader->at = read_digits(reader->at, true, out);
	}
	if (*reader->at == 'e' || *reader->at == 'E') {
		out->integer = false;
		after = read_exponent(reader->at + 1, out);
		if (after == NULL)
			return sp_json_fail(reader, "Miss exponent in number.", err);
		reader->at = after;
	}
	if (is_digit(*reader->at))
		return sp_json_fail(reader, "Invalid value.", err); /* 01 */
	return SP_OK;
}

bool sp_json_number_to_u64(const sp_json_number *number, uint64_t *out)
{
	*out = number->digits;
	return number->integer && !number->nan && !number->infinite &&
	       (!number->negative || number->digits == 0);
}

bool sp_json_number_to_i64(const sp_json_number *number, int64_t *out)
{
	uint64_t most = (uint64_t)INT64_MAX + number->negative;

	if (!number->integer || number->nan || number->infinite || number->digits > most)
		return false;
	*out = (int64_t)(number->negative ? -number->digits : number->digits);
	return true;
}

/* ---------------------------------------------------------------- rounding */

enum { MAX_POWER = 19, F32_BITS = 24, F64_BITS = 53 };

/* 2^exponent, for exponents of normal numbers. */
static double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int bit_length(unsigned __int128 value)
{
	uint64_t high = (uint64_t)(value >> 64), low = (uint64_t)value;

	return high != 0 ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll(low);
}

/*
 * value * 2^scale rounded to `bits` significant bits, ties to even; value has more bits than
 * that.  `sticky`: the exact number is slightly above `value`.
 */
static double round_to(unsigned __int128 value, bool sticky, int scale, int bits)
{
	int drop = bit_length(value) - bits;
	unsigned __int128 half = (unsigned __int128)1 << (drop - 1);
	unsigned __int128 rest = value & ((half << 1) - 1);
	uint64_t kept = (uint64_t)(value >> drop);

	if (rest > half || (rest == half && (sticky || (kept & 1) != 0)))
		kept++;
	return (double)kept * power_of_two(drop + scale);
}

/* digits * 10^exponent for |exponent| <= MAX_POWER and digits != 0. */
static double round_product(uint64_t digits, int exponent, int bits)
{
	unsigned __int128 value = digits, quotient;
	uint64_t divisor;
	int shift;

	if (exponent >= 0) {
		value *= sp_power_of_ten[exponent];
		shift = 128 - bit_length(value);
		return round_to(value << shift, false, -shift, bits);
	}
	divisor = sp_power_of_ten[-exponent];
	shift = 128 - bit_length(value);
	value <<= shift;
	quotient = value / divisor;
	return round_to(quotient, quotient * divisor != value, -shift, bits);
}

/*
 * Both operands are exact doubles, so one operation rounds once.  The caller may round the result
 * to float; this second rounding may be wrong only if the double is halfway between two floats, for
 * which this returns false.
 */
static bool round_simple(uint64_t digits, int64_t exponent, int bits, double *out)
{
	uint64_t pattern;

	if (digits >> F64_BITS != 0)
		return false;
	*out = exponent < 0 ? (double)digits / (double)sp_power_of_ten[-exponent]
			    : (double)digits * (double)sp_power_of_ten[exponent];
	memcpy(&pattern, out, sizeof(pattern));
	return bits == F64_BITS || (pattern & 0x1fffffff) != 0x10000000;
}

/* Sets the magnitude; false if strtod() is needed. */
static bool round_fast(const sp_json_number *number, int bits, double *out)
{
	if (number->nan || number->infinite) {
		*out = number->nan ? (double)NAN : (double)INFINITY;
		return true;
	}
	if (number->truncated)
		return false;
	if (number->digits == 0) {
		*out = 0;
		return true;
	}
	if (number->exponent < -MAX_POWER || number->exponent > MAX_POWER)
		return false;
	if (round_simple(number->digits, number->exponent, bits, out))
		return true;
	*out = round_product(number->digits, (int)number->exponent, bits);
	return true;
}

/* newlocale("C") allocates nothing and cannot fail, because this locale is built in. */
double sp_json_number_to_f64(const sp_json_number *number)
{
	double value;
	locale_t c;

	if (round_fast(number, F64_BITS, &value))
		return number->negative ? -value : value;
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	value = strtod_l(number->text, NULL, c);
	freelocale(c);
	return value;
}

float sp_json_number_to_f32(const sp_json_number *number)
{
	double value;
	float narrow;
	locale_t c;

	if (round_fast(number, F32_BITS, &value))
		return (float)(number->negative ? -value : value);
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	narrow = strtof_l(number->text, NULL, c);
	freelocale(c);
	return narrow;
}
