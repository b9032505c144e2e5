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
 * Source of the checksum by folding: V. Gopal and others, "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel, 2009; here each step folds as many bytes as a
 * row has.
 *
 * Threads: a stream belongs to one thread.  Other threads may read the slots after end(), which
 * waits for streaming stores.
 */
enum { SP_WOVEN_STREAM_MOST_DIM = 256 };

typedef struct sp_woven_stream {
	size_t dim;
	bool folds;      /* the checksum is folded while rows are woven; else it is `before` */
	uint32_t before; /* checksum of what precedes the rows; unless `folds`, also of the rows */
	uint64_t size;   /* bytes of the rows so far; this and the next two only if `folds` */
	uint64_t factors[2]; /* they shift the halves of a 16-byte remainder by one row */
	_Alignas(64) unsigned char sums[SP_WOVEN_STREAM_MOST_DIM * sizeof(float)];
	_Alignas(64) float outlier[SP_WOVEN_STREAM_MOST_DIM];
} sp_woven_stream;

/* Whether the processor has AVX2 and rows of `dim` elements are whole cache lines, not too many. */
bool sp_woven_stream_suits(size_t dim);

/* sp_woven_stream_suits(dim) is true; continues the checksum `crc` of what precedes the rows. */
void sp_woven_stream_begin(sp_woven_stream *stream, size_t dim, uint32_t crc);

/*
 * Weaves rows [count, dim] of float32, at any address, with their keys into slots, which start on
 * cache lines; a row whose slots[i] is NULL is only checksummed.  Stops after the first outlier
 * that has a slot: its elements are then in stream->outlier, and its slot is unchanged.  Returns
 * the number of rows processed; *met: whether the last of them is such an outlier.
 */
size_t sp_woven_stream_put(sp_woven_stream *stream, const int64_t *keys, const void *rows,
			   char *const *slots, size_t count, bool *met);

/* The checksum (sp_crc32c()) of everything up to here. */
uint32_t sp_woven_stream_end(sp_woven_stream *stream);

#endif
