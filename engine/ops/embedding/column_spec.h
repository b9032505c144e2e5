#ifndef SP_ENGINE_OPS_COLUMN_SPEC_H
#define SP_ENGINE_OPS_COLUMN_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "storage/table/table.h"

/*
 * The columns of an EmbeddingColumns node (embedding_columns.c), which engine/passes/fuse_columns.h
 * makes.  A column takes keys by row and gives the combined embeddings of each row's keys.
 */
typedef enum sp_column_source {
	/* indices [n, rank] int64, keys [n] int32 or int64, dense shape [rank] int64 */
	SP_COLUMN_SPARSE,
	/* keys [.., width] int32 or int64; elements equal to ignored_key are skipped */
	SP_COLUMN_DENSE,
	/*
	 * strings [.., width], whose hashes are the keys; those equal to ignored_text are skipped
	 */
	SP_COLUMN_TEXTS,
	/* bucket numbers [rows, number_count] int32; key = bucket + column * bucket_count */
	SP_COLUMN_BUCKETS,
} sp_column_source;

typedef struct sp_column_spec {
	const char *name; /* for error messages */
	sp_column_source source;

	/* Of SP_COLUMN_TEXTS: key = Fingerprint64(text) % hash_buckets. */
	uint64_t hash_buckets;
	sp_bytes ignored_text;
	int64_t ignored_key;
	/* Of SP_COLUMN_BUCKETS. */
	int64_t number_count;
	int64_t bucket_count;
	bool widen; /* a dense source [..] is read as [.., 1] */

	/*
	 * The number of leading dimensions of the keys that are rows; exactly one more follows. 0:
	 * the first dimension is rows, and any number follows.
	 */
	size_t row_dims;
	/* With one row dimension: the others are flattened to one, and zero rows are an error. */
	bool flattens;

	bool is_table;      /* input 0 is a handle of an EmbeddingVariable, not weights */
	bool drops_ids;     /* negative keys are skipped */
	bool weighted;      /* the last input [n] float32 has a weight for every key */
	bool drops_weights; /* keys with weights <= 0 are skipped */
	bool fills; /* a row without keys gets default_key with default_weight; else it is zeros */
	int64_t default_key;
	float default_weight;
	sp_combiner combiner;
	bool zero_divisor_is_zero;

	bool keeps_shape; /* output [row_dims.., dim]; else [rows, dim] */
	int64_t width;    /* not 0: the output is then reshaped to [its dim 0, width] */
} sp_column_spec;

typedef struct sp_embedding_columns {
	const sp_column_spec *specs; /* in the order of the inputs; output i is that of column i */
	size_t count;
} sp_embedding_columns;

#define SP_COLUMN_MAX_INPUTS 5

/*
 * The number of inputs of a column: the handle, or the weights [n, dim]; then the keys: three
 * inputs of a sparse source or one of a dense one; then the weights of keys.
 */
static inline size_t sp_column_input_count(const sp_column_spec *spec)
{
	return 1 + (spec->source == SP_COLUMN_SPARSE ? 3u : 1u) + spec->weighted;
}

#endif
