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
 * The frequencies and versions of an EmbeddingVariable's keys, for models that read them
 * (EVGetFrequency, EVGetVersion).
 *
 *                                      frequencies            versions
 *   a key with a row                   NAME-freqs             NAME-versions
 *   a key that the filter has refused  NAME-freqs_filtered    NAME-versions_filtered
 *   a key of a delta                   NAME-sparse_incr_freqs NAME-sparse_incr_versions
 *   a key on DeepRec's SSD tier        its record             its record
 *
 * As in DeepRec, a key with a row counts as seen at least as often as its filter requires.  If its
 * tensor is missing or shorter, its frequency is that number, and at least 1, and its version is
 * -1; but a key of a delta keeps the values of the full checkpoint.  A refused key then has
 * neither; nor has it a version under a CBF filter, which keeps no refused keys.  Frequencies below
 * 0 count as 0, versions below -1 as -1.
 *
 * For a CBF filter DeepRec answers an estimate of the frequency, which may be too large; ours is
 * exact.
 *
 * serve_frequency_threshold leaves out rows, but not the numbers of their keys; slices leave out
 * both.
 *
 * Errors: SP_CORRUPT when tensors contradict each other or their checksums; SP_UNSUPPORTED for
 * versions that the records of an SSD tier do not have (model_loader/embedding/ssd_record.h).
 */

/*
 * The column of the rows that sp_embedding_load() would read.
 *
 * table  NULL, or the table with the delta's rows over those of the full checkpoint, and the full
 *        checkpoint's column: the column of the delta over that one is read.  If the policy
 *        compares rows of the delta with those below, keys whose rows are left out keep their
 *        numbers
 */
SP_MUST_CHECK sp_status sp_embedding_load_column(sp_key_column **out, sp_table_column which,
						 const sp_embedding *embedding,
						 const sp_embedding_spec *spec,
						 const sp_load_policy *policy,
						 const sp_table *table, sp_error *err);

/*
 * The column of rows that the graph gives: keys int32 or int64 [n], versions int64, which may be
 * shorter.  All frequencies are 1.
 */
SP_MUST_CHECK sp_status sp_embedding_make_column(sp_key_column **out, sp_table_column which,
						 const sp_tensor *keys, const sp_tensor *versions,
						 sp_error *err);

/* Upper bound of the bytes of the full checkpoint's column, from its index. */
SP_MUST_CHECK sp_status sp_embedding_expect_column(size_t *bytes, const sp_embedding *embedding,
						   const sp_embedding_spec *spec, sp_error *err);

#endif
