#ifndef SP_ENGINE_KERNELS_FLOAT_FUNCTIONS_H
#define SP_ENGINE_KERNELS_FLOAT_FUNCTIONS_H

#include <stddef.h>

/*
 * Elementwise functions of float32 arrays, y[i] = f(x[i]), by the polynomial and rational
 * approximations of Eigen that TensorFlow 2.15 uses on x86 processors.  For most numbers the
 * results are bit-identical to TensorFlow's.
 *
 * Numerics: measured errors, in units in the last place, where the exact value is a normal number:
 *
 *   2  exp, atanh, pow
 *   3  sigmoid; sin and cos of |x| < 2^14
 *   4  log, log1p, atan, rsqrt, reciprocal
 *   5  expm1, asin, acos
 *   6  tanh      7  softplus      8  erf
 *
 * elu and selu (exp(x) - 1) have an absolute error of at most 2^-23.  rsqrt, reciprocal and atan
 * start from an estimate of the processor, so their last bit may differ between processors.
 * For infinities, zeros and NaN the results are those of the C library; rsqrt and reciprocal treat
 * subnormal numbers as 0.
 *
 * y may be x.  Threads: pure.
 */
enum { SP_FLOAT_PACKET = 8 };

typedef void sp_float_fn(const float *x, float *y, size_t count);

sp_float_fn sp_float_exp, sp_float_expm1, sp_float_log, sp_float_log1p;
sp_float_fn sp_float_sin, sp_float_cos, sp_float_asin, sp_float_acos, sp_float_atan, sp_float_atanh;
sp_float_fn sp_float_tanh, sp_float_erf, sp_float_rsqrt, sp_float_reciprocal;

/* exp(x) / (1 + exp(x)) */
sp_float_fn sp_float_sigmoid;

/* log(1 + exp(x)); x < 0 ? exp(x) - 1 : x; and the scaled version of Klambauer et al. (2017). */
sp_float_fn sp_float_softplus, sp_float_elu, sp_float_selu;

/* z[i] = x[i * x_step] to the power of y[i * y_step], steps of 0 or 1; z may be x or y. */
void sp_float_pow(const float *x, size_t x_step, const float *y, size_t y_step, float *z,
		  size_t count);

#endif
