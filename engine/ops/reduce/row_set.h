#ifndef SP_ENGINE_OPS_ROW_SET_H
#define SP_ENGINE_OPS_ROW_SET_H

#include "engine/graph/op.h"

/*
 * A hash set of the rows of a tensor, for Unique and ListDiff.
 *
 * Row i of a tensor [outer, n, inner] consists of its elements [:, i, :].  Rows are equal when all
 * their elements are: strings are compared by their bytes, -0.0f equals 0.0f, NaN equals nothing,
 * not even itself.  In half and bfloat16 -0.0 and 0.0 differ, as in TensorFlow.
 *
 * The hash is keyed (sp_hash_process_key) and rows with NaN are not stored, so crafted requests
 * cannot cause collisions: the expected time is linear.
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
	uint64_t *slots; /* half of the hash (high), row + 1 (low); 0: free */
	size_t mask;
} sp_row_set;

/* Whether the dtype is supported: real numbers, bool and string. */
bool sp_rows__comparable(sp_dtype dtype);

/* An empty set with room for all `rows` (at most INT32_MAX), which it refers to. */
SP_MUST_CHECK sp_status sp_row_set__init(sp_row_set *set, const sp_call *call, const sp_rows *rows);

/*
 * Numbers the distinct rows in the order of their first appearance: ids[i] is the number of row i,
 * firsts[number] the first row with that number.  Both have room for n.  Returns the count of
 * distinct rows.
 */
size_t sp_row_set__number(sp_row_set *set, uint32_t *ids, uint32_t *firsts);

/* Whether a row equal to row i of `other`, of the same dtype and size, is in the set. */
bool sp_row_set__has(const sp_row_set *set, const sp_rows *other, size_t i);

#endif
