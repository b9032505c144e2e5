#ifndef SP_STORAGE_SSD_SSD_FOLDER_H
#define SP_STORAGE_SSD_SSD_FOLDER_H

#include <stdbool.h>

#include "base/status.h"

/*
 * Folders of the SSD tier below one root (ev_storage_path), which several
 * processes may share.
 *
 *   sp-ssd-<name>                   complete: made durable, then renamed to this
 *   sp-ssd-<name>.building-XXXXXX   being written
 *   sp-ssd-<name>.removed-XXXXXX    being deleted
 *
 *   in each:  in_use   flock()ed by who uses it: exclusively while it is written
 *             label    what the rows are, in words; the folder is taken only when they
 *                      are those that are asked for
 *             rows/    RocksDB's
 *             filter   of its keys (storage/sst/key_filter.h)
 *             hot      rows for the cache to begin with (storage/cache/hot_rows.h)
 *
 *   in the root:  sp-ssd.lock   flock()ed while one of these names comes or goes
 *
 * The locks go with the process that holds them, however it ends, so what a
 * killed process has left is told from what a live one is at work on.
 */
typedef struct sp_ssd_folder {
	char *path;
	int lock; /* -1 when closed */
} sp_ssd_folder;

/* Makes the root if need be. */
SP_MUST_CHECK sp_status sp_ssd_root_prepare(const char *root, sp_error *err);

/*
 * Deletes what dead processes have left half done, and the complete folders
 * whose name starts with `family` (NULL: none) but not with `current`, unless
 * somebody uses them.
 */
SP_MUST_CHECK sp_status sp_ssd_root_clean(const char *root, const char *family, const char *current,
					  sp_error *err);

/* SP_NOT_FOUND when there is no complete folder of that name and label. */
SP_MUST_CHECK sp_status sp_ssd_folder_open(sp_ssd_folder *out, const char *root, const char *name,
					   const char *label, sp_error *err);

/* A new folder to write. */
SP_MUST_CHECK sp_status sp_ssd_folder_begin(sp_ssd_folder *out, const char *root, const char *name,
					    sp_error *err);

/*
 * What is in it is complete and on disk: gives it its name.  A complete one
 * that is already there is removed; who uses it keeps what is open.
 */
SP_MUST_CHECK sp_status sp_ssd_folder_publish(sp_ssd_folder *folder, const char *root,
					      const char *name, const char *label, sp_error *err);

/* Takes a complete one's label away: the next start makes it anew. */
void sp_ssd_folder_distrust(const sp_ssd_folder *folder);

/* The path of a file in it, for sp_free(); NULL when out of memory. */
char *sp_ssd_folder_file(const sp_ssd_folder *folder, const char *name);

/* Closing a closed one, {NULL, -1}, is fine.  discard() deletes it as well. */
void sp_ssd_folder_close(sp_ssd_folder *folder);
void sp_ssd_folder_discard(sp_ssd_folder *folder, const char *root);

#endif
