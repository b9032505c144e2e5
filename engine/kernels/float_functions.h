#ifndef SP_ENGINE_KERNELS_FLOAT_FUNCTIONS_H
#define SP_ENGINE_KERNELS_FLOAT_FUNCTIONS_H

#include <stddef.h>

/*
 * Functions of float32 numbers, one by one: y[i] = f(x[i]), by the polynomials and rational
 * functions that Eigen and with it TensorFlow 2.15 takes on an x86 processor.  Of most numbers the
 * bits are TensorFlow's.
 *
 * Numerics: measured, in units in the last place of the exact value, where that is a normal
 * number: exp, atanh and pow are within 2, sin and cos of less than 2^14, and sigmoid, within 3,
 * log, log1p, atan, rsqrt and reciprocal within 4, expm1, asin and acos within 5, tanh within 6,
 * softplus within 7, erf within 8; elu and selu (exp(x) - 1) are within 2^-23 absolutely.  The
 * estimates that rsqrt, reciprocal and atan begin with are the processor's own, and so may their
 * last bit be.
 * Infinities, zeros and NaN give what the C library gives; rsqrt and reciprocal take a denormal
 * number for 0.
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

/* log(1 + exp(x)); x < 0 ? exp(x) - 1 : x; and that scaled, as Klambauer et al. have it (2017). */
sp_float_fn sp_float_softplus, sp_float_elu, sp_float_selu;

/* z[i] = x[i * x_step] to the power of y[i * y_step], steps of 0 or 1; z may be x or y. */
void sp_float_pow(const float *x, size_t x_step, const float *y, size_t y_step, float *z,
		  size_t count);

#endif
