#ifndef SP_INCREMENTAL_WATCH_H
#define SP_INCREMENTAL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Waits for changes in the folders of a model, reported by inotify if the file system supports it.
 *
 * Paths into object stores are not watched.  It reports that something may have changed, not what.
 * Changes may be missed, so the caller must also look at the files after a timeout.
 *
 * Threads: sp_watch_wake() may be called by any thread, all else by one.
 */
typedef struct sp_watch sp_watch;

SP_MUST_CHECK sp_status sp_watch_create(sp_watch **out, sp_error *err);

/* NULL is fine. */
void sp_watch_destroy(sp_watch *watch);

/*
 * Adds this folder, the folders in it, and their folders of deltas.  Call it again after each wait,
 * because folders are added and removed.  Folders that cannot be watched are ignored.
 */
void sp_watch_checkpoints(sp_watch *watch, const char *checkpoint_dir);

/*
 * Adds the folders of a SavedModel, and that of the graph file unless it is NULL.  Call it again
 * after each wait.
 */
void sp_watch_savedmodel(sp_watch *watch, const char *folder, const char *graph_file);

/* Waits for a change or sp_watch_wake(); false after the timeout. */
bool sp_watch_wait(sp_watch *watch, int64_t timeout_ms);

/* Ends the current wait, or the next one at once. */
void sp_watch_wake(sp_watch *watch);

#endif
