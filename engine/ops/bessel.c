#include <math.h>

#include "engine/kernels/float_special.h"
#include "engine/ops.h"
#include "engine/ops/unary.h"

/*
 * The modified Bessel functions I and K of order 0 and 1; with an `e` in the
 * name exp(-|x|) I(x) and exp(x) K(x), which stay in range where the plain ones
 * do not.
 *
 * Numerics: float has TensorFlow's bits, with kernels/float_special.h; half and bfloat16 round
 * that.  Double but for its last digits (some 1e-15).
 *
 * Source: Abramowitz and Stegun, chapter 9.
 */

enum { ORDER_TERMS = 200 };

/* The power series 9.6.10, all of whose terms are positive. */
static double series_of_i(int order, double x)
{
	double square = x * x / 4, term = order == 0 ? 1 : x / 2, sum = term;

	for (int k = 1; k < ORDER_TERMS && term > sum * 1e-18; k++) {
		term *= square / ((double)k * (k + order));
		sum += term;
	}
	return sum;
}

/* 9.7.1 and 9.7.2 without exponential and root: `sign` -1 for I, 1 for K. */
static double asymptotic(int order, double x, double sign)
{
	double term = 1, sum = 1;

	for (int k = 1; k < 60 && fabs(term) > 1e-18; k++) {
		double odd = 2.0 * k - 1;

		term *= sign * (4.0 * order - odd * odd) / (8 * x * k);
		sum += term;
	}
	return sum;
}

static double scaled_i(int order, double x)
{
	double size = fabs(x), value;

	if (isnan(x))
		return x;
	if (size < 30)
		value = series_of_i(order, size) * exp(-size);
	else
		value = asymptotic(order, size, -1) / sqrt(2 * M_PI * size);
	return order == 1 && x < 0 ? -value : value;
}

static double plain_i(int order, double x)
{
	double size = fabs(x), value;

	if (size < 30 || isnan(x))
		value = series_of_i(order, size);
	else /* in two steps: exp alone overflows first */
		value = exp(size / 2) * scaled_i(order, size) * exp(size / 2);
	if (isinf(x))
		value = INFINITY;
	return order == 1 && x < 0 ? -value : value;
}

/* 9.6.11 with the digamma of integers: H(k) - gamma.  For x up to 1. */
static double series_of_k(int order, double x)
{
	static const double gamma = 0.57721566490153286061;
	double square = x * x / 4, logarithm = log(x / 2), sum = 0;
	double term = 1, harmonic = 0; /* of k */

	for (int k = 0; k < 20; k++) {
		if (k > 0) {
			term *= square / ((double)k * (k + order));
			harmonic += 1.0 / k;
		}
		sum += term *
		       (order == 0 ? harmonic - gamma : 2 * (harmonic - gamma) + 1.0 / (k + 1));
	}
	if (order == 0)
		return sum - logarithm * series_of_i(0, x);
	return 1 / x + logarithm * series_of_i(1, x) - x / 4 * sum;
}

/*
 * The integral 9.6.24 of exp(-x (cosh t - 1)) cosh(order t), which decays so
 * fast that the trapezoidal rule converges exponentially.
 */
static double integral_of_k(int order, double x)
{
	const double step = 0.1;
	double sum = 0.5;

	for (int i = 1; i < ORDER_TERMS; i++) {
		double rise = cosh(i * step), term = exp(-x * (rise - 1));

		sum += order == 0 ? term : term * rise;
		if (term < 1e-25)
			break;
	}
	return sum * step;
}

static double scaled_k(int order, double x)
{
	if (x == 0)
		return INFINITY;
	if (!(x > 0))
		return NAN;
	if (x <= 1)
		return series_of_k(order, x) * exp(x);
	if (x < 25)
		return integral_of_k(order, x);
	return asymptotic(order, x, 1) * sqrt(M_PI / (2 * x));
}

static double plain_k(int order, double x)
{
	return x > 0 && x <= 1 ? series_of_k(order, x) : scaled_k(order, x) * exp(-x);
}

SP_UNARY_PACKETS(BesselI0, sp_float_i0, plain_i(0, x));
SP_UNARY_PACKETS(BesselI0e, sp_float_i0e, scaled_i(0, x));
SP_UNARY_PACKETS(BesselI1, sp_float_i1, plain_i(1, x));
SP_UNARY_PACKETS(BesselI1e, sp_float_i1e, scaled_i(1, x));
SP_UNARY_PACKETS(BesselK0, sp_float_k0, plain_k(0, x));
SP_UNARY_PACKETS(BesselK0e, sp_float_k0e, scaled_k(0, x));
SP_UNARY_PACKETS(BesselK1, sp_float_k1, plain_k(1, x));
SP_UNARY_PACKETS(BesselK1e, sp_float_k1e, scaled_k(1, x));
