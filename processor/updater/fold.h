#ifndef SP_PROCESSOR_UPDATER_FOLD_H
#define SP_PROCESSOR_UPDATER_FOLD_H

#include "processor/config/config.h"
#include "processor/updater/versions.h"
#include "storage/table/layers_fold.h"

/*
 * The rows of a delta that has been live for a while are folded into its full
 * checkpoint, so that requests look in one place for them.  The updater's
 * thread makes the new rows of one table at a time, a few at once, and rests for
 * as long as it has worked; in between it looks for newer versions as ever.
 * Then the same version is published with that table folded, and the next one
 * is begun when the last request has left the old rows.
 *
 * Threads: the updater's.
 */
typedef struct sp_fold {
	int64_t due_ns;         /* when to go on; 0: there is nothing to do */
	size_t table;           /* of the live version's weights */
	sp_layers_fold *layers; /* of that table, under way; NULL: not begun */
	int64_t began_ns;
	bool told_obstacle; /* a log line has said why some table is not folded */
} sp_fold;

/* After publishing: the live version's delta is to be folded, when its time has come. */
void sp_fold_schedule(sp_fold *fold, const sp_config *config, const sp_versions *versions);

/* Something newer comes, or the end: what is under way is thrown away. */
void sp_fold_stop(sp_fold *fold);

/* Does a little of it, if it is due; in how many milliseconds to go on, INT64_MAX for never. */
int64_t sp_fold_step(sp_fold *fold, const sp_config *config, sp_versions *versions);

#endif
