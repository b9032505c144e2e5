#ifndef SP_STORAGE_REMOTE_ROW_FILE_H
#define SP_STORAGE_REMOTE_ROW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Rows of other processes in a file on this machine's SSD, behind the cache in memory: of all
 * tables of one store, that is of one model version, in a fixed number of bytes.
 *
 * The file is a ring: a thread of its own writes rows one behind the other, the newest over the
 * oldest.  A row that is read while it is in the oldest eighth of the ring is written again, so
 * what is in use stays.  An index in memory says where a key's row may be, eight bytes for each row
 * that fits, so that a key that the file lacks costs no read.  It is made with the first rows, when
 * the sizes of the tables' rows are known.
 *
 *   row   4 bytes CRC-32C of its table's number and of what follows; 4 bytes size; 8 bytes key; the
 *         row; padding
 *
 * The file has no name: it ends with the process, in whatever way, and no other process, start or
 * version reads it.  A row counts only if table, key, size and checksum are right.
 *
 * When the file cannot be written, as when the disk is full, it is given up, with a line in the
 * log; its space is free again at once.  When several reads in a row are late, it is not ready for
 * a second.
 *
 * Threads: all functions but open and close may run in any number of threads at once.  None waits
 * for the disk, but for sp_row_file_read().
 */
typedef struct sp_row_file sp_row_file;

typedef struct sp_row_file_options {
	const char *folder; /* made if missing */
	uint64_t cap_bytes; /* from SP_ROW_FILE_LEAST to SP_ROW_FILE_MOST count */
	size_t readers;     /* calls that read at once; 0: 16 */
	bool no_rings;      /* use threads even where io_uring is available */
} sp_row_file_options;

#define SP_ROW_FILE_LEAST ((uint64_t)1 << 20)
#define SP_ROW_FILE_MOST  ((uint64_t)1 << 43)

/* `options` are not needed afterwards. */
SP_MUST_CHECK sp_status sp_row_file_open(sp_row_file **out, const sp_row_file_options *options,
					 sp_error *err);

/* Only when no call is running.  NULL is fine. */
void sp_row_file_close(sp_row_file *file);

/* The number of a new table.  row_count SIZE_MAX: unknown. */
uint32_t sp_row_file_add_table(sp_row_file *file, size_t row_size, size_t row_count);

/*
 * Gives the file a row, which is written soon.  False if there is no room for it now, because the
 * disk is too slow.
 */
bool sp_row_file_offer(sp_row_file *file, uint32_t table, int64_t key, const void *row,
		       size_t size);

/* Whether rows should be looked for in it: it is in use, and reads were not late lately. */
bool sp_row_file_is_ready(const sp_row_file *file);

/* A row that is looked for. */
typedef struct sp_row_file_row {
	int64_t key;
	uint32_t table, size;
	uint64_t at;  /* where it may be */
	size_t owner; /* the caller's */
} sp_row_file_row;

/* Moves those of `rows` that the file may have to the front; returns how many there are. */
size_t sp_row_file_find(const sp_row_file *file, sp_row_file_row *rows, size_t count);

/* Gets a row; NULL: it cannot be read, or is damaged.  For some rows it is not called. */
typedef void sp_row_file_take(void *context, const sp_row_file_row *row, const void *bytes);

/*
 * Reads rows that find() has found; `take` is called by the calling thread.  Returns by
 * deadline_ns, on sp_clock_now_ns()'s clock; 0: none.
 */
void sp_row_file_read(sp_row_file *file, const sp_row_file_row *rows, size_t count,
		      sp_row_file_take *take, void *context, int64_t deadline_ns);

/* False after it was given up. */
bool sp_row_file_is_on(const sp_row_file *file);

size_t sp_row_file_footprint(const sp_row_file *file); /* bytes of memory */

#endif
