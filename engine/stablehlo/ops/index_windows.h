#ifndef SP_ENGINE_STABLEHLO_OPS_INDEX_WINDOWS_H
#define SP_ENGINE_STABLEHLO_OPS_INDEX_WINDOWS_H

#include "engine/graph/op.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/stablehlo/ops/dimension_numbers.h"

/*
 * Windows of one size into an operand, positioned by index vectors: XLA's gather reads them and its
 * scatter writes them.
 *
 *     operand  [any]     a window has sizes[d] elements in dimension d
 *     indices  [any]     has vectors along dimension `vector`; if that is its rank, each
 *                        element is a vector of one.  The other dimensions number the windows
 *     parts    [any]     the windows' elements: the dimensions `window` are those of a window, in
 *                        order and without the operand's `dropped` and `batching` dimensions, which
 *                        have size 1; the other dimensions are those of `indices`
 *
 * Element k of a vector is where the window begins in dimension starts[k] of the operand.  In
 * dimension batching[k] it begins at the position in dimension indices_batching[k] of `indices`.
 *
 * Source: gather and scatter of the StableHLO specification.
 */
typedef struct sp_window_dims {
	sp_dim_list window, dropped, starts, batching, indices_batching;
	int64_t vector;
} sp_window_dims;

/* Attribute "dimension_numbers" of a gather or scatter. */
SP_MUST_CHECK sp_status sp_window_dims__read(sp_window_dims *out, const sp_prepare *prepare,
					     sp_error *err);

typedef struct sp_windows {
	sp_shape parts;

	/* Copies one window from (gather) or to (scatter) the operand; strides in bytes. */
	sp_strided_copy strided;
	bool is_row; /* contiguous on both sides, row_size bytes */
	size_t row_size;

	/* The walk over all windows, like that of engine/ops/reduce/reduce.h, and its position. */
	const sp_tensor *indices;
	int rank;
	int64_t dims[SP_MAX_RANK], index[SP_MAX_RANK];
	int64_t vector_steps[SP_MAX_RANK];  /* in elements of indices */
	int64_t part_steps[SP_MAX_RANK];    /* in bytes of parts */
	int64_t operand_steps[SP_MAX_RANK]; /* in bytes of operand */
	int64_t vector_at, part_at, operand_at;

	/* The index vector. */
	int depth;
	int64_t vector_stride;
	int64_t start_strides[SP_MAX_RANK]; /* in bytes */
	int64_t start_limits[SP_MAX_RANK];  /* the largest start */
} sp_windows;

/*
 * Checks the inputs and fills `parts`.  `indices` is int32 or int64, sizes [operand->rank].
 * SP_INVALID with a message; SP_UNSUPPORTED when `parts` has too many dimensions.
 */
SP_MUST_CHECK sp_status sp_windows__plan(sp_windows *w, const sp_call *call,
					 const sp_window_dims *dims, const sp_shape *operand,
					 const sp_tensor *indices, const int64_t *sizes);

/* Starts the walk at the first window; `parts` is countable and not empty. */
void sp_windows__start(sp_windows *w, const sp_window_dims *dims, const sp_shape *operand,
		       const int64_t *sizes, size_t size);

/* Advances to the next window; false after the last. */
bool sp_windows__next(sp_windows *w);

/* The byte offset of the window in the operand, clamped so that the window fits. */
int64_t sp_windows__clamped(const sp_windows *w);

/* The same without clamping; false when the window does not lie inside the operand. */
bool sp_windows__inside(const sp_windows *w, int64_t *at);

#endif
