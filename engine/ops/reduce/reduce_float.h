#ifndef SP_ENGINE_OPS_REDUCE_FLOAT_H
#define SP_ENGINE_OPS_REDUCE_FLOAT_H

#include "engine/ops/reduce/reduce.h"

/*
 * Sums and products of float32 numbers in the order in which TensorFlow 2.15 takes them on an
 * x86 processor, with eight numbers in a register, and so with its very bits:
 *
 *   along the last dimension   eight lanes, four times side by side while they fill, then
 *                              what is left one after the other; sums of more than 8192 in
 *                              halves
 *   along another one          up to 15 one after the other, else four sums side by side;
 *                              columns that fill no register one after the other
 *   along the first and third  one after the other, the first dimension inside
 *   along any others           as along the last, once they are transposed to the end
 *
 * A reduction to a single number is split among threads by TensorFlow; here it is not.
 *
 * Numerics: with u = 2^-24 and s the sum of the terms' sizes, a sum along the last dimension is
 * within (256 + log2(n) + 12) * u * s of the exact one, one of n terms along another within
 * n * u * s; a product within n * u of itself.
 * Source: Eigen's tensor reductions.
 */

/* The sum of x[0 ... n - 1], elements `first` ... of their tensor. */
float sp_float__sum(const float *x, size_t n, size_t first);

/* out[j] = the sum (the product) of x[i][j] over n rows of `width` elements. */
void sp_float__sum_rows(const float *x, size_t n, size_t width, float *out);
void sp_float__product_rows(const float *x, size_t n, size_t width, float *out);

/* Kernels for sp_reduction: the norm is the root of the sum of squares. */
sp_reduce_fn sp_float__total, sp_float__mean, sp_float__product, sp_float__norm;

/* Half the sum of squares, along the last dimension. */
sp_reduce_fn sp_float__half_square;

#endif
