#ifndef SP_BASE_FILE_H
#define SP_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Reading files whose content, size and existence nobody promises.
 *
 * Files are read with pread() here.  base/mapping.h maps them, guarded against
 * files that shrink.
 *
 * Errors: SP_NOT_FOUND when a path does not exist, SP_IO for everything else
 * the system refuses; the text names the path and the system's reason.
 */

/*
 * The whole file in one block for sp_free(), with a NUL behind its last byte.
 * SP_INVALID when it is larger than `max_size`.  Only regular files.
 */
SP_MUST_CHECK sp_status sp_file_read(char **out, size_t *out_size, const char *path,
				     size_t max_size, sp_error *err);

/* An open file for reads at any offset.  Threads: thread-safe once open. */
typedef struct sp_file {
	int fd; /* -1 when closed */
	uint64_t size;
} sp_file;

/* Only regular files. */
SP_MUST_CHECK sp_status sp_file_open(sp_file *out, const char *path, sp_error *err);

/* Closing a closed one, {-1, 0}, is fine. */
void sp_file_close(sp_file *file);

/* Exactly `size` bytes from `offset`; SP_CORRUPT when the file ends before. */
SP_MUST_CHECK sp_status sp_file_read_at(const sp_file *file, uint64_t offset, void *buffer,
					size_t size, sp_error *err);

/* This part will be read soon: starts the disk, doesn't wait; the system may ignore it. */
void sp_file_fetch(const sp_file *file, uint64_t offset, uint64_t size);

bool sp_file_is_directory(const char *path);
bool sp_file_exists(const char *path);

#endif
