#include "api/host/json/decimal.h"

#include <string.h>

const uint64_t sp_power_of_ten[20] = {1u,
				      10u,
				      100u,
				      1000u,
				      10000u,
				      100000u,
				      1000000u,
				      10000000u,
				      100000000u,
				      1000000000u,
				      10000000000u,
				      100000000000u,
				      1000000000000u,
				      10000000000000u,
				      100000000000000u,
				      1000000000000000u,
				      10000000000000000u,
				      100000000000000000u,
				      1000000000000000000u,
				      10000000000000000000u};

enum { MAX_SCALE = 22 }; /* 2^53 * 10^22 < 2^127 */

/* value = mantissa * 2^-shift; false unless 0 <= shift < 127. */
static bool split(double value, uint64_t *mantissa, int *shift)
{
	uint64_t bits;
	int exponent, zeros;

	memcpy(&bits, &value, sizeof(bits));
	exponent = (int)(bits >> 52);
	if (exponent == 0)
		return false; /* subnormal */
	*mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
	*shift = 1075 - exponent;
	zeros = __builtin_ctzll(*mantissa);
	if (*shift > 0) {
		zeros = zeros < *shift ? zeros : *shift;
		*mantissa >>= zeros;
		*shift -= zeros;
	}
	return *shift >= 0 && *shift < 127;
}

/* mantissa * 10^scale / 2^shift, rounded to an integer, ties to even. */
static unsigned __int128 scaled(uint64_t mantissa, int shift, int scale)
{
	unsigned __int128 product = mantissa, whole, rest, half;

	product *= sp_power_of_ten[scale < 19 ? scale : 19];
	if (scale > 19)
		product *= sp_power_of_ten[scale - 19];
	if (shift == 0)
		return product;
	whole = product >> shift;
	rest = product & (((unsigned __int128)1 << shift) - 1);
	half = (unsigned __int128)1 << (shift - 1);
	if (rest > half || (rest == half && (whole & 1) != 0))
		whole++;
	return whole;
}

/* At most one too small: floor(log10(value)) from the binary exponent. */
static int guess_exponent(double value)
{
	uint64_t bits;
	int exponent;

	memcpy(&bits, &value, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	return (exponent * 1233 - (exponent < 0 ? 4095 : 0)) / 4096;
}

bool sp_decimal_of(sp_decimal *out, double value, int count)
{
	uint64_t mantissa;
	int shift, exponent = guess_exponent(value);

	if (!split(value, &mantissa, &shift))
		return false;
	for (int tries = 0; tries < 3; tries++, exponent++) {
		int scale = count - 1 - exponent;
		unsigned __int128 digits;

		if (scale < 0 || scale > MAX_SCALE)
			return false;
		digits = scaled(mantissa, shift, scale);
		if (digits < sp_power_of_ten[count]) {
			*out = (sp_decimal){(uint64_t)digits, exponent};
			return digits >= sp_power_of_ten[count - 1];
		}
	}
	return false;
}

static int trim_zeros(uint64_t *digits, int count)
{
	while (count > 1 && *digits % 10 == 0) {
		*digits /= 10;
		count--;
	}
	return count;
}

static char *put_digits(char *at, uint64_t digits, int count)
{
	for (int i = count - 1; i >= 0; i--) {
		at[i] = (char)('0' + digits % 10);
		digits /= 10;
	}
	return at + count;
}

/* d.ddde-05 */
static char *put_scientific(char *at, const char *digits, int count, int exponent)
{
	*at++ = digits[0];
	if (count > 1) {
		*at++ = '.';
		memcpy(at, digits + 1, (size_t)count - 1);
		at += count - 1;
	}
	*at++ = 'e';
	*at++ = exponent < 0 ? '-' : '+';
	return put_digits(at, (uint64_t)(exponent < 0 ? -exponent : exponent), 2);
}

/* ddd.dd, ddd000, or 0.000ddd */
static char *put_plain(char *at, const char *digits, int count, int exponent)
{
	int before = exponent + 1;

	if (before <= 0) {
		memcpy(at, "0.0000", 6);
		at += 2 - before;
		before = 0;
	}
	for (int i = 0; i < count || i < before; i++) {
		if (i == before && at[-1] != '.' && i != 0)
			*at++ = '.';
		*at++ = i < count ? digits[i] : '0';
	}
	return at;
}

int sp_decimal_print(char *out, bool negative, sp_decimal decimal, int count)
{
	char digits[SP_DECIMAL_MAX_DIGITS + 1], *at = out;
	int left = trim_zeros(&decimal.digits, count);

	put_digits(digits, decimal.digits, left);
	if (negative)
		*at++ = '-';
	if (decimal.exponent < -4 || decimal.exponent >= count)
		at = put_scientific(at, digits, left, decimal.exponent);
	else
		at = put_plain(at, digits, left, decimal.exponent);
	*at = '\0';
	return (int)(at - out);
}
