#ifndef SP_TESTS_SUPPORT_CHECKPOINT_H
#define SP_TESTS_SUPPORT_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/dtype.h"

/*
 * Writes tensor bundles for tests that need versions of a model by the
 * thousand or by the gigabyte: tensors of numbers, in one file or several.
 */
typedef struct sp_checkpoint_tensor {
	const char *name;
	sp_dtype dtype;
	int shard; /* in which file it lies */
	int rank;  /* at most 2 */
	int64_t dims[2];
	const void *data; /* NULL: all its elements, which are floats, are `value` */
	float value;
} sp_checkpoint_tensor;

/*
 * PREFIX.data-00000-of-0000N for each of `shards` files, then PREFIX.index, each
 * written under another name and renamed.  The tensors are in the order of their
 * names.  Ends the program when it cannot.
 */
void sp_checkpoint_write(const char *prefix, const sp_checkpoint_tensor *tensors, size_t count,
			 int shards);

/* Makes a byte of the only data file of a bundle another. */
void sp_checkpoint_break(const char *prefix, int64_t at);

/*
 * A version of the model of tests/golden/ev-rows.  `table` has `count` keys and
 * all elements of their rows are `value`, and so are those of `dense`; with
 * `seldom` 0 that variable is left out, as from a delta that does not touch it.
 */
typedef struct sp_rows_version {
	const char *prefix;
	const int64_t *keys;
	size_t count;
	float value;
	float seldom; /* 0: none */
	int is_delta;
	int shards; /* 0, 1: one; else keys and variables are in the first, rows in the second */
} sp_rows_version;

void sp_checkpoint_write_rows(const sp_rows_version *version);

#endif
