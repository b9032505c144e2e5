#ifndef SP_PROCESSOR_UPDATER_FOLD_H
#define SP_PROCESSOR_UPDATER_FOLD_H

#include "processor/config/config.h"
#include "processor/updater/versions.h"
#include "storage/table/layers_fold.h"

/*
 * Folds the rows of a delta that has been live for a while into its full checkpoint, so that
 * requests find them with one lookup.  The updater's thread makes the new rows of one table at a
 * time, in small steps, and sleeps as long as it works; between steps it looks for newer versions
 * as usual.  Then the same version is published with that table folded; the next table starts when
 * the last request has left the old rows.
 *
 * Threads: the updater's.
 */
typedef struct sp_fold {
	int64_t due_ns;         /* time of the next step; 0: nothing to do */
	size_t table;           /* index in the live version's weights */
	sp_layers_fold *layers; /* the fold of that table; NULL: not begun */
	int64_t began_ns;
	bool told_obstacle; /* it was logged why some table is not folded */
} sp_fold;

/* After publishing: schedules the fold of the live version's delta. */
void sp_fold_schedule(sp_fold *fold, const sp_config *config, const sp_versions *versions);

/* Aborts and discards the fold, before a newer version is loaded or at the end. */
void sp_fold_stop(sp_fold *fold);

/* Runs a step, if it is due; returns the milliseconds until the next one, INT64_MAX: none. */
int64_t sp_fold_step(sp_fold *fold, const sp_config *config, sp_versions *versions);

#endif
