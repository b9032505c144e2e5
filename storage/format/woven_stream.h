#ifndef SP_STORAGE_FORMAT_WOVEN_STREAM_H
#define SP_STORAGE_FORMAT_WOVEN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Weaves rows (storage/format/woven_row.h) into their slots and computes their checksum in one
 * pass.
 *
 *     sp_woven_stream_begin(&stream, dim, crc);
 *     ... sp_woven_stream_put() ...
 *     crc = sp_woven_stream_end(&stream);
 *
 * Source of the sum: V. Gopal and others, "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel, 2009: what has been read is
 * folded over what comes next, here over as many bytes as a row has.
 *
 * Threads: a stream belongs to one thread.  Other threads may read the slots after end(),
 * which waits for streaming stores.
 */
enum { SP_WOVEN_STREAM_MOST_DIM = 256 };

typedef struct sp_woven_stream {
	size_t dim;
	bool folds;      /* the checksum is computed while rows are woven; else before */
	uint32_t before; /* checksum of what precedes the rows; unless `folds`, of the rows, too */
	uint64_t size;   /* bytes of the rows so far; this and what follows only if it folds */
	uint64_t factors[2]; /* that shift the halves of a 16-byte remainder by one row */
	_Alignas(64) unsigned char sums[SP_WOVEN_STREAM_MOST_DIM * sizeof(float)];
	_Alignas(64) float outlier[SP_WOVEN_STREAM_MOST_DIM];
} sp_woven_stream;

/* Whether this processor can (AVX2), and rows of `dim` elements are whole cache lines, and not too
 * many. */
bool sp_woven_stream_suits(size_t dim);

/* dim suits; continues the checksum `crc` of what precedes the rows. */
void sp_woven_stream_begin(sp_woven_stream *stream, size_t dim, uint32_t crc);

/*
 * Weaves rows [count, dim] of float32, at any address, with their keys into slots, which are on
 * cache lines; where slots[i] is NULL the row is only checksummed.  Stops after the first outlier
 * that has a slot: its elements are then in stream->outlier, and its slot is unchanged.  Returns
 * the number of rows processed; *met: whether the last of them is an outlier.
 */
size_t sp_woven_stream_put(sp_woven_stream *stream, const int64_t *keys, const void *rows,
			   char *const *slots, size_t count, bool *met);

/* The checksum (sp_crc32c()) of all up to here. */
uint32_t sp_woven_stream_end(sp_woven_stream *stream);

#endif
