#include <math.h>

#include "engine/kernels/float_special.h"
#include "engine/ops/ops.h"
#include "engine/ops/math/unary.h"

/*
 * Lgamma, Erfinv, Ndtri; PopulationCount.
 *
 * Numerics: float by kernels/float_special.h and the C library's lgammaf_r; half and bfloat16 round
 * that.  Double is within a few units in the last place.
 */

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
