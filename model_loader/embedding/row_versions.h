#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_VERSIONS_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model_loader/embedding/embedding_variable.h"

/*
 * When training last changed each row of an EmbeddingVariable: the global steps of NAME-versions in
 * a full checkpoint, of NAME-sparse_incr_versions in a delta.
 *
 * Both may be missing, empty, or shorter than the keys (rows of a slower tier have none), and
 * DeepRec writes -1 or 0 if it has not counted: the step of such a row is unknown.  The later row
 * of a repeated key counts.
 *
 * Memory: 4.5 bytes a row, 8.5 if a step does not fit in 32 bits, and 16 more while they are read.
 *
 * Threads: immutable once created.
 */
typedef struct sp_row_versions sp_row_versions;

/*
 * Reads the versions, using at most `threads` threads.  *out is NULL when no step is known.
 * SP_CORRUPT when the tensors contradict each other or their checksums; SP_UNSUPPORTED when some
 * rows are outside the checkpoint, on DeepRec's SSD tier.
 */
SP_MUST_CHECK sp_status sp_row_versions_create(sp_row_versions **out, const sp_embedding_rows *rows,
					       bool is_delta, size_t threads, sp_error *err);

/* NULL is fine. */
void sp_row_versions_destroy(sp_row_versions *versions);

/* The step of `key`, which must be among the rows; 0: unknown, always so for versions NULL. */
uint64_t sp_row_versions_find(const sp_row_versions *versions, int64_t key);

/* Bytes of memory; 0 for NULL. */
size_t sp_row_versions_footprint(const sp_row_versions *versions);

#endif
