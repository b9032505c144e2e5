#ifndef SP_MODEL_LOADER_EMBEDDING_EMBEDDING_COLUMN_H
#define SP_MODEL_LOADER_EMBEDDING_EMBEDDING_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "engine/tensor/tensor.h"
#include "model_loader/embedding/embedding_variable.h"
#include "storage/table/key_column.h"
#include "storage/table/table.h"

/*
 * The frequencies and versions of an EmbeddingVariable's keys, for tables of which a
 * model reads them (EVGetFrequency, EVGetVersion).
 *
 *                                      frequencies            versions
 *   a key with a row                   NAME-freqs             NAME-versions
 *   a key that the filter has refused  NAME-freqs_filtered    NAME-versions_filtered
 *   a key of a delta                   NAME-sparse_incr_freqs NAME-sparse_incr_versions
 *   a key on DeepRec's SSD tier        its record             its record
 *
 * As DeepRec restores them: a key with a row has been seen as often as its
 * filter asks for at least.  Where its tensor is missing or shorter, it has been
 * seen that often, and at least once, and its version is -1; but a key of a
 * delta keeps what the full checkpoint says of it.  Of a refused key nothing is
 * known then; nor is its version under a CBF filter, which keeps no refused keys.
 * Numbers below 0 and -1 count as those.
 *
 * DeepRec answers a CBF filter's estimate of a frequency, which may be too large;
 * ours is exact.
 *
 * serve_frequency_threshold leaves rows out, but not their keys' numbers; slices
 * leave out both.
 *
 * Errors: SP_CORRUPT when tensors contradict each other or their checksums;
 * SP_UNSUPPORTED for versions that the records of an SSD tier do not tell
 * (model_loader/embedding/ssd_record.h).
 */

/* Those of the rows that sp_embedding_load() would read. */
SP_MUST_CHECK sp_status sp_embedding_load_column(sp_key_column **out, sp_table_column which,
						 const sp_embedding *embedding,
						 const sp_embedding_spec *spec, bool only_own_part,
						 const sp_load_policy *policy, sp_error *err);

/*
 * Those of a delta over the full checkpoint's.  `table` has its rows over the full
 * checkpoint's, and the full checkpoint's column.  Where rows of a delta are
 * compared with those below them, keys whose rows are left out keep the numbers
 * from below.
 */
SP_MUST_CHECK sp_status sp_embedding_load_delta_column(sp_key_column **out, sp_table_column which,
						       const sp_embedding *embedding,
						       const sp_embedding_spec *spec,
						       bool only_own_part,
						       const sp_load_policy *policy,
						       const sp_table *table, sp_error *err);

/*
 * Those of rows that the graph gives: keys int32 or int64 [n], versions int64 of the
 * first of them.  All have been seen once.
 */
SP_MUST_CHECK sp_status sp_embedding_make_column(sp_key_column **out, sp_table_column which,
						 const sp_tensor *keys, const sp_tensor *versions,
						 sp_error *err);

/* Bytes that a column of the full checkpoint takes at most, as its index tells. */
SP_MUST_CHECK sp_status sp_embedding_expect_column(size_t *bytes, const sp_embedding *embedding,
						   const sp_embedding_spec *spec, sp_error *err);

#endif
