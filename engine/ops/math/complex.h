#ifndef SP_ENGINE_OPS_COMPLEX_H
#define SP_ENGINE_OPS_COMPLEX_H

#include <complex.h>
#include <stdbool.h>

#include "engine/tensor/dtype.h"

/*
 * Complex functions that the C library lacks.
 *
 * Numerics: exp(z) - 1 and log(1 + z) are accurate near z = 0.
 *
 * Threads: pure.
 */
float complex sp_complex__expm1f(float complex z);
double complex sp_complex__expm1d(double complex z);
float complex sp_complex__log1pf(float complex z);
double complex sp_complex__log1pd(double complex z);

#define sp_complex__expm1(z) \
	_Generic(z, float complex : sp_complex__expm1f, double complex : sp_complex__expm1d)(z)
#define sp_complex__log1p(z) \
	_Generic(z, float complex : sp_complex__log1pf, double complex : sp_complex__log1pd)(z)

static inline bool sp_dtype_is_complex(sp_dtype dtype)
{
	return dtype == SP_COMPLEX64 || dtype == SP_COMPLEX128;
}

/* Conjugates `count` elements of the complex type `dtype`; `to` may be `from`. */
void sp_complex__conjugate(void *to, const void *from, size_t count, sp_dtype dtype);

#endif
