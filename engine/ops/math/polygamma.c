#include <math.h>

#include "engine/kernels/float_special.h"
#include "engine/ops/ops.h"
#include "engine/ops/math/binary.h"
#include "engine/ops/math/unary.h"

/*
 * Digamma; Polygamma(n, x), its n-th derivative; Zeta(x, q), the Hurwitz zeta function: the sum of
 * (q + n)^-x over n >= 0.  Polygamma and Zeta take float and double.
 *
 * At the poles q = 0, -1, ... Zeta is infinite when x is even, else NaN.  It is NaN also for x < 1,
 * and for q < 0 unless x is an integer.
 *
 * Numerics: float by kernels/float_special.h; half and bfloat16 round that.  Double is within a few
 * units in the last place.  For q < -10 TensorFlow ends its double sum early and may be far off;
 * here the sum is complete.
 */

/*
 * psi(x) by the asymptotic series in 1 / x^2 (Abramowitz and Stegun 6.3.18) for x >= 6, which is
 * reached by the recurrence psi(x) = psi(x + 1) - 1 / x, and for x < 0 by the reflection
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

/* Euler-Maclaurin summation, for q > 0: ten terms, then the tail and its corrections. */
static double zeta_above(double x, double q)
{
	/* (2k)! / B(2k) */
	static const double corrections[] = {
		12.0,
		-720.0,
		30240.0,
		-1209600.0,
		47900160.0,
		-1.8924375803183791606e9,
		7.47242496e10,
		-2.950130727918164224e12,
		1.1646782814350067249e14,
		-4.5979787224074726105e15,
		1.8152105401943546773e17,
		-7.1661652561756670113e18,
	};
	double sum = 0, end = q, factor = x, power;

	for (int n = 0; n < 10 || end < 10; n++, end += 1)
		sum += pow(end, -x);
	power = pow(end, -x);
	sum += power * end / (x - 1) + power / 2;
	for (int k = 0; k < 12; k++) {
		power /= end;
		sum += factor * power / corrections[k];
		power /= end;
		factor *= (x + 2 * k + 1) * (x + 2 * k + 2);
		if (factor * power == 0 || isinf(factor))
			break;
	}
	return sum;
}

static double zeta(double x, double q)
{
	double whole, sign;

	if (isnan(x) || isnan(q) || x < 1)
		return NAN;
	if (x == 1)
		return INFINITY;
	if (isinf(x))
		return q == 1 ? 1 : pow(q, -x);
	if (isinf(q) && q > 0)
		return 0;
	if (q > 0)
		return zeta_above(x, q);
	if (q == floor(q))
		return fmod(x, 2) == 0 ? INFINITY : NAN;
	if (x != floor(x))
		return NAN;
	/* The terms with q + n < 0, with their signs flipped, are a difference of two such sums. */
	whole = ceil(-q);
	sign = fmod(x, 2) == 0 ? 1 : -1;
	return sign * (zeta_above(x, 1 - (q + whole)) - zeta_above(x, 1 - q)) +
	       zeta_above(x, q + whole);
}

static double polygamma(double n, double x)
{
	if (!(n >= 0) || n != floor(n) || isinf(n))
		return NAN;
	if (n == 0)
		return digamma(x);
	return (fmod(n, 2) == 0 ? -1 : 1) * tgamma(n + 1) * zeta(n + 1, x);
}

#define OF_TWO(op, of_float, of_double)                   \
	SP_BINARY_KERNEL(f32, op, float, f32, of_float)   \
	SP_BINARY_KERNEL(f64, op, double, f64, of_double) \
	SP_BINARY_OP(op, SP_INVALID_DTYPE, NULL, [SP_FLOAT] = op##_f32, [SP_DOUBLE] = op##_f64)

OF_TWO(Zeta, sp_float_zeta(a, b), zeta(a, b));
OF_TWO(Polygamma, sp_float_polygamma(a, b), polygamma(a, b));

SP_UNARY_SINGLY(Digamma, sp_float_digamma(x), digamma(x));
