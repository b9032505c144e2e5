#ifndef SP_BASE_FOLDER_H
#define SP_BASE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * The names in a folder, without "." and "..", sorted by their bytes, so that the order of the
 * system is never visible.  The list is in `arena`.
 *
 * SP_NOT_FOUND if `path` does not exist or is not a folder, SP_IO if it cannot be read; *out is
 * then empty.  As in base/file.h, a path may lead into a store.
 */
typedef struct sp_folder {
	const char **names;
	size_t count;
} sp_folder;

SP_MUST_CHECK sp_status sp_folder_list(sp_folder *out, const char *path, sp_arena *arena,
				       sp_error *err);

/*
 * Whether `path` exists with the type `type` (S_IFREG, S_IFDIR); *info is the result of stat().  A
 * path that does not exist or is not accessible gives false; SP_IO only if the file system fails.
 */
SP_MUST_CHECK sp_status sp_folder_find(bool *out, struct stat *info, const char *path, mode_t type,
				       sp_error *err);

/*
 * What a store has told of names at or below `path` counts no longer (base/store.h).  A local path
 * is always looked at anew.
 */
void sp_folder_refresh(const char *path);

#endif
