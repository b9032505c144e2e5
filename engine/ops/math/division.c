#include <string.h>
#include <tgmath.h>

#include "engine/ops/math/binary.h"

/*
 * Quotients and remainders.  An integer divided by zero is an error; a float
 * follows IEEE 754.
 *
 * The quotient of the most negative integer and -1 does not fit, and the division traps on some
 * processors.  So integers are negated instead of divided by -1, and the result wraps around.
 */
static const char *zero_divisor(const sp_tensor *right)
{
	static const char zero[8];
	size_t size = sp_dtype_size(right->dtype);
	const char *at = right->data;

	if (!sp_dtype_is_integer(right->dtype))
		return NULL;
	for (size_t i = 0; i < right->count; i++)
		if (memcmp(at + i * size, zero, size) == 0)
			return "integer division by zero";
	return NULL;
}

#define QUOTIENT(a, b)  (b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b))
#define REMAINDER(a, b) (b == -1 ? 0 : a % b)

/* C truncates the quotient: it is one less where there is a remainder and the signs differ. */
#define FLOOR_QUOTIENT(a, b) \
	(b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b - (a % b != 0 && (a < 0) != (b < 0))))

/* The remainder has the sign of b. */
#define FLOOR_REMAINDER(a, b) (b == -1 ? 0 : a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b)

static float floor_remainder_float(float a, float b)
{
	float rest = fmod(a, b);

	return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double floor_remainder_double(double a, double b)
{
	double rest = fmod(a, b);

	return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

#define floor_remainder(a, b) \
	_Generic(a, float : floor_remainder_float, double : floor_remainder_double)(a, b)

SP_BINARY_FIELD(RealDiv, a / b);

SP_BINARY_LOOPS(Div, a / b)
SP_FOR_COMPLEX(SP_BINARY_VALUE, Div, a / b)
SP_FOR_SIGNED(SP_BINARY_VALUE, Div, QUOTIENT(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, Div, a / b)
SP_BINARY_OP(Div, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_ARITHMETIC(Div));

SP_FOR_FLOATING(SP_BINARY_VALUE, TruncateDiv, trunc(a / b))
SP_FOR_SIGNED(SP_BINARY_VALUE, TruncateDiv, QUOTIENT(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, TruncateDiv, a / b)
SP_BINARY_OP(TruncateDiv, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(TruncateDiv));

SP_FOR_FLOATING(SP_BINARY_VALUE, FloorDiv, floor(a / b))
SP_FOR_SIGNED(SP_BINARY_VALUE, FloorDiv, FLOOR_QUOTIENT(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, FloorDiv, a / b)
SP_BINARY_OP(FloorDiv, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(FloorDiv));

SP_FOR_FLOATING(SP_BINARY_VALUE, FloorMod, floor_remainder(a, b))
SP_FOR_SIGNED(SP_BINARY_VALUE, FloorMod, FLOOR_REMAINDER(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, FloorMod, a % b)
SP_BINARY_OP(FloorMod, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(FloorMod));

SP_FOR_FLOATING(SP_BINARY_VALUE, Mod, fmod(a, b))
SP_FOR_SIGNED(SP_BINARY_VALUE, Mod, REMAINDER(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, Mod, a % b)
SP_BINARY_OP(Mod, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(Mod));
SP_BINARY_OP(TruncateMod, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(Mod));

/* 0 where b is 0. */
SP_BINARY_FIELD(DivNoNan, b == 0 ? 0 : a / b);

/* 0 where a is 0, even if b is 0 too. */
SP_BINARY_FIELD(Xdivy, a == 0 ? 0 : a / b);
