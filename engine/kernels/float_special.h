#ifndef SP_ENGINE_KERNELS_FLOAT_SPECIAL_H
#define SP_ENGINE_KERNELS_FLOAT_SPECIAL_H

#include "engine/kernels/float_functions.h"

/*
 * Special functions of float32 numbers, bit-identical to TensorFlow 2.15 on x86 processors: each
 * step is rounded to float; errors far from the approximations' domain are reproduced.
 *
 * Numerics: a relative error of about 1e-6, absolute near the roots.
 *
 * Source: Moshier's Cephes library, single precision.
 * Threads: pure.
 */

/* The quantile of the normal distribution, and the inverse of erf. */
sp_float_fn sp_float_ndtri, sp_float_erfinv;

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
