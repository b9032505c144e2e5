#ifndef SP_MODEL_LOADER_EMBEDDING_ROW_SINK_H
#define SP_MODEL_LOADER_EMBEDDING_ROW_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A consumer of the rows of one EmbeddingVariable while its checkpoint is read:
 * memory, another tier, a file.  The reader calls, in this order,
 *
 *   add_keys ... add_keys, start_rows, put_rows ... put_rows
 *
 * and delivers the same keys in both passes.  Rows must not be used before the
 * reader has returned SP_OK: the checksums of large tensors are known only at their end.
 *
 * Threads: add_keys() is called by several threads at once, and put_rows() and
 * put_checked() are unless start_rows() has asked for order.
 */
typedef struct sp_row_piece {
	const int64_t *keys;  /* [count]; -1 and -2 mark rows that are to be left out */
	const void *rows;     /* [count, dim] float32; NULL in the first pass */
	const int64_t *freqs; /* [count] how often each was seen, >= 1; NULL unless wanted */
	size_t count;
} sp_row_piece;

typedef struct sp_row_sink {
	void *context;

	bool wants_freqs; /* they are read for the admission of keys alone otherwise */

	/* NULL when one pass is enough. */
	sp_status (*add_keys)(void *context, const sp_row_piece *piece, sp_error *err);

	/*
	 * All keys are known.  *in_order (false before) is set by a sink that must
	 * have the pieces one after the other as they lie in the checkpoint: of a
	 * key that is there twice the later row counts.  May be NULL.
	 */
	sp_status (*start_rows)(void *context, bool *in_order, sp_error *err);

	sp_status (*put_rows)(void *context, const sp_row_piece *piece, sp_error *err);

	/*
	 * put_rows(), and *crc is continued over the rows.  NULL: the reader sums them and
	 * calls put_rows().
	 */
	sp_status (*put_checked)(void *context, const sp_row_piece *piece, uint32_t *crc,
				 sp_error *err);
} sp_row_sink;

#endif
