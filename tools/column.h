#ifndef SP_TOOLS_COLUMN_H
#define SP_TOOLS_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"
#include "tools/progress.h"

/*
 * A tensor of a bundle read from front to back in pieces, however large it is,
 * and checked against its checksum at the end.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_column {
	sp_bundle_span span;
	size_t width; /* elements that go together: those of a row */
	size_t next;  /* rows delivered */
	size_t rows;
	uint32_t crc;
	void *buffer;
	sp_status status; /* of the reads so far; then zeros are delivered */
	sp_error error;
	sp_progress *progress; /* NULL: none */
} sp_column;

/* `width` elements of `entry` are a row; a tensor that does not divide into rows is SP_CORRUPT. */
SP_MUST_CHECK sp_status sp_column_open(sp_column *out, const sp_bundle *bundle,
				       const sp_bundle_entry *entry, size_t width,
				       sp_progress *progress, sp_error *err);

/*
 * The next `count` rows, of those that are left, until the next call.  Zeros when they cannot be
 * read, which sp_columns_close() will tell.
 */
const void *sp_column_next(sp_column *column, size_t count);

/* How many rows next() may be asked for now; 0 at the end. */
size_t sp_column_piece(const sp_column *column);

/*
 * Closes columns that were open at some time, {0} included.  Gives `status`, or
 * if that is SP_OK the first failure of a read or a checksum; of a column that was
 * not read to its end none is taken.
 */
SP_MUST_CHECK sp_status sp_columns_close(sp_column *columns, size_t count, sp_status status,
					 sp_error *err);

/* Key `i` of a piece of int64 or int32 ones. */
int64_t sp_column_key(const sp_column *column, const void *piece, size_t i);

#endif
