#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_EXPORT_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "engine/tensor/dtype.h"
#include "model_loader/embedding/row_sink.h"

/*
 * A consumer of all rows of a full checkpoint that a model's tables would hold, table by table,
 * instead of the tables, which stay empty: for copying the rows elsewhere.
 *
 * Threads: one table at a time, by one thread.
 */
typedef struct sp_exported_table {
	const char *name;   /* of the table: "user_emb", or "user_emb/part_0" if it has one part */
	const char *handle; /* of the first handle that has it: "user_emb/part_0" */
	size_t handles;     /* parts 0, 1 ... of the handle's variable that share it; 1: only it */
	size_t dim;
	sp_dtype key_dtype;
	size_t row_count; /* upper bound, by the index */
} sp_exported_table;

typedef struct sp_row_export {
	void *context;

	/*
	 * *sink takes the rows in the order of the checkpoint, which is always the same, and has
	 * no add_keys.  A sink without put_rows: the rows are not wanted, and end() is not called.
	 */
	sp_status (*begin)(void *context, const sp_exported_table *table, sp_row_sink *sink,
			   sp_error *err);

	/* All rows were delivered, and their checksums are right. */
	sp_status (*end)(void *context, sp_error *err);
} sp_row_export;

#endif
