#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "engine/kernels/float_special.h"

enum { GAMMA_TERMS = 2000, BETA_TERMS = 100, ZETA_TERMS = 9 };

/* The relative accuracy, and the limit from which convergents are scaled down. */
static const float EPSILON = 0x1p-24F;
static const float LARGE = 0x1p24F;

static float log_gamma(float x)
{
	return lgammaf_r(x, &(int){0});
}

/* ----------------------------------------------- digamma, polygamma, zeta */

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

/* The recurrence raises x to 10, from where on the asymptotic series is accurate. */
float sp_float_digamma(float x)
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

/* (2k)! / B(2k) */
static const float corrections[] = {
	12,
	-720,
	30240,
	-1209600,
	47900160,
	-1.8924375803183791606e9F,
	7.47242496e10F,
	-2.950130727918164224e12F,
	1.1646782814350067249e14F,
	-4.5979787224074726105e15F,
	1.8152105401943546773e17F,
	-7.1661652561756670113e18F,
};

/* Euler-Maclaurin summation: ten terms, then the tail from the last one, `end`^-x, on. */
static float zeta_sum(float x, float q)
{
	float end = q, term = 0, sum = powf(q, -x), factor = 1;

	for (int i = 0; i < ZETA_TERMS; i++) {
		end += 1;
		term = powf(end, -x);
		sum += term;
		if (fabsf(term / sum) < EPSILON)
			return sum;
	}
	if (term == 0)
		return sum;
	sum += term * end / (x - 1);
	sum -= 0.5F * term;
	for (int i = 0; i < 12; i++) {
		float step;

		factor *= x + (float)(2 * i);
		term /= end;
		step = factor * term / corrections[i];
		sum = sum + step;
		if (fabsf(step / sum) < EPSILON)
			break;
		factor *= x + (float)(2 * i + 1);
		term /= end;
	}
	return sum;
}

float sp_float_zeta(float x, float q)
{
	if (x == 1)
		return INFINITY;
	if (x < 1)
		return NAN;
	if (q <= 0 && q == floorf(q))
		return isinf(x) || fmodf(x, 2) == 0 ? INFINITY : NAN;
	if (q <= 0 && x != floorf(x))
		return NAN;
	return zeta_sum(x, q);
}

float sp_float_polygamma(float n, float x)
{
	if (floorf(n) != n || n < 0)
		return NAN;
	if (n == 0)
		return sp_float_digamma(x);
	return powf(-1, n + 1) * expf(log_gamma(n + 1)) * sp_float_zeta(n + 1, x);
}

/* ---------------------------------------------------- incomplete gamma */

/* x^a e^-x / gamma(a) */
static float gamma_front(float a, float x)
{
	float logarithm = a * logf(x) - x - log_gamma(a);

	if (logarithm < -logf(FLT_MAX) || isnan(logarithm))
		return 0;
	return expf(logarithm);
}

/* P(a, x) by the sum of x^n / ((a + 1) ... (a + n)). */
static float gamma_series(float a, float x)
{
	float front = gamma_front(a, x), term = 1, sum = 1, r = a;

	if (front == 0)
		return 0;
	front /= a;
	for (int i = 0; i < GAMMA_TERMS; i++) {
		r += 1;
		term *= x / r;
		sum += term;
		if (term <= EPSILON * sum)
			break;
	}
	return sum * front;
}

/* The last two convergents p / q of a continued fraction. */
typedef struct convergents {
	float p, q, p_before, q_before;
} convergents;

static void scale(convergents *f, float factor)
{
	f->p *= factor;
	f->q *= factor;
	f->p_before *= factor;
	f->q_before *= factor;
}

/* Q(a, x) by its continued fraction. */
static float gamma_fraction(float a, float x)
{
	float front, y = 1 - a, z = x + y + 1, count = 0, value;
	convergents f = {x + 1, z * x, 1, x};

	if (isinf(x))
		return 0;
	front = gamma_front(a, x);
	if (front == 0)
		return 0;
	value = f.p / f.q;
	for (int i = 0; i < GAMMA_TERMS; i++) {
		float p, q, before = value;

		count += 1;
		y += 1;
		z += 2;
		p = f.p * z - f.p_before * (y * count);
		q = f.q * z - f.q_before * (y * count);
		if (q != 0) {
			value = p / q;
			if (fabsf(before - value) <= EPSILON * fabsf(value))
				break;
		}
		f = (convergents){p, q, f.p, f.q};
		if (fabsf(p) > LARGE)
			scale(&f, EPSILON);
	}
	return value * front;
}

