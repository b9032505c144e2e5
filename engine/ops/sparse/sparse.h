#ifndef SP_ENGINE_OPS_SPARSE_H
#define SP_ENGINE_OPS_SPARSE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/graph/op.h"

/*
 * A sparse tensor as three inputs of an operator:
 *
 *   indices  [count, rank]  int64, a row per value; not necessarily ordered,
 *                           unique, or within the shape: users check what they need
 *   values   [count]        of any type
 *   dims     [rank]         int64, >= 0
 */
typedef struct sp_sparse {
	const int64_t *indices;
	const sp_tensor *values;
	const int64_t *dims;
	size_t count;
	size_t rank; /* at most SP_SPARSE_MAX_RANK */
} sp_sparse;

/* TensorFlow's limit on the rank of any shape. */
enum { SP_SPARSE_MAX_RANK = 254 };

/* Reads the three inputs; SP_INVALID unless their shapes fit and no dimension is negative. */
SP_MUST_CHECK sp_status sp_sparse__read(const sp_call *call, size_t indices, size_t values,
					size_t shape, sp_sparse *out);

/* "[0,9]" into `text`: row i of the indices, cut where it is too long. */
const char *sp_sparse__index_text(const int64_t *index, size_t rank, char text[SP_SHAPE_TEXT_SIZE]);

/* Negative, zero or positive as `a` comes before, equals or comes after `b` in row-major order. */
static inline int sp_sparse__compare(const int64_t *a, const int64_t *b, size_t rank)
{
	for (size_t i = 0; i < rank; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* Whether the `count` rows of indices are strictly ascending in row-major order. */
bool sp_sparse__is_ordered(const int64_t *indices, size_t count, size_t rank);

/*
 * The stable order that sorts `count` rows of indices: (*out)[i] is the row that comes i-th.  NULL
 * when they are sorted already.
 */
SP_MUST_CHECK sp_status sp_sparse__order(const sp_call *call, const int64_t *indices, size_t count,
					 size_t rank, const size_t **out);

#endif
