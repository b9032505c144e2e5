#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_VERSIONS_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "model_loader/embedding/embedding_variable.h"
#include "storage/table/key_column.h"

/*
 * When training last changed each row of an EmbeddingVariable: the global steps of NAME-versions in
 * a full checkpoint, of NAME-sparse_incr_versions in a delta.  A number of 0: the step is unknown.
 *
 * Both may be missing, empty, or shorter than the keys (rows of a slower tier have none), and
 * DeepRec writes -1 or 0 if it has not counted: the step of such a row is unknown.  The later row
 * of a repeated key counts.
 *
 * Reads the versions, using at most `threads` threads.  *out is NULL when no step is known.
 * SP_CORRUPT when the tensors contradict each other or their checksums; SP_UNSUPPORTED when some
 * rows are outside the checkpoint, on DeepRec's SSD tier.
 */
SP_MUST_CHECK sp_status sp_row_versions_create(sp_key_column **out, const sp_embedding_rows *rows,
					       bool is_delta, size_t threads, sp_error *err);

#endif
