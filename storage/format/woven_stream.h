#ifndef SP_STORAGE_FORMAT_WOVEN_STREAM_H
#define SP_STORAGE_FORMAT_WOVEN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Rows on their way to their slots, woven (storage/format/woven_row.h) and checksummed
 * in one go.
 *
 *     sp_woven_stream_begin(&stream, dim, crc);
 *     ... sp_woven_stream_put() ...
 *     crc = sp_woven_stream_end(&stream);
 *
 * Source of the sum: V. Gopal and others, "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel, 2009: what has been read is
 * folded over what comes next, here over as many bytes as a row has.
 *
 * Threads: a stream belongs to one thread.  What it writes others may read after
 * end(), which waits for it.
 */
enum { SP_WOVEN_STREAM_MOST_DIM = 256 };

typedef struct sp_woven_stream {
	size_t dim;
	bool folds;      /* rows are summed as they are woven; else before that */
	uint32_t before; /* the checksum of what precedes the rows; of them, too, unless it folds */
	uint64_t size;   /* bytes of the rows so far; this and what follows only if it folds */
	uint64_t factors[2]; /* that carry the halves of 16 bytes over a row */
	_Alignas(64) unsigned char sums[SP_WOVEN_STREAM_MOST_DIM * sizeof(float)];
	_Alignas(64) float outlier[SP_WOVEN_STREAM_MOST_DIM];
} sp_woven_stream;

/* Whether this processor can (AVX2), and rows of `dim` elements are whole cache lines, and not too
 * many. */
bool sp_woven_stream_suits(size_t dim);

/* For rows of a dim that suits; goes on from the checksum `crc` of what precedes them. */
void sp_woven_stream_begin(sp_woven_stream *stream, size_t dim, uint32_t crc);

/*
 * Puts rows [count, dim] of float32, at any address, each woven with its key into
 * its slot, which is on a cache line; slots[i] NULL: it is only summed.  Ends after the first
 * outlier among those that have a slot, leaves its elements in stream->outlier and its slot as it
 * was.  Returns how many rows it has summed, and sets *met to whether the last of them is an
 * outlier.
 */
size_t sp_woven_stream_put(sp_woven_stream *stream, const int64_t *keys, const void *rows,
			   char *const *slots, size_t count, bool *met);

/* The checksum (sp_crc32c()) of all up to here. */
uint32_t sp_woven_stream_end(sp_woven_stream *stream);

#endif
