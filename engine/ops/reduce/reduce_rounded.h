#ifndef SP_ENGINE_OPS_REDUCE_ROUNDED_H
#define SP_ENGINE_OPS_REDUCE_ROUNDED_H

#include "engine/ops/reduce/reduce.h"

/*
 * Reductions of half and bfloat16 whose accumulators are of 16 bits, too: each step
 * rounds, and TensorFlow's answer is what its order of steps makes of that.  These go
 * in that order, of a build for AVX with eight numbers in a register:
 *
 *   along the last dimension   eight lanes, four times side by side while they fill,
 *                              then what is left one after the other; long sums in halves
 *   along another one          up to 15 one after the other, else four sums side by side;
 *                              columns that fill no register one after the other
 *
 * A reduction to a single number is split among threads by TensorFlow; here it is not.
 *
 * Source: Eigen's tensor reductions as of TensorFlow 2.15, by their answers.
 */

/*
 * The sum of x[0 ... n - 1], elements `first` ... of their tensor, whose length decides
 * where a long row is halved.
 */
float sp_rounded__sum_f16(const uint16_t *x, size_t n, size_t first);
float sp_rounded__sum_bf16(const uint16_t *x, size_t n, size_t first);

/* Kernels for sp_reduction. */
sp_reduce_fn sp_rounded__total_f16;
sp_reduce_fn sp_rounded__mean_f16, sp_rounded__mean_bf16;
sp_reduce_fn sp_rounded__product_f16, sp_rounded__product_bf16;

#endif
