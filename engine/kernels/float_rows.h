#ifndef SP_ENGINE_KERNELS_FLOAT_ROWS_H
#define SP_ENGINE_KERNELS_FLOAT_ROWS_H

#include <stddef.h>

/*
 * Functions of a row of float32 numbers, for reductions and softmax.
 *
 * Numerics: each block of 4096 numbers is summed in 32 partial sums, and the sums of blocks are
 * added in order.  With u = 2^-24 and s the sum of the terms' absolute values the error is at most
 * (140 + n / 4096) * u * s.  The result is bit-identical on every processor.
 * Threads: pure.
 */
float sp_float_sum(const float *x, size_t n);
float sp_float_square_sum(const float *x, size_t n);

/* The maximum, ignoring NaN; -infinity if n is 0. */
float sp_float_max(const float *x, size_t n);

/* y = x - max x; y may be x. */
void sp_float_shift(const float *x, float *y, size_t n);

#endif
