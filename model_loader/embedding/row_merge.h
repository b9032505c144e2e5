#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_MERGE_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_MERGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "model_loader/embedding/load_policy.h"
#include "model_loader/embedding/row_sink.h"
#include "model_loader/embedding/row_versions.h"
#include "storage/table/table.h"

/*
 * A sink before another one, for policies that check or merge rows: rows with elements that are not
 * finite are refused, and the rows of a delta are merged with those of the full checkpoint.
 *
 * They are merged with the table without any delta: deltas are cumulative, so each one has a
 * changed row again, and blending must not be repeated on its own result.
 *
 * Under SP_OLD_KEY_REPLACE_IF_NEWER a known key's row is left out of the delta, so that the full
 * checkpoint answers, if both steps are known (model_loader/embedding/row_versions.h) and the
 * delta's is not greater.
 *
 * Threads: as its sink.
 */
typedef struct sp_row_merge {
	sp_row_sink next; /* receives the rows */
	const sp_load_policy *policy;
	const sp_table *full; /* NULL: the rows are those of the full checkpoint */
	size_t dim;

	/* Of the full checkpoint and of the delta; NULL: unknown. */
	const sp_key_column *full_versions;
	sp_key_column *delta_versions; /* owned by the merge */

	pthread_mutex_t lock;  /* protects the sums */
	_Atomic size_t fresh;  /* keys that `full` lacks */
	double change, before; /* sums of squares over keys that it has */
} sp_row_merge;

/* Whether the policy needs a merge. */
bool sp_row_merge_is_needed(const sp_load_policy *policy, const sp_table *full);

void sp_row_merge_init(sp_row_merge *merge, const sp_row_sink *next, size_t dim,
		       const sp_load_policy *policy, const sp_table *full);

/*
 * For a policy with SP_OLD_KEY_REPLACE_IF_NEWER, before the first key: reads the versions of
 * `delta`.  `full` (NULL: unknown) must outlive the merge.
 */
SP_MUST_CHECK sp_status sp_row_merge_use_versions(sp_row_merge *merge, const sp_key_column *full,
						  const sp_embedding_rows *delta, sp_error *err);
void sp_row_merge_fini(sp_row_merge *merge);

/* The sink that merges; refers to `merge`. */
sp_row_sink sp_row_merge_sink(sp_row_merge *merge);

/* After the last row: SP_CORRUPT when too many keys are new or rows have changed too much. */
SP_MUST_CHECK sp_status sp_row_merge_check(sp_row_merge *merge, sp_error *err);

#endif
