#ifndef SP_BASE_FILE_H
#define SP_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Reading files with pread(); nothing is assumed about their existence, size or content.
 * base/mapping.h maps files, guarded against files that shrink.
 *
 * A path of the form SCHEME://... is an object of a store (base/store.h); all functions take it.
 *
 * Errors: SP_NOT_FOUND when a path does not exist, SP_IO for every other failure of the
 * system; the text has the path and the system's reason.
 */

/*
 * Reads a whole regular file into a block for sp_free(), followed by a NUL.  SP_INVALID when
 * it is larger than `max_size`.
 */
SP_MUST_CHECK sp_status sp_file_read(char **out, size_t *out_size, const char *path,
				     size_t max_size, sp_error *err);

/* An open file for reads at any offset.  Threads: thread-safe once open. */
typedef struct sp_file {
	int fd; /* -1 when closed, and for an object */
	uint64_t size;
	struct sp_store_object *object; /* of a store; NULL: a local file */
} sp_file;

/* Only regular files. */
SP_MUST_CHECK sp_status sp_file_open(sp_file *out, const char *path, sp_error *err);

/* A closed file, {.fd = -1}, is fine. */
void sp_file_close(sp_file *file);

/* Reads exactly `size` bytes at `offset`; SP_CORRUPT if the file ends earlier. */
SP_MUST_CHECK sp_status sp_file_read_at(const sp_file *file, uint64_t offset, void *buffer,
					size_t size, sp_error *err);

/*
 * Starts reading a range into memory without waiting; it may be ignored.  `once`: it will not be
 * read again after that.
 */
void sp_file_fetch(const sp_file *file, uint64_t offset, uint64_t size, bool once);

/* How far ahead of a reader in sequence ranges are best requested by sp_file_fetch(), in bytes. */
size_t sp_file_ahead(const sp_file *file);

/* Fills *err with "cannot WHAT PATH: REASON", the reason by errno; returns `status`. */
sp_status sp_file_failed(sp_error *err, sp_status status, const char *what, const char *path);

/* False also if it cannot be found out: base/folder.h has a function that tells the difference. */
bool sp_file_is_directory(const char *path);
bool sp_file_exists(const char *path);

/* Whether there is certainly nothing of that name. */
bool sp_file_is_missing(const char *path);

/* Writes all bytes to a descriptor; false: errno says why. */
bool sp_file_write_all(int fd, const char *data, size_t size);

#endif
