#ifndef SP_MODEL_LOADER_EMBEDDING_BUCKET_OFFSETS_H
#define SP_MODEL_LOADER_EMBEDDING_BUCKET_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"

/*
 * NAME-partition_offset of an EmbeddingVariable, NAME-incr_partition_offset of a delta: int32
 * [1001].  The rows of keys with key % 1000 == b are those from element b of it up to element b +
 * 1.  Rows from the last element on are in no bucket: older writers put rows of a slower tier
 * there.
 *
 * DeepRec reads rows by these offsets.  We read all rows, and use the offsets to check the file:
 * they ascend from 0, end within the rows, and every key lies in its bucket.
 */
enum { SP_BUCKETS = 1000 };

typedef struct sp_bucket_offsets {
	int32_t first[SP_BUCKETS + 1];
} sp_bucket_offsets;

/* By the index: SP_CORRUPT, with its name, unless it is such a tensor. */
SP_MUST_CHECK sp_status sp_bucket_offsets_check(const sp_bundle *bundle,
						const sp_bundle_entry *entry, sp_error *err);

/* Reads the offsets of `rows` rows and checks them.  SP_CORRUPT likewise. */
SP_MUST_CHECK sp_status sp_bucket_offsets_read(sp_bucket_offsets *out, const sp_bundle *bundle,
					       const sp_bundle_entry *entry, size_t rows,
					       sp_error *err);

/* Whether row `row` may have this key.  The marks -1 and -2 may be in any row. */
bool sp_bucket_offsets_allow(const sp_bucket_offsets *offsets, int64_t key, size_t row);

#endif
