#ifndef SP_ENGINE_STABLEHLO_OPS_STRIDED_WINDOW_H
#define SP_ENGINE_STABLEHLO_OPS_STRIDED_WINDOW_H

#include "engine/graph/op.h"

/*
 * A window that moves along one dimension, as in XLA: the dimension is dilated (dilation - 1 holes
 * between its elements) and padded by `low` and `high` (negative: cropped). The window takes `size`
 * of its elements, window_dilation apart, at every stride-th position.
 *
 * Source: reduce_window and convolution of the StableHLO specification.
 */
typedef struct sp_strided_window {
	int64_t size, stride, dilation, window_dilation, low, high;
	int64_t spread; /* the length of the dilated dimension */
} sp_strided_window;

/*
 * Checks the window and fills `spread`; *count is the number of positions, 0 when the window is
 * longer than the dimension. SP_INVALID names dimension `d`.
 */
SP_MUST_CHECK sp_status sp_strided_window__plan(sp_strided_window *w, const sp_call *call, int d,
						int64_t dim, int64_t *count);

/* The index of the element at window element `k` in position `i`; -1 for a hole or padding. */
static inline int64_t sp_strided_window__at(const sp_strided_window *w, int64_t i, int64_t k)
{
	int64_t at = i * w->stride + k * w->window_dilation - w->low;

	if (at < 0 || at >= w->spread)
		return -1;
	if (w->dilation == 1)
		return at;
	return at % w->dilation == 0 ? at / w->dilation : -1;
}

/* Advances the index in the first `rank` dimensions, row-major; false after the last. */
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
