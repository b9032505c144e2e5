#ifndef SP_ENGINE_KERNELS_FLOAT_SPECIAL_H
#define SP_ENGINE_KERNELS_FLOAT_SPECIAL_H

#include "engine/kernels/float_functions.h"

/*
 * Special functions of float32 numbers, bit-identical to TensorFlow 2.15 on x86 processors: each
 * step is rounded to float; errors far from the approximations' domain are reproduced.
 *
 * Functions of type sp_float_fn are vectorized and use the exponentials, logarithms and roots of
 * kernels/float_functions.h; the others are scalar and use those of the C library.
 *
 * Numerics: a relative error of about 1e-6 (absolute near the roots); the incomplete functions
 * 1e-5, more for parameters in the hundreds.
 *
 * Source: Moshier's Cephes library, single precision.
 * Threads: pure.
 */

/* The quantile of the normal distribution, and the inverse of erf. */
sp_float_fn sp_float_ndtri, sp_float_erfinv;

/* psi, its n-th derivative, and the Hurwitz zeta function, the sum of (q + n)^-x. */
float sp_float_digamma(float x);
float sp_float_polygamma(float n, float x);
float sp_float_zeta(float x, float q);

/* The regularized incomplete functions P(a, x), Q(a, x) and I_x(a, b). */
float sp_float_igamma(float a, float x);
float sp_float_igammac(float a, float x);
float sp_float_betainc(float a, float b, float x);

/* c[0] x^(n - 1) + ... + c[n - 1], by Horner's rule. */
static inline float sp_float__polynomial(float x, const float *c, size_t n)
{
	float y = c[0];

	for (size_t i = 1; i < n; i++)
		y = y * x + c[i];
	return y;
}

#define SP_FLOAT_POLYNOMIAL(x, c) sp_float__polynomial(x, c, sizeof(c) / sizeof((c)[0]))

#endif
