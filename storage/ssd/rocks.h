#ifndef SP_STORAGE_SSD_ROCKS_H
#define SP_STORAGE_SSD_ROCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Rows of one size by int64 key in a RocksDB folder, written once and then only
 * read.  The only file of the project that sees RocksDB: it sorts, merges, keeps the
 * list of files, and is not there when rows are read (storage/sst/ssd_run.h).
 *
 * A key is stored as eight bytes, the most significant first, so RocksDB's order
 * is that of keys as unsigned numbers.  Data blocks of 4 KiB lie on 4 KiB
 * boundaries, uncompressed, each with its CRC-32C.  Everything in a folder is one
 * sorted run, so a key is in one block.
 *
 * Errors: SP_CORRUPT when a checksum or a size is wrong, SP_IO for what the
 * system refuses and for a folder that is not RocksDB's, SP_NO_MEMORY.
 *
 * Without memory: RocksDB throws through its C functions, and that ends the process,
 * when malloc() fails or a thread does not start.  So before it writes, merges or
 * opens, 64 MiB of address space and four threads are tried, and SP_NO_MEMORY says
 * that they are not to be had.  What is left is a process that comes to its limit
 * between that look and the call.  No request comes here.
 */

/* ---- a folder ---- */

typedef struct sp_rocks_writer sp_rocks_writer;

/* `folder` is made; its parent is there.  Threads: one at a time. */
SP_MUST_CHECK sp_status sp_rocks_writer_create(sp_rocks_writer **out, const char *folder,
					       size_t row_size, sp_error *err);

/*
 * A sorted run of `count` rows, each its key as int64 and row_size bytes, in the
 * order of sp_rocks_compare() without repeats.  A later run's row of a key
 * replaces an earlier one's.
 */
SP_MUST_CHECK sp_status sp_rocks_writer_add_run(sp_rocks_writer *writer, const char *const *rows,
						size_t count, sp_error *err);

/* Merges the runs to one; all is on disk then.  *rows: different keys. */
SP_MUST_CHECK sp_status sp_rocks_writer_finish(sp_rocks_writer *writer, size_t *rows,
					       sp_error *err);

/* NULL is fine. */
void sp_rocks_writer_destroy(sp_rocks_writer *writer);

/* Below, at or above 0, as `a` comes before, with or after `b`. */
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

/* A file of its own, in no folder of RocksDB's.  Threads: one at a time. */
SP_MUST_CHECK sp_status sp_rocks_run_begin(sp_rocks_run **out, const char *path, size_t row_size,
					   sp_error *err);

/* Keys ascend in the order of sp_rocks_compare().  `row` is row_size bytes. */
SP_MUST_CHECK sp_status sp_rocks_run_put(sp_rocks_run *run, int64_t key, const void *row,
					 sp_error *err);

/* At least one row was put; all is on disk then. */
SP_MUST_CHECK sp_status sp_rocks_run_end(sp_rocks_run *run, sp_error *err);

/* NULL is fine.  What was not ended is no file to read. */
void sp_rocks_run_destroy(sp_rocks_run *run);

#endif
