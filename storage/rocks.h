#ifndef SP_STORAGE_ROCKS_H
#define SP_STORAGE_ROCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Rows of one size by int64 key in a RocksDB folder, written once and then only
 * read, one key at a time.  The only file of the project that sees RocksDB.
 *
 * A key is stored as eight bytes, the most significant first, so RocksDB's order
 * is that of keys as unsigned numbers.  Data blocks of 4 KiB lie on 4 KiB
 * boundaries, uncompressed, each with its checksum (XXH3), which is verified at
 * every read; a Ribbon filter of about six bits per key keeps absent keys from
 * the disk.  Everything is in one sorted run, so a key is one block, or in that and
 * one more that lies over it.
 *
 * In memory are the index (a few bytes per block), the filter and the names of
 * files; blocks are not cached here.  The files stay open, so a folder that is
 * deleted underneath goes on answering.
 *
 * Errors: SP_CORRUPT when a checksum or a size is wrong, SP_IO for what the
 * system refuses and for a folder that is not RocksDB's, SP_NO_MEMORY.
 *
 * Without memory: RocksDB throws through its C functions, and that ends the process,
 * when malloc() fails or a thread does not start.  So before it writes, merges or
 * opens, 64 MiB of address space and four threads are tried, and SP_NO_MEMORY says
 * that they are not to be had; opening starts no threads to read files with.  What is
 * left: a process that comes to its limit between that look and the call, and one
 * that has no few KiB left for the blocks of a read.  What RocksDB takes while
 * serving is bounded: index and filter, and per reading thread at most
 * SP_ROCKS_BATCH blocks; there is no block cache.
 */

/* ---- writing ---- */

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

/*
 * The same row by row: begin, put ... put, end.  `row` is row_size bytes.  What is
 * not ended is nothing.
 */
SP_MUST_CHECK sp_status sp_rocks_writer_begin_run(sp_rocks_writer *writer, sp_error *err);
SP_MUST_CHECK sp_status sp_rocks_writer_put(sp_rocks_writer *writer, int64_t key, const void *row,
					    sp_error *err);
SP_MUST_CHECK sp_status sp_rocks_writer_end_run(sp_rocks_writer *writer, sp_error *err);

/* Merges the runs to one; all is on disk then.  *rows: different keys. */
SP_MUST_CHECK sp_status sp_rocks_writer_finish(sp_rocks_writer *writer, size_t *rows,
					       sp_error *err);

/*
 * In place of create() and finish(): rows over those of the complete folder
 * `base`, in a `folder` of their own (storage/rocks_link.h).  At most one run is
 * added and stays one, with a filter of its own: reads look into it first.
 */
SP_MUST_CHECK sp_status sp_rocks_writer_create_over(sp_rocks_writer **out, const char *folder,
						    const char *base, size_t row_size,
						    sp_error *err);
SP_MUST_CHECK sp_status sp_rocks_writer_leave(sp_rocks_writer *writer, sp_error *err);

/* NULL is fine. */
void sp_rocks_writer_destroy(sp_rocks_writer *writer);

/* Below, at or above 0, as `a` comes before, with or after `b`. */
static inline int sp_rocks_compare(int64_t a, int64_t b)
{
	return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
}

/* ---- reading ---- */

typedef struct sp_rocks sp_rocks;

/* `direct` reads past the page cache where the file system can. */
SP_MUST_CHECK sp_status sp_rocks_open(sp_rocks **out, const char *folder, size_t row_size,
				      bool direct, sp_error *err);

/* NULL is fine. */
void sp_rocks_close(sp_rocks *rocks);

enum { SP_ROCKS_BATCH = 16 };

/* Rows that were read.  They belong to it until it is released; {0} is the empty one. */
typedef struct sp_rocks_batch {
	const void *rows[SP_ROCKS_BATCH]; /* NULL: absent */
	void *handles[SP_ROCKS_BATCH];
	size_t count;
} sp_rocks_batch;

/*
 * keys [count], count <= SP_ROCKS_BATCH, in the order of sp_rocks_compare()
 * without repeats.  A block of several of them is read once.
 * Threads: any number.
 */
SP_MUST_CHECK sp_status sp_rocks_read(const sp_rocks *rocks, const int64_t *keys, size_t count,
				      sp_rocks_batch *out, sp_error *err);
void sp_rocks_batch_release(sp_rocks_batch *batch);

size_t sp_rocks_row_count(const sp_rocks *rocks);      /* a key in both runs counts twice */
size_t sp_rocks_footprint(const sp_rocks *rocks);      /* bytes of memory */
size_t sp_rocks_disk_footprint(const sp_rocks *rocks); /* bytes of files */

/* What sp_rocks_footprint() will be of so many rows, about, and rather more. */
size_t sp_rocks_expected_footprint(size_t row_count, size_t row_size);

#endif
