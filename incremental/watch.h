#ifndef SP_INCREMENTAL_WATCH_H
#define SP_INCREMENTAL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Waiting for something to change below the folders of a model: woken by the
 * system where the file system tells of changes (inotify), else by the clock.
 *
 * It reports that something may have changed, not what; and changes may be missed, so
 * the caller must look at the files after a timeout, too.
 *
 * Threads: sp_watch_wake() may be called by any; everything else by one.
 */
typedef struct sp_watch sp_watch;

SP_MUST_CHECK sp_status sp_watch_create(sp_watch **out, sp_error *err);

/* NULL is fine. */
void sp_watch_destroy(sp_watch *watch);

/*
 * Also wakes for changes of this folder, of those in it, and of their folders
 * of deltas.  To be called again after each wait: folders come and go.  What
 * cannot be watched is left to the clock.
 */
void sp_watch_checkpoints(sp_watch *watch, const char *checkpoint_dir);

/*
 * Also wakes for changes of what a SavedModel is read from; of the graph file in
 * that folder where it is not NULL.  To be called again after each wait.
 */
void sp_watch_savedmodel(sp_watch *watch, const char *folder, const char *graph_file);

/*
 * Waits until something may have changed, somebody wakes it, or the time is
 * over: then it is false.
 */
bool sp_watch_wait(sp_watch *watch, int64_t timeout_ms);

/* Ends a wait, or the next one at once. */
void sp_watch_wake(sp_watch *watch);

#endif
