#ifndef SP_ENGINE_OPS_CROSS_H
#define SP_ENGINE_OPS_CROSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/graph/op.h"

/*
 * Crosses features: for each row of a batch, all combinations of one feature per column, as joined
 * strings or as hashed fingerprints.
 *
 * A column's features are converted to strings or fingerprints once; the combinations are then
 * enumerated, the last column fastest.
 */
typedef struct sp_cross_column {
	const sp_tensor *values; /* strings or int64 */
	const int64_t *starts;   /* [batch + 1]; NULL: the column is dense */
	size_t width;            /* features per row of a dense column */

	/* Set by sp_cross__begin(). */
	const uint64_t *fingerprints;
	const sp_bytes *texts;
} sp_cross_column;

typedef struct sp_cross {
	sp_cross_column *columns; /* [count] */
	size_t count;
	int64_t batch;

	bool joined;        /* results are strings, joined by the separator; else numbers */
	bool keyed;         /* hashing starts from the key; else from the first column */
	bool combined;      /* with `keyed`: the hash of tf.contrib's first crossing operator */
	bool short_numbers; /* only the low four bytes of integers in sparse columns are hashed */
	bool strong;        /* strings are hashed with the salt */
	sp_bytes separator;
	uint64_t key;
	uint64_t salt[2];
	int64_t buckets; /* the modulus; <= 0: none, but results are nonnegative */

	size_t *digits; /* set by sp_cross__begin() */
} sp_cross;

/* Allocates `count` columns in the request's memory, not filled in. */
SP_MUST_CHECK sp_status sp_cross__columns(const sp_call *call, sp_cross *x, size_t count);

/* Converts the features; the fields above must be set. */
SP_MUST_CHECK sp_status sp_cross__begin(const sp_call *call, sp_cross *x);

/* The number of combinations of a row; SP_INVALID when it overflows. */
SP_MUST_CHECK sp_status sp_cross__count(const sp_call *call, const sp_cross *x, int64_t row,
					size_t *out);

/* Writes the `n` combinations of a row at values[first] ...: sp_bytes or int64. */
SP_MUST_CHECK sp_status sp_cross__write(const sp_call *call, const sp_cross *x, int64_t row,
					size_t n, void *values, size_t first);

#endif
