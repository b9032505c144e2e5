#ifndef SP_STORAGE_FORMAT_PACKED_STREAM_H
#define SP_STORAGE_FORMAT_PACKED_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Packs rows (storage/format/packed_row.h) into their slots and computes the rows' checksum in the
 * same pass.
 *
 *     sp_packed_stream_begin(&stream, dim, crc);
 *     ... sp_packed_stream_put() ...
 *     crc = sp_packed_stream_end(&stream);
 *
 * Source: the checksum is computed by folding as in V. Gopal and others, "Fast CRC Computation for
 * Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009; here each step folds one row.
 *
 * Threads: a stream belongs to one thread.  Other threads may read the slots after end(), which
 * waits for streaming stores.
 */
enum { SP_PACKED_STREAM_MAX_DIM = 256 };

typedef struct sp_packed_stream {
	size_t dim;
	bool folds;      /* the rows' checksum is folded into `sums`; else `before` includes it */
	uint32_t before; /* checksum of the bytes before the rows; unless `folds`, of all bytes */
	uint64_t size;   /* bytes of the rows so far; this and the next two only if `folds` */
	uint64_t factors[2]; /* shift the halves of a 16-byte remainder by one row */
	_Alignas(64) unsigned char sums[SP_PACKED_STREAM_MAX_DIM * sizeof(float)];
	_Alignas(64) float outlier[SP_PACKED_STREAM_MAX_DIM];
} sp_packed_stream;

/* Whether the processor has AVX2 and a row of `dim` elements is 2 to 16 whole cache lines. */
bool sp_packed_stream_suits(size_t dim);

/* Requires sp_packed_stream_suits(dim).  `crc`: the checksum of the bytes before the rows. */
void sp_packed_stream_begin(sp_packed_stream *stream, size_t dim, uint32_t crc);

/*
 * Packs rows [count, dim] of float32, at any address, with their keys into slots, which start on
 * cache lines.  A row whose slots[i] is NULL is only checksummed.  Stops after the first outlier
 * that has a slot: *met_outlier is true, its elements are in stream->outlier, and its slot is
 * unchanged.  Returns the number of rows processed, the outlier included.
 */
size_t sp_packed_stream_put(sp_packed_stream *stream, const int64_t *keys, const void *rows,
			    char *const *slots, size_t count, bool *met_outlier);

/* The checksum (sp_crc32c()) of everything up to here. */
uint32_t sp_packed_stream_end(sp_packed_stream *stream);

#endif
