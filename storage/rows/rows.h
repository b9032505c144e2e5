#ifndef SP_STORAGE_ROWS_ROWS_H
#define SP_STORAGE_ROWS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/format/row_format.h"
#include "storage/placement/placement.h"

/*
 * Rows by key in memory: made once (storage/rows/rows_builder.h), then read-only.
 *
 * Two arrays hold everything, and an image file contains these arrays as they are:
 *
 *   slots   [slot_count] of slot_size bytes, a multiple of 8, then the outliers
 *           [outlier_count, dim] float32
 *   pilots  [part_count * part_buckets] uint8: a key's slot is a function of the seed, the
 *           key and one of these bytes (storage/placement/placement.h)
 *
 * A slot holds a key and its row, in one of two layouts, padded with zeros.  A slot of zeros is
 * empty: about three in a hundred are.  There are two pilots for five keys.
 *
 * Keys -1 and -2 are DeepRec's marks for empty and deleted, and are never held.
 *
 * Threads: immutable; retain and release are thread-safe.
 */
typedef struct sp_rows sp_rows;

typedef enum sp_rows_layout {
	SP_ROWS_KEY_IN_FRONT, /* int64 ~key, then the stored row (storage/format/row_format.h) */
	SP_ROWS_KEY_PACKED,   /* a packed row (storage/format/packed_row.h); the format is fp32 */
	SP_ROWS_LAYOUTS,      /* how many there are */
} sp_rows_layout;

/* A row as it is stored, and the codec that reads it. */
typedef struct sp_stored_row {
	const void *data;
	const sp_row_codec *codec;
} sp_stored_row;

/* Describes the two arrays. */
typedef struct sp_rows_shape {
	sp_row_format format;
	sp_rows_layout layout;
	size_t dim;           /* elements of a row, >= 1 */
	size_t row_count;     /* keys held */
	size_t outlier_count; /* 0 unless keys are packed in */
	size_t slot_size;
	sp_placement placement; /* which slot a key has */
} sp_rows_shape;

/* Limit of dim in files. */
#define SP_ROWS_MAX_DIM ((size_t)1 << 28)

/* Bytes of a slot: key and row, rounded up to a multiple of 8. */
static inline size_t sp_rows_slot_size(sp_rows_layout layout, sp_row_format format, size_t dim)
{
	size_t key = layout == SP_ROWS_KEY_IN_FRONT ? sizeof(int64_t) : 0;

	return (key + sp_row_format_size(format, dim) + 7) & ~(size_t)7;
}

/* Bytes of the first array; the shape is valid, so nothing overflows. */
static inline size_t sp_rows_slots_size(const sp_rows_shape *shape)
{
	return shape->placement.slot_count * shape->slot_size +
	       shape->outlier_count * shape->dim * sizeof(float);
}

/* Bytes of the second array, which is an index: a pilot per bucket. */
static inline size_t sp_rows_pilots_size(const sp_rows_shape *shape)
{
	return shape->placement.part_count * shape->placement.part_buckets;
}

/* The shape that `row_count` rows will have, if none of them is an outlier. */
sp_rows_shape sp_rows_expected_shape(sp_rows_layout layout, sp_row_format format, size_t dim,
				     size_t row_count);

/* Owned by `rows`. */
const sp_rows_shape *sp_rows_get_shape(const sp_rows *rows);

const void *sp_rows_slots(const sp_rows *rows);     /* sp_rows_slots_size() bytes */
const uint8_t *sp_rows_pilots(const sp_rows *rows); /* part_count * part_buckets bytes */

/*
 * For memory that may be corrupt, such as a mapped file: a lookup calls prepare() with its keys
 * before it reads rows, and confirm() before it returns; it fails if either fails.  prepare() may
 * wait until deadline_ns on sp_clock_now_ns()'s clock (0: without limit), and then returns
 * SP_DEADLINE.
 */
typedef struct sp_rows_guard {
	sp_status (*prepare)(void *owner, const sp_rows *rows, const int64_t *keys, size_t count,
			     int64_t deadline_ns, sp_error *err);
	sp_status (*confirm)(void *owner, sp_error *err);

	/* Whether all of the memory has been verified: prepare() then never fails or waits. */
	bool (*is_whole)(void *owner);
} sp_rows_guard;

/*
 * Rows over arrays that the caller provides, such as a mapped file; `slots` is 8-byte aligned.  The
 * arrays are not read here.  release(owner), if not NULL, is called with the last reference.
 * SP_CORRUPT when the shape contradicts itself or the sizes; release() is then not called.
 */
typedef struct sp_rows_memory {
	const void *slots;
	size_t slots_size;
	const void *pilots;
	size_t pilots_size;
	const sp_rows_guard *guard; /* NULL when the memory cannot be corrupt */
	void (*release)(void *owner);
	void *owner;
} sp_rows_memory;

SP_MUST_CHECK sp_status sp_rows_over(sp_rows **out, const sp_rows_shape *shape,
				     const sp_rows_memory *memory, sp_error *err);

/* The row of `key`; false when it is not held. */
bool sp_rows_find(const sp_rows *rows, int64_t key, sp_stored_row *out);

/* To iterate over all rows: the content of slot `slot` < slot_count; false when it is empty. */
bool sp_rows_at(const sp_rows *rows, size_t slot, int64_t *key, sp_stored_row *out);

/* The outlier that the slot refers to, of *size bytes; NULL when the slot has its row itself. */
const void *sp_rows_outlier_of(const sp_rows *rows, const void *slot, size_t *size);

/* Bytes by what they are for. */
typedef struct sp_rows_memory_use {
	size_t slots;  /* rows with their keys, and outliers */
	size_t index;  /* pilots */
	size_t mapped; /* both, of a file, for rows that are not in memory of the process */
} sp_rows_memory_use;

sp_rows_memory_use sp_rows_memory_of(const sp_rows *rows);

/* What rows of that shape will take in memory; SIZE_MAX each on overflow. */
sp_rows_memory_use sp_rows_expected_memory(const sp_rows_shape *shape);

/* Bytes of memory, or of the mapped file. */
size_t sp_rows_footprint(const sp_rows *rows);

/* Adds a reference and returns `rows`.  NULL is fine. */
sp_rows *sp_rows_retain(sp_rows *rows);

/* Drops a reference; the last one frees.  NULL is fine. */
void sp_rows_release(sp_rows *rows);

#endif
