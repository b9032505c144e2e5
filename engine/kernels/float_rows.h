#ifndef SP_ENGINE_KERNELS_FLOAT_ROWS_H
#define SP_ENGINE_KERNELS_FLOAT_ROWS_H

#include <stddef.h>

/*
 * What reductions and softmax need of a row of float32 numbers.
 *
 * Numerics: sums have 32 running sums for every 4096 numbers, and the sums of these are added in
 * order: with u = 2^-24 and s the sum of the terms' sizes within (140 + n / 4096) * u * s.  The
 * bits are the same on every processor.
 * Threads: pure.
 */
float sp_float_sum(const float *x, size_t n);
float sp_float_square_sum(const float *x, size_t n);

/* -infinity of nothing; numbers that are NaN count for nothing. */
float sp_float_max(const float *x, size_t n);

/* y = x - max x; y may be x. */
void sp_float_shift(const float *x, float *y, size_t n);

#endif
