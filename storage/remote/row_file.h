#ifndef SP_STORAGE_REMOTE_ROW_FILE_H
#define SP_STORAGE_REMOTE_ROW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A file on this machine's SSD that caches rows of other processes, behind the cache in memory: for
 * all tables of one store, that is of one model version, with a fixed size.
 *
 * The file is a ring: a thread writes rows one after the other, the newest over the oldest.  A row
 * that is read while it is in the oldest eighth of the ring is written again, so rows in use stay.
 * An index in memory, of eight bytes per row that fits, says where a key's row may be, so that a
 * key that the file does not have costs no read.  The index is created with the first rows, when
 * the sizes of the tables' rows are known.
 *
 *   row   4 bytes CRC-32C of the table's number and of the rest of the row; 4 bytes size; 8 bytes
 *         key; the row; padding
 *
 * The file has no name, so it ends with the process, however that ends, and no other process, start
 * or version reads it.  A row is used only if table, key, size and checksum match.
 *
 * If the file cannot be written, for example because the disk is full, it is disabled with a
 * warning, and its space is freed at once.  If several reads in a row are late, it is not used for
 * a second.
 *
 * Threads: all functions but open and close may run in any number of threads at once.  Only
 * sp_row_file_read() waits for the disk.
 */
typedef struct sp_row_file sp_row_file;

typedef struct sp_row_file_options {
	const char *folder; /* made if missing */
	uint64_t cap_bytes; /* clamped to SP_ROW_FILE_MIN .. SP_ROW_FILE_MAX */
	size_t readers;     /* concurrent reads; 0: 16 */
	bool no_rings;      /* use threads even where io_uring is available */
} sp_row_file_options;

#define SP_ROW_FILE_MIN ((uint64_t)1 << 20)
#define SP_ROW_FILE_MAX ((uint64_t)1 << 43)

/* `options` are not needed afterwards. */
SP_MUST_CHECK sp_status sp_row_file_open(sp_row_file **out, const sp_row_file_options *options,
					 sp_error *err);

/* Only when no call is running.  NULL is fine. */
void sp_row_file_close(sp_row_file *file);

/* The number of a new table.  row_count SIZE_MAX: unknown. */
uint32_t sp_row_file_add_table(sp_row_file *file, size_t row_size, size_t row_count);

/* Queues a row to be written.  False if there is no room for it, because the disk is too slow. */
bool sp_row_file_put(sp_row_file *file, uint32_t table, int64_t key, const void *row, size_t size);

/* Whether rows should be read from it: it is enabled, and reads were not late recently. */
bool sp_row_file_is_ready(const sp_row_file *file);

/* A row to be found and read. */
typedef struct sp_row_file_row {
	int64_t key;
	uint32_t table, size;
	uint64_t at;  /* its position, set by find() */
	size_t owner; /* the caller's */
} sp_row_file_row;

/* Moves the rows that the file may have to the front; returns how many there are. */
size_t sp_row_file_find(const sp_row_file *file, sp_row_file_row *rows, size_t count);

/*
 * Called with a row; `bytes` NULL: it cannot be read, or is damaged.  Not called for a row that was
 * overwritten, or is another key's.
 */
typedef void sp_row_file_callback(void *context, const sp_row_file_row *row, const void *bytes);

/*
 * Reads rows that find() has found; the calling thread calls `on_row`.  Returns by deadline_ns on
 * sp_clock_now_ns()'s clock; 0: no deadline.
 */
void sp_row_file_read(sp_row_file *file, const sp_row_file_row *rows, size_t count,
		      sp_row_file_callback *on_row, void *context, int64_t deadline_ns);

/* False if it was disabled. */
bool sp_row_file_is_on(const sp_row_file *file);

size_t sp_row_file_footprint(const sp_row_file *file); /* bytes of memory */

#endif
