#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_SINK_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A consumer of the rows of one EmbeddingVariable while its checkpoint is read: memory, a slower
 * tier, a file.  The reader calls, in this order,
 *
 *   add_keys ... add_keys, start_rows, put_rows ... put_rows
 *
 * and delivers the same keys in both passes.  Rows must not be used before the reader has returned
 * SP_OK: the checksums of large tensors are known only at their end.
 *
 * Threads: several threads call add_keys() at once, and also put_rows() and put_checked(), unless
 * start_rows() has set *in_order.
 */
typedef struct sp_row_piece {
	const int64_t *keys;  /* [count]; -1 and -2: leave out this row */
	const void *rows;     /* [count, dim] float32; NULL in the first pass */
	const int64_t *freqs; /* [count] uses of each key, >= 1; NULL unless wanted */
	size_t count;
} sp_row_piece;

typedef struct sp_row_sink {
	void *context;

	bool wants_freqs; /* pieces need freqs; else they are read only if admission needs them */

	/* NULL: one pass is enough. */
	sp_status (*add_keys)(void *context, const sp_row_piece *piece, sp_error *err);

	/*
	 * Called when all keys are known.  A sink sets *in_order (initially false) if it needs the
	 * pieces one after the other, as they lie in the checkpoint: the later row of a repeated
	 * key counts.  May be NULL.
	 */
	sp_status (*start_rows)(void *context, bool *in_order, sp_error *err);

	sp_status (*put_rows)(void *context, const sp_row_piece *piece, sp_error *err);

	/*
	 * As put_rows(), and continues *crc over the rows.  NULL: the reader computes the checksum
	 * and calls put_rows().
	 */
	sp_status (*put_checked)(void *context, const sp_row_piece *piece, uint32_t *crc,
				 sp_error *err);
} sp_row_sink;

#endif
