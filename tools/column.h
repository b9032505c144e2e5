#ifndef SP_TOOLS_COLUMN_H
#define SP_TOOLS_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"
#include "tools/progress.h"

/*
 * Reads a tensor of a bundle from front to back in pieces of bounded size, and checks its
 * checksum at the end.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_column {
	sp_bundle_span span;
	size_t width; /* elements of a row */
	size_t next;  /* rows delivered */
	size_t rows;
	uint32_t crc;
	void *buffer;
	sp_status status; /* first failure; from then on zeros are delivered */
	sp_error error;
	sp_progress *progress; /* NULL: none */
} sp_column;

/* SP_CORRUPT if the elements of `entry` do not divide into rows of `width`. */
SP_MUST_CHECK sp_status sp_column_open(sp_column *out, const sp_bundle *bundle,
				       const sp_bundle_entry *entry, size_t width,
				       sp_progress *progress, sp_error *err);

/*
 * The next `count` rows, at most sp_column_piece(); valid until the next call.  After a failed
 * read the rows are zeros, and sp_columns_close() returns the failure.
 */
const void *sp_column_next(sp_column *column, size_t count);

/* How many rows sp_column_next() can give at once; 0 at the end. */
size_t sp_column_piece(const sp_column *column);

/*
 * Closes columns; {0} is fine.  Returns `status` or, if that is SP_OK, the first failed read
 * or checksum.  A column that was not read to its end has no checksum to compare.
 */
SP_MUST_CHECK sp_status sp_columns_close(sp_column *columns, size_t count, sp_status status,
					 sp_error *err);

/* Key `i` of a piece, which has int64 or int32 elements. */
int64_t sp_column_key(const sp_column *column, const void *piece, size_t i);

#endif
