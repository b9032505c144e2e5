#ifndef SP_ENGINE_OPS_STRIDED_WINDOW_H
#define SP_ENGINE_OPS_STRIDED_WINDOW_H

#include "engine/graph/op.h"

/*
 * A window that moves along one dimension, as XLA has it: the dimension is spread (dilation - 1
 * holes between its elements), padded by `low` and `high` (below 0: cut), and the window takes
 * `size` elements of it, window_dilation apart, at every stride-th place.
 *
 * Source: reduce_window and convolution of the StableHLO specification.
 */
typedef struct sp_strided_window {
	int64_t size, stride, dilation, window_dilation, low, high;
	int64_t spread; /* the dimension's length with its holes */
} sp_strided_window;

/*
 * Checks the window and fills `spread`; *count is how many places it has, 0 when it is longer than
 * the dimension.  SP_INVALID in words that name dimension `d`.
 */
SP_MUST_CHECK sp_status sp_strided_window__plan(sp_strided_window *w, const sp_call *call, int d,
						int64_t dim, int64_t *count);

/* Which element window element `k` is at place `i`; -1 for a hole and for padding. */
static inline int64_t sp_strided_window__at(const sp_strided_window *w, int64_t i, int64_t k)
{
	int64_t at = i * w->stride + k * w->window_dilation - w->low;

	if (at < 0 || at >= w->spread)
		return -1;
	if (w->dilation == 1)
		return at;
	return at % w->dilation == 0 ? at / w->dilation : -1;
}

/* The next index below dims, row-major, over the first `rank` dimensions; false after the last. */
static inline bool sp_strided_window__step(int64_t *index, int rank, const int64_t *dims)
{
	for (int d = rank - 1; d >= 0; d--) {
		if (++index[d] < dims[d])
			return true;
		index[d] = 0;
	}
	return false;
}

#endif
