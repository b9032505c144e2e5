#ifndef SP_STORAGE_ROWS_ROWS_BUILDER_H
#define SP_STORAGE_ROWS_ROWS_BUILDER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/rows/rows.h"

/*
 * Makes rows (storage/rows/rows.h) in two passes, so that each goes straight from
 * where it is read to the one place where it stays:
 *
 *   add_keys ... add_keys, index, put_rows ... put_rows, freeze
 *
 * Both passes bring the same keys, each as often.  How keys and rows are laid
 * out is decided by the first rows that come (storage/format/woven_row.h), or said.
 *
 * Threads: add_keys() may run in many threads at once, and so may put_rows() and
 * put_checked(); everything else is called by one thread at a time.
 */
typedef struct sp_rows_builder sp_rows_builder;

typedef struct sp_rows_options {
	const char *name; /* for errors; copied */
	size_t dim;       /* elements of a row, >= 1 */
	sp_row_format format;
	size_t expected_rows; /* how many keys will be added, or a few more; 0 when unknown */
	const sp_rows *like; /* rows of this format and dim, laid out as these are to be; or NULL */
	size_t threads;      /* that index() may use, the caller's included; 0 is 1 */
	const atomic_bool *stop; /* index() gives up soon after it has become true; NULL: never */
} sp_rows_options;

SP_MUST_CHECK sp_status sp_rows_builder_create(sp_rows_builder **out,
					       const sp_rows_options *options, sp_error *err);

/*
 * keys [count].  A repeated key is one key.  Keys -1 and -2 are dropped and
 * counted (sp_rows_builder_dropped).
 */
SP_MUST_CHECK sp_status sp_rows_builder_add_keys(sp_rows_builder *builder, const int64_t *keys,
						 size_t count, sp_error *err);

/*
 * Gives every key its place.  This takes 16 bytes a key, which are given back
 * before the memory of the rows is touched.
 */
SP_MUST_CHECK sp_status sp_rows_builder_index(sp_rows_builder *builder, sp_error *err);

/*
 * keys [count]; rows [count, dim] float32, at any address.  A row is encoded to
 * its place; those of keys -1 and -2 are dropped.  A key that is put again gets
 * the later row: who puts it in several threads sees to their order.  Only fails
 * with SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_rows_builder_put_rows(sp_rows_builder *builder, const int64_t *keys,
						 const void *rows, size_t count, sp_error *err);

/*
 * The same, and the checksum *crc (sp_crc32c()) is continued over the rows, where
 * the processor can in passing.
 */
SP_MUST_CHECK sp_status sp_rows_builder_put_checked(sp_rows_builder *builder, const int64_t *keys,
						    const void *rows, size_t count, uint32_t *crc,
						    sp_error *err);

/*
 * The same for rows that are stored already, of another format than fp32, which
 * is the builder's, and of its dim: rows[i] is that of keys[i], and its bytes are
 * taken as they are.
 */
SP_MUST_CHECK sp_status sp_rows_builder_put_stored(sp_rows_builder *builder, const int64_t *keys,
						   const sp_stored_row *rows, size_t count,
						   sp_error *err);

/* How many of the keys added were -1 or -2. */
size_t sp_rows_builder_dropped(const sp_rows_builder *builder);

/* After index(): how many different keys there are, and how many were repeats of others. */
size_t sp_rows_builder_count(const sp_rows_builder *builder);
size_t sp_rows_builder_repeated(const sp_rows_builder *builder);

/*
 * SP_CORRUPT when the keys that were put are not those that were added.  The
 * builder is empty after success, and only to be destroyed.
 */
SP_MUST_CHECK sp_status sp_rows_builder_freeze(sp_rows_builder *builder, sp_rows **out,
					       sp_error *err);

/* NULL is fine. */
void sp_rows_builder_destroy(sp_rows_builder *builder);

/* All of it at once, for rows in hand: keys [count], rows [count, dim]; the last of a key stays. */
SP_MUST_CHECK sp_status sp_rows_create(sp_rows **out, const sp_rows_options *options,
				       const int64_t *keys, const float *rows, size_t count,
				       sp_error *err);

#endif
