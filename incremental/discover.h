#ifndef SP_INCREMENTAL_DISCOVER_H
#define SP_INCREMENTAL_DISCOVER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * Finds the version of a model in a checkpoint folder, by the rules of DeepRec's processor:
 *
 *   checkpoint_dir/
 *     VERSION/                      a version folder
 *       checkpoint                  its mtime orders the folders
 *       PREFIX-STEP.index           the greatest step is the full checkpoint
 *       .incremental_checkpoint/    or .incremental_ckpt/
 *         PREFIX-STEP.index         the greatest step above the full one is the delta
 *
 * No file is opened: the loader checks whether a checkpoint is complete.  Names that are not those
 * of a checkpoint or a version folder are ignored (model_loader/checkpoint/checkpoint_name.h).
 * STEP is 0 to 9223372036854775807; a name without a step has step 0.
 *
 * Choice of the folder: the latest mtime of `checkpoint`, in whole seconds; then the greater full
 * step, the greater delta step, and the name that sorts last.  An mtime is implausible if it is
 * more than a minute later than the current time or than the ctime of the file.  If any
 * `checkpoint` has an implausible mtime, mtimes are ignored and only the rest of the order counts.
 * The order in which the system lists a folder has no effect.
 *
 * If two prefixes in a folder have the same step, the one that sorts first is used.
 *
 * One rule is not DeepRec's.  A delta does not name its full checkpoint.  If a folder has data of a
 * later full checkpoint S without its index (PREFIX-S.data-*), S may still be being copied, and
 * deltas above S may belong to it.  They are not used until the index of S appears, or until no
 * data of S was written for `quiet_ms`; in the latter case the data is taken for the remains of an
 * aborted save, and the deltas for deltas on the previous full checkpoint.  The write time of a
 * file is the later of mtime and ctime; times more than a minute in the future are ignored.  The
 * wait therefore ends at most `quiet_ms` and a minute after the last write.
 *
 * Threads: pure, apart from reading the file system and the clock.
 */
typedef struct sp_found_version {
	/*
	 * Folder of a version that is a SavedModel; full_prefix is the same and there is no delta.
	 * NULL for a checkpoint, which is loaded into the graph of another SavedModel.
	 */
	const char *savedmodel_dir;

	const char *full_prefix;  /* "/models/ckpt/20240101/model.ckpt-100" */
	const char *delta_prefix; /* NULL when there is no delta */
	int64_t full_step;
	int64_t delta_step; /* -1 when there is no delta */
} sp_found_version;

typedef struct sp_discover_options {
	int64_t quiet_ms;
	int64_t now_ms; /* Unix time; 0: of the system clock */
} sp_discover_options;

/* A line for the log about an ambiguous choice.  Its text changes only if the files do. */
typedef struct sp_discover_note {
	const char *text;
	struct sp_discover_note *next;
} sp_discover_note;

typedef struct sp_discovery {
	sp_found_version version;

	/*
	 * A newer version that cannot be used yet, and the reason; `why` is NULL if there is none.
	 * Also set when the result is SP_NOT_FOUND.
	 */
	sp_found_version waiting;
	const char *why;
	int64_t wait_ms; /* time until it is used in any case; 0: only new files can end the wait */

	const sp_discover_note *notes; /* in no particular order */
} sp_discovery;

/*
 * Texts are in `arena`.  `options` NULL: quiet_ms is SP_DISCOVER_QUIET_MS.  SP_NOT_FOUND if
 * `checkpoint_dir` is not a folder or holds no version; SP_IO if it cannot be read.
 */
enum { SP_DISCOVER_QUIET_MS = 5000 };
SP_MUST_CHECK sp_status sp_discover_version(sp_discovery *out, const char *checkpoint_dir,
					    const sp_discover_options *options, sp_arena *arena,
					    sp_error *err);

/*
 * Finds the version with exactly these steps (delta_step -1: no delta) in any folder; if several
 * folders have it, the first in the order above.  SP_NOT_FOUND if there is none.
 */
SP_MUST_CHECK sp_status sp_discover_steps(sp_found_version *out, const char *checkpoint_dir,
					  int64_t full_step, int64_t delta_step, sp_arena *arena,
					  sp_error *err);

/*
 * Finds the version before `than`, whose files may have been deleted.  In this order: the next
 * smaller delta of its full checkpoint; the full checkpoint alone; the previous full checkpoint in
 * the folder, with the greatest delta below the step of `than`; the version of the next older
 * folder.  SP_NOT_FOUND if there is none.
 */
SP_MUST_CHECK sp_status sp_discover_older(sp_found_version *out, const char *checkpoint_dir,
					  const sp_found_version *than, sp_arena *arena,
					  sp_error *err);

/*
 * Finds the newest of numbered SavedModels, by TensorFlow Serving's rules: the folder in `base`
 * with the greatest number as its name (0 to 9223372036854775807, decimal digits only) that holds
 * saved_model.pb or .pbtxt.  `only` >= 0: just the folder with this number.  If several names
 * denote the same number, the one without a leading zero is used, else the one that sorts first.  A
 * greater number without saved_model.pb is reported as `waiting`.  SP_NOT_FOUND if there is none;
 * SP_IO if `base` cannot be read.
 */
SP_MUST_CHECK sp_status sp_discover_numbered(sp_discovery *out, const char *base, int64_t only,
					     sp_arena *arena, sp_error *err);

/* The same, among numbers less than `number`. */
SP_MUST_CHECK sp_status sp_discover_older_numbered(sp_found_version *out, const char *base,
						   int64_t number, sp_arena *arena, sp_error *err);

#endif
