#ifndef SP_ENGINE_KERNELS_FLOAT_SPECIAL_H
#define SP_ENGINE_KERNELS_FLOAT_SPECIAL_H

#include "engine/kernels/float_functions.h"

/*
 * Special functions of float32 numbers with the very bits of TensorFlow 2.15 on an x86 processor,
 * good and bad: each step is rounded to float, and what is far from the approximations' domain is
 * what they give.
 *
 * Those of type sp_float_fn are taken in packets, as kernels/float_functions.h has them, with
 * its exponentials, logarithms and roots; the others one by one, with the C library's.
 *
 * Numerics: some 1e-6 relatively, absolutely near the roots; the incomplete functions 1e-5, less
 * for parameters in the hundreds.
 * Source: Moshier's Cephes library, single precision.
 *
 * Threads: pure.
 */

/* The quantile of the normal distribution, and the inverse of erf. */
sp_float_fn sp_float_ndtri, sp_float_erfinv;

/* psi, its n-th derivative, and Hurwitz's zeta, the sum of (q + n)^-x. */
float sp_float_digamma(float x);
float sp_float_polygamma(float n, float x);
float sp_float_zeta(float x, float q);

/* The shares of the gamma function below and above x, of the beta function below it. */
float sp_float_igamma(float a, float x);
float sp_float_igammac(float a, float x);
float sp_float_betainc(float a, float b, float x);

/* c[0] x^(n - 1) + ... + c[n - 1], from the front. */
static inline float sp_float__polynomial(float x, const float *c, size_t n)
{
	float y = c[0];

	for (size_t i = 1; i < n; i++)
		y = y * x + c[i];
	return y;
}

#define SP_FLOAT_POLYNOMIAL(x, c) sp_float__polynomial(x, c, sizeof(c) / sizeof((c)[0]))

#endif
