#ifndef SP_STORAGE_SSD_SSD_FOLDER_H
#define SP_STORAGE_SSD_SSD_FOLDER_H

#include <stdbool.h>

#include "base/status.h"

/*
 * Folders of the SSD tier below one root (ev_storage_path), which several processes may share.
 *
 *   sp-ssd-<name>                   complete: made durable, then renamed to this
 *   sp-ssd-<name>.building-XXXXXX   being written
 *   sp-ssd-<name>.removed-XXXXXX    being deleted
 *
 *   in each:  in_use   flock()ed by its users: exclusively while it is written
 *             label    describes the rows; the folder is used only by those who ask for
 *                      the same label
 *             rows/    RocksDB's folder
 *             filter   of its keys (storage/sst/key_filter.h)
 *             hot      rows for the cache to begin with (storage/cache/hot_rows.h)
 *
 *   in the root:  sp-ssd.lock   flock()ed while one of these names comes or goes
 *
 * A lock ends with the process that holds it, in whatever way, so folders of killed processes can
 * be told from those that are in use.
 */
enum { SP_SSD_PATH = 4096, SP_SSD_ROOT = SP_SSD_PATH - 300 }; /* sizes of paths; the root's */

typedef struct sp_ssd_path {
	char text[SP_SSD_PATH];
} sp_ssd_path;

typedef struct sp_ssd_folder {
	sp_ssd_path path; /* empty when closed */
	int lock;         /* -1 when closed */
} sp_ssd_folder;

/* Creates the root if it is missing.  SP_INVALID when its path is too long. */
SP_MUST_CHECK sp_status sp_ssd_root_prepare(const char *root, sp_error *err);

/*
 * Deletes unfinished folders of dead processes, and the complete folders whose name starts with
 * `family` (NULL: none) but not with `current`, except those in use.
 */
SP_MUST_CHECK sp_status sp_ssd_root_clean(const char *root, const char *family, const char *current,
					  sp_error *err);

/* SP_NOT_FOUND when there is no complete folder with that name and label. */
SP_MUST_CHECK sp_status sp_ssd_folder_open(sp_ssd_folder *out, const char *root, const char *name,
					   const char *label, sp_error *err);

/* Creates a folder for writing. */
SP_MUST_CHECK sp_status sp_ssd_folder_begin(sp_ssd_folder *out, const char *root, const char *name,
					    sp_error *err);

/*
 * The contents are complete and durable: renames the folder to its final name.  A complete folder
 * of this name is removed; its users keep their open files.
 */
SP_MUST_CHECK sp_status sp_ssd_folder_publish(sp_ssd_folder *folder, const char *root,
					      const char *name, const char *label, sp_error *err);

/* Removes the label of a complete folder, so that the next start builds it again. */
void sp_ssd_folder_distrust(const sp_ssd_folder *folder);

/* The path of a file in the folder. */
sp_ssd_path sp_ssd_folder_file(const sp_ssd_folder *folder, const char *name);

/* Closing a closed folder is fine.  discard() also deletes it. */
void sp_ssd_folder_close(sp_ssd_folder *folder);
void sp_ssd_folder_discard(sp_ssd_folder *folder, const char *root);

#endif
