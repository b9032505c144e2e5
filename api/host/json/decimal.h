#ifndef SP_API_HOST_JSON_DECIMAL_H
#define SP_API_HOST_JSON_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A number in decimal scientific notation with a fixed count of digits:
 *
 *	digits[0] . digits[1..] * 10^exponent
 *
 * It is the nearest such decimal, ties to even, as printf() rounds.  Computed in exact integer
 * arithmetic, independent of the locale.
 *
 * Threads: pure.
 */
enum { SP_DECIMAL_MAX_DIGITS = 17 };

typedef struct sp_decimal {
	uint64_t digits; /* all of them as one integer, the first not 0 */
	int exponent;    /* of the first digit */
} sp_decimal;

/* 10^0 ... 10^19, all that fit. */
extern const uint64_t sp_power_of_ten[20];

/*
 * value   finite, positive
 * count   1 to 17 digits
 *
 * False if the value is too far from 1: below about 10^-5 (for 9 digits 10^-13), or 10^count
 * and above.
 */
bool sp_decimal_of(sp_decimal *out, double value, int count);

/* As printf("%.<count>g"), with a minus if `negative`; returns the length.  `out` has 32 bytes. */
int sp_decimal_print(char *out, bool negative, sp_decimal decimal, int count);

#endif
