#ifndef SP_ENGINE_OPS_ROW_SET_H
#define SP_ENGINE_OPS_ROW_SET_H

#include "engine/graph/op.h"

/*
 * Rows of a tensor found again by their content: what Unique and ListDiff need.
 *
 * Row i of [outer, n, inner] is its elements [:, i, :].  Rows are equal when
 * all their elements are: strings by their bytes, -0.0f equals 0.0f, a NaN
 * equals nothing, itself included.  Of half and bfloat16 -0.0 and 0.0 are two,
 * as in TensorFlow.
 *
 * The hash is keyed (sp_hash_process_key) and rows with a NaN are never stored:
 * no request makes this slower than linear.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_rows {
	sp_dtype dtype;
	const void *data;
	size_t outer, n, inner;
} sp_rows;

typedef struct sp_row_set {
	sp_rows rows;
	uint64_t *slots; /* hash above, row + 1 below; 0 is free */
	size_t mask;
} sp_row_set;

/* Whether rows of that type can be compared: real numbers, bool and string. */
bool sp_rows__comparable(sp_dtype dtype);

/* An empty set with room for all `rows`, which stay where they are; at most INT32_MAX. */
SP_MUST_CHECK sp_status sp_row_set__init(sp_row_set *set, const sp_call *call, const sp_rows *rows);

/*
 * Numbers the rows by their first appearance: ids[i] is the number of row i,
 * firsts[number] the row that had it first.  Both have room for n; the result
 * is how many numbers there are.
 */
size_t sp_row_set__number(sp_row_set *set, uint32_t *ids, uint32_t *firsts);

/* Whether a row equal to row i of `other`, of the same dtype and size, is in the set. */
bool sp_row_set__has(const sp_row_set *set, const sp_rows *other, size_t i);

#endif
