#ifndef SP_BASE_FOLDER_H
#define SP_BASE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * The names in a folder, without "." and "..", sorted by their bytes: the order
 * in which the system lists them is never visible.  The list lives in `arena`.
 *
 * SP_NOT_FOUND when `path` is not there or is no folder, SP_IO when it cannot be
 * read; *out is empty then.
 */
typedef struct sp_folder {
	const char **names;
	size_t count;
} sp_folder;

SP_MUST_CHECK sp_status sp_folder_list(sp_folder *out, const char *path, sp_arena *arena,
				       sp_error *err);

/*
 * Whether `path` is a file of type `type` (S_IFREG, S_IFDIR), and what stat() says of it.  A path
 * that is gone or closed to us is none; SP_IO only when the file system fails to answer.
 */
SP_MUST_CHECK sp_status sp_folder_find(bool *out, struct stat *info, const char *path, mode_t type,
				       sp_error *err);

#endif
