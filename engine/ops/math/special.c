#include <math.h>

#include "engine/kernels/float_special.h"
#include "engine/ops/math/unary.h"

/*
 * Lgamma, Digamma, Erfinv, Ndtri; PopulationCount.
 *
 * Numerics: float by kernels/float_special.h, float_digamma() and the C library's lgammaf_r; half
 * and bfloat16 round that.  Double is within a few units in the last place.
 */

/* pi / tan(pi x), computed from the distance of x to the nearest integer. */
static float cotangent(float x)
{
	static const float pi = 3.14159265358979323846F;
	float whole = floorf(x), rest = x - whole;

	if (rest == 0.5F)
		return 0;
	if (rest > 0.5F)
		rest = x - (whole + 1);
	return pi / tanf(pi * rest);
}

/* The steps of TensorFlow 2.15, each rounded to float: the results are bit-identical. */
static float float_digamma(float x)
{
	static const float series[] = {-4.16666666666666666667E-3F, 3.96825396825396825397E-3F,
				       -8.33333333333333333333E-3F, 8.33333333333333333333E-2F};
	float reflected = 0, sum = 0, rest = 0, s = x, y;

	if (x <= 0) {
		if (x == floorf(x))
			return NAN;
		reflected = cotangent(x);
		s = 1 - x;
	}
	for (; s < 10; s += 1)
		sum += 1 / s;
	if (s < 1e8F) {
		float square = 1 / (s * s);

		rest = square * SP_FLOAT_POLYNOMIAL(square, series);
	}
	y = logf(s) - 0.5F / s - rest - sum;
	return x <= 0 ? y - reflected : y;
}

/*
 * By the asymptotic series in 1 / x^2 (Abramowitz and Stegun 6.3.18) for x >= 10, which is reached
 * by the recurrence psi(x) = psi(x + 1) - 1 / x, and for x < 0 by the reflection
 * psi(x) = psi(1 - x) - pi / tan(pi x).
 */
static double digamma(double x)
{
	static const double series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
					1.0 / 132, -691.0 / 32760, 1.0 / 12};
	double sum = 0, square, power = 1;

	if (x <= 0) {
		double whole = floor(x);

		if (x == whole)
			return NAN;
		return digamma(1 - x) - M_PI / tan(M_PI * (x - whole));
	}
	for (; x < 10; x += 1)
		sum -= 1 / x;
	square = 1 / (x * x);
	for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
		power *= square;
		sum -= series[i] * power;
	}
	return sum + log(x) - 0.5 / x;
}

/*
 * The quantile of the normal distribution: the rational approximation of Abramowitz and Stegun
 * 26.2.23 (error 4.5e-4), then Halley iterations, each of which triples the digits.  Computed for
 * the smaller tail, which avoids cancellation.
 */
static double normal_quantile(double p)
{
	double tail = p < 0.5 ? p : 1 - p, t, x;

	if (!(p >= 0 && p <= 1))
		return NAN;
	if (tail == 0)
		return p == 0 ? -INFINITY : INFINITY;
	if (p == 0.5)
		return 0;
	t = sqrt(-2 * log(tail));
	x = (2.515517 + t * (0.802853 + t * 0.010328)) /
		    (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
	    t;
	for (int i = 0; i < 4; i++) {
		double density = exp(-x * x / 2) / sqrt(2 * M_PI);
		double step = (erfc(-x / M_SQRT2) / 2 - tail) / density;

		x -= step / (1 + x * step / 2);
	}
	return p < 0.5 ? x : -x;
}

/* By the normal quantile of p; near 0, where p loses digits of y, by the series of erf^-1. */
static double erf_inverse(double y)
{
	double magnitude = fabs(y);

	if (magnitude < 1e-4)
		return y * (sqrt(M_PI) / 2) * (1 + M_PI / 12 * y * y);
	if (magnitude > 0.5) {
		double x = -normal_quantile((1 - magnitude) / 2) / M_SQRT2;

		return y < 0 ? -x : x;
	}
	return normal_quantile((y + 1) / 2) / M_SQRT2;
}

SP_UNARY_SINGLY(Lgamma, lgammaf_r(x, &(int){0}), lgamma_r(x, &(int){0}));
SP_UNARY_SINGLY(Digamma, float_digamma(x), digamma(x));
SP_UNARY_PACKETS(Ndtri, sp_float_ndtri, normal_quantile(x));
SP_UNARY_PACKETS(Erfinv, sp_float_erfinv, erf_inverse(x));

#define POPULATION(type, name) \
	SP_UNARY_KERNEL(type, name, sp_element_##type, u8, __builtin_popcountll(BITS_##type(x)))
#define BITS_i8(x)  ((uint8_t)(x))
#define BITS_i16(x) ((uint16_t)(x))
#define BITS_i32(x) ((uint32_t)(x))
#define BITS_i64(x) ((uint64_t)(x))
#define BITS_u8(x)  (x)
#define BITS_u16(x) (x)
#define BITS_u32(x) (x)
#define BITS_u64(x) (x)
SP_FOR_INTEGER(POPULATION, PopulationCount)
SP_UNARY_OP(PopulationCount, SP_UINT8, SP_TABLE_INTEGER(PopulationCount));
