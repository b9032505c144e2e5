#include <tgmath.h>

#include "engine/kernels/float_functions.h"
#include "engine/ops/math/binary.h"
#include "engine/ops/math/complex.h"

/*
 * Differences, products, extremes and powers.  Sums are in add.c, quotients in
 * division.c.
 */
SP_BINARY_ARITHMETIC(Sub, a - b);
SP_BINARY_ARITHMETIC(Mul, (a) * (b));

/*
 * Half and bfloat16 round the difference, too.  For complex numbers the result is the square of
 * the absolute value of the difference.
 */
#define SQUARED_NARROW(type, name) \
	SP_BINARY_VALUE(type, name, SP_ROUND_##type(a - b) * SP_ROUND_##type(a - b))

SP_BINARY_VALUE(f32, SquaredDifference, (a - b) * (a - b))
SP_BINARY_VALUE(f64, SquaredDifference, (a - b) * (a - b))
SQUARED_NARROW(f16, SquaredDifference)
SQUARED_NARROW(bf16, SquaredDifference)
SP_FOR_INTEGER(SP_BINARY_WRAP, SquaredDifference, (a - b) * (a - b))
SP_FOR_COMPLEX(SP_BINARY_VALUE, SquaredDifference, (a - b) * conj(a - b))
SP_BINARY_OP(SquaredDifference, SP_INVALID_DTYPE, NULL, SP_TABLE_ARITHMETIC(SquaredDifference));

/* 0 where b is 0, even if a is not finite. */
SP_BINARY_FIELD(MulNoNan, b == 0 ? 0 : a * b);

/* A NaN in either operand is the result. */
SP_BINARY_LOOPS(Maximum, a > b || a != a ? a : b)
SP_FOR_INTEGER(SP_BINARY_VALUE, Maximum, a > b ? a : b)
SP_BINARY_OP(Maximum, SP_INVALID_DTYPE, NULL, SP_TABLE_NUMBER(Maximum));

SP_BINARY_LOOPS(Minimum, a < b || a != a ? a : b)
SP_FOR_INTEGER(SP_BINARY_VALUE, Minimum, a < b ? a : b)
SP_BINARY_OP(Minimum, SP_INVALID_DTYPE, NULL, SP_TABLE_NUMBER(Minimum));

SP_BINARY_KERNEL(f32, NextAfter, float, f32, nextafterf(a, b))
SP_BINARY_KERNEL(f64, NextAfter, double, f64, nextafter(a, b))
SP_BINARY_OP(NextAfter, SP_INVALID_DTYPE,
	     NULL, [SP_FLOAT] = NextAfter_f32, [SP_DOUBLE] = NextAfter_f64);

enum { PIECE = 8 * SP_FLOAT_PACKET };

/* a * logarithm(b), and 0 where a is 0 even if the logarithm is not finite. */
#define TIMES_LOGARITHM(name, logarithm)                                       \
	static void name##_f32(const sp_binary_run *run)                       \
	{                                                                      \
		const float *left = run->left, *right = run->right;            \
		float *out = run->out, logs[PIECE];                            \
                                                                               \
		for (size_t at = 0, n; at < run->count; at += n) {             \
			n = run->count - at < PIECE ? run->count - at : PIECE; \
			for (size_t i = 0; i < n; i++)                         \
				logs[i] = right[(at + i) * run->right_step];   \
			logarithm(logs, logs, n);                              \
			for (size_t i = 0; i < n; i++) {                       \
				float a = left[(at + i) * run->left_step];     \
                                                                               \
				out[at + i] = a == 0 ? 0 : a * logs[i];        \
			}                                                      \
		}                                                              \
	}

TIMES_LOGARITHM(Xlogy, sp_float_log)
SP_BINARY_VALUE(f64, Xlogy, a == 0 ? 0 : a * log(b))
SP_BINARY_NARROW(Xlogy)
SP_FOR_COMPLEX(SP_BINARY_VALUE, Xlogy, a == 0 ? 0 : a * log(b))
SP_BINARY_DEFINE(Xlogy, .kernels = {SP_TABLE_FIELD(Xlogy)}, .result = SP_INVALID_DTYPE,
		 .is_costly = true);

TIMES_LOGARITHM(Xlog1py, sp_float_log1p)
SP_BINARY_VALUE(f64, Xlog1py, a == 0 ? 0 : a * log1p(b))
SP_BINARY_NARROW(Xlog1py)
SP_FOR_COMPLEX(SP_BINARY_VALUE, Xlog1py, a == 0 ? 0 : a * sp_complex__log1p(b))
SP_BINARY_DEFINE(Xlog1py, .kernels = {SP_TABLE_FIELD(Xlog1py)}, .result = SP_INVALID_DTYPE,
		 .is_costly = true);

/*
 * atan2(a, b) = atan(a / b), plus pi with the sign of a where b is negative.  Where |a| = |b|, also
 * where both are infinite, the quotient is taken as 1 or -1 (0 for two zeros).
 */
static void atan2_piece(const float *a, size_t a_step, const float *b, size_t b_step, float *out,
			size_t count)
{
	static const float pi = 3.14159265358979323846F;
	float quotients[PIECE] = {0}, turns[PIECE];

	for (size_t i = 0; i < count; i++) {
		float y = a[i * a_step], x = b[i * b_step];
		float sign = copysignf(1, x) * copysignf(1, y);

		turns[i] = copysignf(signbit(x) ? pi : 0, y);
		quotients[i] = y / x;
		if (fabsf(y) == fabsf(x))
			quotients[i] = copysignf(y == 0 ? 0 : 1, sign);
	}
	sp_float_atan(quotients, quotients, count);
	for (size_t i = 0; i < count; i++)
		out[i] = quotients[i] + turns[i];
}

static void Atan2_f32(const sp_binary_run *run)
{
	const float *left = run->left, *right = run->right;
	float *out = run->out;

	for (size_t at = 0, n; at < run->count; at += n) {
		n = run->count - at < PIECE ? run->count - at : PIECE;
		atan2_piece(left + at * run->left_step, run->left_step,
			    right + at * run->right_step, run->right_step, out + at, n);
	}
}

SP_BINARY_VALUE(f64, Atan2, atan2(a, b))
SP_BINARY_VALUE(f16, Atan2, atan2(a, b))
SP_BINARY_VALUE(bf16, Atan2, atan2(a, b))
SP_BINARY_DEFINE(Atan2, .kernels = {SP_TABLE_FLOATING(Atan2)}, .result = SP_INVALID_DTYPE,
		 .is_costly = true);

/*
 * a^b modulo 2^64.  Its low bits are a^b modulo any smaller power of two, so narrower integers wrap
 * around correctly.
 */
static uint64_t integer_power(uint64_t a, uint64_t b)
{
	uint64_t power = 1;

	for (; b != 0; b >>= 1) {
		if (b & 1)
			power *= a;
		a *= a;
	}
	return power;
}

static const char *negative_exponent(const sp_tensor *right)
{
	for (size_t i = 0; i < right->count; i++) {
		bool negative = false;

		switch (right->dtype) {
		case SP_INT8:
			negative = ((const int8_t *)right->data)[i] < 0;
			break;
		case SP_INT16:
			negative = ((const int16_t *)right->data)[i] < 0;
			break;
		case SP_INT32:
		case SP_INT64:
			negative = sp_tensor_index(right, i) < 0;
			break;
		default:
			return NULL;
		}
		if (negative)
			return "integers to negative integer powers are not allowed";
	}
	return NULL;
}

static void Pow_f32(const sp_binary_run *run)
{
	sp_float_pow(run->left, run->left_step, run->right, run->right_step, run->out, run->count);
}

/*
 * Where subnormals are treated as zero (base/float_mode.h), they compare equal to 0, which the C
 * library does not expect: they are replaced by a true 0.
 */
SP_BINARY_VALUE(f64, Pow, pow(a == 0 ? a * 0 : a, b == 0 ? 0 : b))
SP_BINARY_VALUE(f16, Pow, pow(a, b))
SP_BINARY_VALUE(bf16, Pow, pow(a, b))
SP_FOR_COMPLEX(SP_BINARY_VALUE, Pow, pow(a, b))
SP_FOR_SIGNED(SP_BINARY_VALUE, Pow, integer_power((uint64_t)a, (uint64_t)b))
SP_BINARY_DEFINE(Pow, .kernels = {SP_TABLE_FIELD(Pow), SP_TABLE_SIGNED(Pow)},
		 .result = SP_INVALID_DTYPE, .complaint = negative_exponent, .is_costly = true);
