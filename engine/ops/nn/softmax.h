#ifndef SP_ENGINE_OPS_SOFTMAX_H
#define SP_ENGINE_OPS_SOFTMAX_H

#include <stddef.h>

/*
 * What Softmax, LogSoftmax and the cross entropies of float32 share, with TensorFlow's bits.
 *
 * Threads: pure.
 */

/* y = x - max x, each row of `width` by itself; y may be x. */
void sp_softmax__shift(const float *x, float *y, size_t rows, size_t width);

/*
 * x = exp(x), in blocks of about `task` elements, each of which begins with whole packets: as
 * many rows as hold a task, or a part of one row.
 */
void sp_softmax__exp(float *x, size_t rows, size_t width, size_t task);

#endif