float sp_float_igamma(float a, float x)
{
	if (x == 0)
		return 0;
	if (!(x > 0) || !(a > 0))
		return NAN;
	return x > 1 && x > a ? 1 - gamma_fraction(a, x) : gamma_series(a, x);
}

float sp_float_igammac(float a, float x)
{
	if (!(x >= 0) || !(a > 0))
		return NAN;
	return x < 1 || x < a ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

/* ----------------------------------------------------- incomplete beta */

/* The next convergent, from its partial numerator; the partial denominator is 1. */
static void advance(convergents *f, float numerator)
{
	*f = (convergents){f->p + f->p_before * numerator, f->q + f->q_before * numerator, f->p,
			   f->q};
}

/*
 * One of the two continued fractions of Cephes: incbcf() in x if `falling` (its odd partial
 * numerators have a + b + i, the even ones b - i), else incbd() in x / (1 - x) (vice versa).
 */
static float beta_fraction(float a, float b, float x, bool falling)
{
	float odd = falling ? a + b : b - 1, even = falling ? b - 1 : a + b;
	float step = falling ? 1 : -1, count = 1, start = a, low = a, next = a + 1, high = a + 2;
	float middle = a + 1, value = 1;
	convergents f = {1, 1, 0, 1};

	if (!falling)
		x = x / (1 - x);
	for (int i = 0; i < BETA_TERMS; i++) {
		advance(&f, -(x * start * odd) / (low * next));
		advance(&f, x * count * even / (middle * high));
		if (f.q != 0) {
			float ratio = f.p / f.q;

			if (fabsf(value - ratio) < fabsf(ratio) * EPSILON)
				return ratio;
			value = ratio;
		}
		start += 1;
		odd += step;
		low += 2;
		next += 2;
		count += 1;
		even -= step;
		middle += 2;
		high += 2;
		if (fabsf(f.q) + fabsf(f.p) > LARGE)
			scale(&f, EPSILON);
		if (fabsf(f.q) < EPSILON || fabsf(f.p) < EPSILON)
			scale(&f, LARGE);
	}
	return value;
}

/* The power series, for a small b x / a. */
static float beta_series(float a, float b, float x)
{
	float front = a * logf(x) + (b - 1) * log1pf(-x) - logf(a), odds = x / (1 - x);
	float sum = 0, term = 1;

	front -= log_gamma(a) + log_gamma(b);
	front += log_gamma(a + b);
	do {
		b -= 1;
		if (b == 0)
			break;
		a += 1;
		term *= odds * b / a;
		sum += term;
	} while (fabsf(term) > EPSILON);
	return expf(front) * (1 + sum);
}

/* I_x(a, b) for x up to the mean a / (a + b); `rest` is 1 - x. */
static float beta_low(float a, float b, float x, float rest)
{
	float ratio, logarithm;

	if (b > 10 && fabsf(b * x / a) < 0.3F)
		return beta_series(a, b, x);
	if (x * (a + b - 2) / (a - 1) < 1) {
		ratio = beta_fraction(a, b, x, true);
		logarithm = b * logf(rest);
	} else {
		ratio = beta_fraction(a, b, x, false);
		logarithm = (b - 1) * logf(rest);
	}
	logarithm += a * logf(x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
	logarithm += logf(ratio / a);
	return expf(logarithm);
}

/* I_x(a, b), beyond the mean as 1 - I_(1-x)(b, a). */
static float beta_below(float a, float b, float x)
{
	float rest = 1 - x;

	return x > a / (a + b) ? 1 - beta_low(b, a, rest, x) : beta_low(a, b, x, rest);
}

float sp_float_betainc(float a, float b, float x)
{
	float more;

	if (a <= 0 || b <= 0)
		return NAN;
	if (x <= 0 || x >= 1)
		return x == 0 || x == 1 ? x : NAN;
	if (!(a <= 1))
		return beta_below(a, b, x);
	more = a * logf(x) + b * log1pf(-x) + log_gamma(a + b) - log_gamma(a + 1) - log_gamma(b);
	return beta_below(a + 1, b, x) + expf(more);
}
