#ifndef SP_STORAGE_SSD_ROCKS_H
#define SP_STORAGE_SSD_ROCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Rows of one size by int64 key in a RocksDB folder, written once.  rocks.c is the only file of the
 * project that uses RocksDB, which sorts, merges and keeps the list of files; rows are read without
 * it (storage/sst/sst_run.h).
 *
 * A key is stored as eight bytes, the most significant first, so RocksDB orders keys as unsigned
 * numbers.  Data blocks of 4 KiB are aligned to 4 KiB, uncompressed, each with its CRC-32C.  A
 * folder is one sorted run, so a key is in one block.
 *
 * Errors: SP_CORRUPT for a wrong checksum or size, SP_IO for system errors and for a folder that
 * RocksDB did not write, SP_NO_MEMORY.
 *
 * When malloc() fails or a thread does not start, RocksDB throws an exception through its C
 * functions, which ends the process.  So before RocksDB writes, merges or opens, 64 MiB of address
 * space and four threads are tried; SP_NO_MEMORY if they are not available.  A process that reaches
 * its limit between this check and the call still ends.  Requests never call RocksDB.
 */

/* ---- a folder ---- */

typedef struct sp_rocks_writer sp_rocks_writer;

/* Creates `folder`, whose parent exists.  Threads: one at a time. */
SP_MUST_CHECK sp_status sp_rocks_writer_create(sp_rocks_writer **out, const char *folder,
					       size_t row_size, sp_error *err);

/*
 * Adds a sorted run of `count` rows, each the int64 key and row_size bytes, in the order of
 * sp_rocks_compare() without repeats.  A later run's row replaces an earlier one's.
 */
SP_MUST_CHECK sp_status sp_rocks_writer_add_run(sp_rocks_writer *writer, const char *const *rows,
						size_t count, sp_error *err);

/* Merges the runs into one and makes it durable.  *rows: the number of keys. */
SP_MUST_CHECK sp_status sp_rocks_writer_finish(sp_rocks_writer *writer, size_t *rows,
					       sp_error *err);

/* NULL is fine. */
void sp_rocks_writer_destroy(sp_rocks_writer *writer);

/* Negative, 0 or positive as `a` comes before, equals or comes after `b`. */
static inline int sp_rocks_compare(int64_t a, int64_t b)
{
	return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
}

/* The sorted files of a finished folder, in the order of their keys. */
typedef struct sp_rocks_files {
	size_t count;
	char **paths; /* [count] */
} sp_rocks_files;

SP_MUST_CHECK sp_status sp_rocks_files_find(sp_rocks_files *out, const char *folder, sp_error *err);
void sp_rocks_files_fini(sp_rocks_files *files);

/* ---- one sorted file ---- */

typedef struct sp_rocks_run sp_rocks_run;

/* A single file outside RocksDB's folders.  Threads: one at a time. */
SP_MUST_CHECK sp_status sp_rocks_run_begin(sp_rocks_run **out, const char *path, size_t row_size,
					   sp_error *err);

/* Keys must ascend in the order of sp_rocks_compare().  `row` is row_size bytes. */
SP_MUST_CHECK sp_status sp_rocks_run_put(sp_rocks_run *run, int64_t key, const void *row,
					 sp_error *err);

/* Makes the file durable; at least one row must have been put. */
SP_MUST_CHECK sp_status sp_rocks_run_end(sp_rocks_run *run, sp_error *err);

/* NULL is fine.  A file that was not ended cannot be read. */
void sp_rocks_run_destroy(sp_rocks_run *run);

#endif
