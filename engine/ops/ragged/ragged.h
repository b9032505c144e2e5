#ifndef SP_ENGINE_OPS_RAGGED_H
#define SP_ENGINE_OPS_RAGGED_H

#include <stddef.h>
#include <stdint.h>

#include "engine/graph/op.h"

/* Rows of different lengths, by offsets: row i has the items [at[i], at[i + 1]). */
typedef struct sp_splits {
	const int64_t *at; /* [rows + 1], not decreasing */
	size_t rows;
} sp_splits;

/*
 * Reads input i as splits of `length` items.  SP_INVALID unless it is a vector that is not empty,
 * does not decrease, and lies within [0, length]; with `exact` also unless it begins with 0 and
 * ends with `length`.
 */
SP_MUST_CHECK sp_status sp_splits__read(const sp_call *call, size_t i, int64_t length, bool exact,
					sp_splits *out);

/*
 * Reads inputs 0 ... depth - 1 as the splits of a ragged tensor, outermost first; the next input
 * has its values, of which each is a row.
 */
SP_MUST_CHECK sp_status sp_splits__read_all(const sp_call *call, size_t depth, bool exact,
					    sp_splits **out);

/* Output i becomes a vector of `rows` + 1 splits of that dtype, of which the first is set to 0. */
SP_MUST_CHECK sp_status sp_splits__create(const sp_call *call, size_t i, sp_dtype dtype,
					  size_t rows);

/* splits[row + 1] = splits[row] + length; SP_INVALID when the dtype cannot hold it. */
SP_MUST_CHECK sp_status sp_splits__append(const sp_call *call, size_t i, size_t row,
					  int64_t length);

#endif
