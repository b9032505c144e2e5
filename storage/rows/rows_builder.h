#ifndef SP_STORAGE_ROWS_ROWS_BUILDER_H
#define SP_STORAGE_ROWS_ROWS_BUILDER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/rows/rows.h"

/*
 * Builds rows (storage/rows/rows.h) in two passes over the same data, so that each row is copied
 * once, from where it is read to its slot:
 *
 *   add_keys ... add_keys, index, put_rows ... put_rows, freeze
 *
 * Both passes must bring the same keys, each equally often.  The layout is chosen by the first rows
 * (storage/format/packed_row.h), or given by `like`.
 *
 * Threads: add_keys() may run in many threads at once, and so may put_rows() and put_checked();
 * everything else is called by one thread at a time.
 */
typedef struct sp_rows_builder sp_rows_builder;

typedef struct sp_rows_options {
	const char *name; /* for errors; copied */
	size_t dim;       /* elements of a row, >= 1 */
	sp_row_format format;
	size_t expected_rows; /* upper bound of the number of keys, not much too high; 0: unknown */
	const sp_rows *like; /* rows of this format and dim whose layout to use; NULL: any layout */
	size_t threads;      /* that index() may use, the caller's included; 0 is 1 */
	const atomic_bool *stop; /* once true, index() returns SP_BUSY soon; NULL: never */
} sp_rows_options;

SP_MUST_CHECK sp_status sp_rows_builder_create(sp_rows_builder **out,
					       const sp_rows_options *options, sp_error *err);

/* keys [count].  A repeated key is one key.  Keys -1 and -2 are dropped. */
SP_MUST_CHECK sp_status sp_rows_builder_add_keys(sp_rows_builder *builder, const int64_t *keys,
						 size_t count, sp_error *err);

/*
 * Finds a slot for every key.  Needs 16 bytes a key, which are freed before the memory of the rows
 * is allocated.
 */
SP_MUST_CHECK sp_status sp_rows_builder_index(sp_rows_builder *builder, sp_error *err);

/*
 * keys [count]; rows [count, dim] float32, at any address.  Encodes each row into its slot; rows of
 * keys -1 and -2 are dropped.  The last row of a repeated key stays: callers in several threads
 * must order these calls.  Fails only with SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_rows_builder_put_rows(sp_rows_builder *builder, const int64_t *keys,
						 const void *rows, size_t count, sp_error *err);

/*
 * As put_rows(), and continues the checksum *crc (sp_crc32c()) over the rows, in the same pass
 * where the processor supports it.
 */
SP_MUST_CHECK sp_status sp_rows_builder_put_checked(sp_rows_builder *builder, const int64_t *keys,
						    const void *rows, size_t count, uint32_t *crc,
						    sp_error *err);

/*
 * As put_rows(), for rows stored in the builder's format, which is not fp32, with its dim: rows[i]
 * is the row of keys[i]; its bytes are copied.
 */
SP_MUST_CHECK sp_status sp_rows_builder_put_stored(sp_rows_builder *builder, const int64_t *keys,
						   const sp_stored_row *rows, size_t count,
						   sp_error *err);

/* After index(): the number of repeated keys. */
size_t sp_rows_builder_repeated(const sp_rows_builder *builder);

/*
 * SP_CORRUPT when the keys put differ from those added.  After success the builder can only be
 * destroyed.
 */
SP_MUST_CHECK sp_status sp_rows_builder_freeze(sp_rows_builder *builder, sp_rows **out,
					       sp_error *err);

/* NULL is fine. */
void sp_rows_builder_destroy(sp_rows_builder *builder);

/* All steps at once: keys [count], rows [count, dim]; the last row of a repeated key stays. */
SP_MUST_CHECK sp_status sp_rows_create(sp_rows **out, const sp_rows_options *options,
				       const int64_t *keys, const float *rows, size_t count,
				       sp_error *err);

#endif
