#include "engine/ops/tridiagonal.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

/*
 * Smith's quotient, whose rounding errors differ from the compiler's own.
 * R. L. Smith, "Algorithm 116: Complex division", CACM 5 (1962).
 */
#define SMITH(Name, real)                                                    \
	static real complex Name(real complex z, real complex w)             \
	{                                                                    \
		real parts[2], a = (real)creal(z), b = (real)cimag(z);       \
		real c = (real)creal(w), d = (real)cimag(w), ratio, divisor; \
		real complex out;                                            \
                                                                             \
		if (fabs(c) < fabs(d)) {                                     \
			ratio = c / d;                                       \
			divisor = c * ratio + d;                             \
			parts[0] = (a * ratio + b) / divisor;                \
			parts[1] = (b * ratio - a) / divisor;                \
		} else {                                                     \
			ratio = d / c;                                       \
			divisor = d * ratio + c;                             \
			parts[0] = (b * ratio + a) / divisor;                \
			parts[1] = (b - a * ratio) / divisor;                \
		}                                                            \
		memcpy(&out, parts, sizeof(out));                            \
		return out;                                                  \
	}

SMITH(divide_float, float)
SMITH(divide_double, double)

#define QUOTIENT(a, b) ((a) / (b))

#define number         float
#define real           float
#define EPSILON        FLT_EPSILON
#define SAFE           FLT_MIN
#define MAGNITUDE(x)   fabsf(x)
#define PART(x)        (x)
#define COPYSIGN(x, y) copysignf(x, y)
#define DIVIDE         QUOTIENT
#define NAME(x)        x##_float
#include "engine/ops/tridiagonal.inc"

#define number         double
#define real           double
#define EPSILON        DBL_EPSILON
#define SAFE           DBL_MIN
#define MAGNITUDE(x)   fabs(x)
#define PART(x)        (x)
#define COPYSIGN(x, y) copysign(x, y)
#define DIVIDE         QUOTIENT
#define NAME(x)        x##_double
#include "engine/ops/tridiagonal.inc"

#define number         float complex
#define real           float
#define EPSILON        FLT_EPSILON
#define SAFE           FLT_MIN
#define MAGNITUDE(x)   cabsf(x)
#define PART(x)        crealf(x)
#define COPYSIGN(x, y) copysignf(x, y)
#define DIVIDE         divide_float
#define NAME(x)        x##_complex64
#include "engine/ops/tridiagonal.inc"

#define number         double complex
#define real           double
#define EPSILON        DBL_EPSILON
#define SAFE           DBL_MIN
#define MAGNITUDE(x)   cabs(x)
#define PART(x)        creal(x)
#define COPYSIGN(x, y) copysign(x, y)
#define DIVIDE         divide_double
#define NAME(x)        x##_complex128
#include "engine/ops/tridiagonal.inc"

sp_tridiagonal_fn *sp_tridiagonal__perturbed(sp_dtype dtype)
{
	switch (dtype) {
	case SP_FLOAT:
		return perturbed_float;
	case SP_DOUBLE:
		return perturbed_double;
	case SP_COMPLEX64:
		return perturbed_complex64;
	default:
		return perturbed_complex128;
	}
}
