#include <complex.h>
#include <math.h>

#include "engine/kernels/float_special.h"
#include "engine/ops.h"
#include "engine/ops/unary.h"

/*
 * Functions that are integrals, in float and double:
 *
 *   Dawsn       e^(-x^2) times the integral of e^(t^2) from 0 to x
 *   Expint      the principal value of the integral of e^t / t up to x; NaN below 0
 *   FresnelCos  the integral of cos(pi t^2 / 2) from 0 to x; FresnelSin alike
 *   Spence      minus the integral of log(t) / (t - 1) from 1 to x; NaN below 0
 *
 * Numerics: float has TensorFlow's bits, with kernels/float_special.h (Dawsn of a large negative
 * number is positive there); where TensorFlow's formulas end in double, these do not.
 */

/*
 * Sampling at odd multiples of STEP / 2 around x (Rybicki): the error is
 * e^-(pi / STEP)^2, nothing.  Near 0, where the terms cancel, the power series.
 */
static double dawson(double x)
{
	const double step = 0.2;
	double centre, sum = 0;

	if (isinf(x))
		return copysign(0, x);
	if (fabs(x) < 0.2) {
		double term = x;

		for (int k = 1; k < 12; k++) {
			sum += term;
			term *= -2 * x * x / (2 * k + 1);
		}
		return sum;
	}
	if (fabs(x) > 1e8)
		return 0.5 / x;
	centre = 2 * floor(x / (2 * step) + 0.5);
	for (int n = -33; n <= 33; n += 2) {
		double distance = x - (centre + n) * step;

		sum += exp(-distance * distance) / (centre + n);
	}
	return sum / sqrt(M_PI);
}

static double exponential_integral(double x)
{
	const double euler = 0.57721566490153286061;
	double sum = 0, term = 1;

	if (!(x >= 0) || isinf(x))
		return NAN;
	if (x == 0)
		return -INFINITY;
	if (x > 40) { /* the asymptotic series, up to its smallest term */
		for (int k = 1; k <= (int)fmin(x, 200) && term > 0x1p-60; k++) {
			sum += term;
			term *= k / x;
		}
		return exp(x) / x * sum;
	}
	for (int k = 1; k < 200; k++) {
		term *= x / k;
		sum += term / k;
	}
	return euler + log(x) + sum;
}

/* C + i S of x in (0, 1.5]: two interleaved power series. */
static double complex fresnel_series(double x)
{
	double complex sum = 0, term = x;

	for (int k = 0; k < 40; k++) {
		sum += term / (2 * k + 1);
		term *= I * (M_PI_2 * x * x) / (k + 1);
	}
	return sum;
}

/* The continued fraction of the complementary error function, by Lentz's method. */
static double complex fresnel_fraction(double x)
{
	double square = M_PI * x * x, n = -1;
	double complex b = 1 - I * square, c = 0x1p500, d = 1 / b, h = d;

	for (int k = 2; k < 200; k++) {
		double complex step;

		n += 2;
		b += 4;
		d = 1 / (-n * (n + 1) * d + b);
		c = b - n * (n + 1) / c;
		step = c * d;
		h *= step;
		if (fabs(creal(step) - 1) + fabs(cimag(step)) < 0x1p-52)
			break;
	}
	/* The angle modulo 2 pi: x^2 / 2 is good to its last digit, pi times it not. */
	h *= x * (1 - I);
	return (0.5 + 0.5 * I) * (1 - cexp(I * (M_PI_2 * fmod(x * x, 4))) * h);
}

/* Beyond 36974 nothing is left of the swinging but its middle, as in TensorFlow. */
static double complex fresnel(double x)
{
	double away = fabs(x);
	double complex value;

	if (isnan(x))
		return x * (1 + I);
	if (away > 36974)
		value = 0.5 + 0.5 * I;
	else
		value = away <= 1.5 ? fresnel_series(away) : fresnel_fraction(away);
	return x < 0 ? -value : value;
}

/* In powers of u = -log x, with Bernoulli's numbers, for x in [0.5, 2]. */
static double spence_series(double x)
{
	static const double bernoulli[] = {1.0 / 6,       -1.0 / 30,      1.0 / 42, -1.0 / 30,
					   5.0 / 66,      -691.0 / 2730,  7.0 / 6,  -3617.0 / 510,
					   43867.0 / 798, -174611.0 / 330};
	double u = -log(x), term = u, sum = u - u * u / 4;

	for (int k = 0; k < 10; k++) {
		term *= u * u / ((2 * k + 2) * (2 * k + 3));
		sum += bernoulli[k] * term;
	}
	return sum;
}

static double spence(double x)
{
	if (!(x >= 0) || isinf(x))
		return NAN;
	if (x == 0)
		return M_PI * M_PI / 6;
	if (x < 0.5)
		return M_PI * M_PI / 6 - log(x) * log1p(-x) - spence_series(1 - x);
	if (x > 2)
		return -spence(1 / x) - log(x) * log(x) / 2;
	return spence_series(x);
}

#define INTEGRAL(op, of_float, of_double)                \
	SP_UNARY_KERNEL(f32, op, float, f32, of_float)   \
	SP_UNARY_KERNEL(f64, op, double, f64, of_double) \
	SP_UNARY_OP(op, SP_INVALID_DTYPE, [SP_FLOAT] = op##_f32, [SP_DOUBLE] = op##_f64)

INTEGRAL(Dawsn, sp_float_dawsn(x), dawson(x));
INTEGRAL(Expint, sp_float_expint(x), exponential_integral(x));
INTEGRAL(FresnelCos, sp_float_fresnel_cos(x), creal(fresnel(x)));
INTEGRAL(FresnelSin, sp_float_fresnel_sin(x), cimag(fresnel(x)));
INTEGRAL(Spence, sp_float_spence(x), spence(x));
