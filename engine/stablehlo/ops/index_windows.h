#ifndef SP_ENGINE_STABLEHLO_OPS_INDEX_WINDOWS_H
#define SP_ENGINE_STABLEHLO_OPS_INDEX_WINDOWS_H

#include "engine/graph/op.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/stablehlo/ops/dimension_numbers.h"

/*
 * Windows of an operand, each of the same sizes, that vectors of indices place: what XLA's gather
 * reads and its scatter writes.
 *
 *     operand  [any]     a window takes sizes[d] elements of dimension d
 *     indices  [any]     along dimension `vector` it holds vectors; if that is its rank, each
 *                        element is a vector of one.  The other dimensions count windows
 *     parts    [any]     the windows' elements: at dimensions `window` those of a window, in order
 *                        and without the `dropped` and `batching` dimensions of the operand, which
 *                        are of size 1 there; the others are those of `indices`
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

	/* One window: from (gather) or to (scatter) the operand; strides in bytes. */
	sp_strided_copy box;
	bool is_row; /* contiguous on both sides, row_size bytes */
	size_t row_size;

	/* The walk over all windows, as engine/ops/reduce/reduce.h's, and where it stands. */
	const sp_tensor *indices;
	int rank;
	int64_t dims[SP_MAX_RANK], index[SP_MAX_RANK];
	int64_t vector_steps[SP_MAX_RANK];  /* in elements of indices */
	int64_t part_steps[SP_MAX_RANK];    /* in bytes of parts */
	int64_t operand_steps[SP_MAX_RANK]; /* in bytes of operand */
	int64_t vector_at, part_at, operand_at;

	/* The vector. */
	int depth;
	int64_t vector_stride;
	int64_t start_strides[SP_MAX_RANK]; /* in bytes */
	int64_t start_limits[SP_MAX_RANK];  /* the largest start */
} sp_windows;

/*
 * Checks all and fills `parts`.  `indices` is int32 or int64, sizes [operand->rank].
 * SP_INVALID in words; SP_UNSUPPORTED when parts have too many dimensions.
 */
SP_MUST_CHECK sp_status sp_windows__plan(sp_windows *w, const sp_call *call,
					 const sp_window_dims *dims, const sp_shape *operand,
					 const sp_tensor *indices, const int64_t *sizes);

/* The walk from its first window on; parts could be counted, and is not empty. */
void sp_windows__start(sp_windows *w, const sp_window_dims *dims, const sp_shape *operand,
		       const int64_t *sizes, size_t size);

/* One step; false after the last window. */
bool sp_windows__next(sp_windows *w);

/* The byte offset of the window in the operand, clamped so that all of it is inside. */
int64_t sp_windows__moved(const sp_windows *w);

/* The same without moving it; false when it is not inside the operand. */
bool sp_windows__inside(const sp_windows *w, int64_t *at);

#endif
