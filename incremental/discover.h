#ifndef SP_INCREMENTAL_DISCOVER_H
#define SP_INCREMENTAL_DISCOVER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * Which version of a model a checkpoint folder holds, by the rules of
 * DeepRec's processor:
 *
 *   checkpoint_dir/
 *     VERSION/                      the folder
 *       checkpoint                  its time of change
 *       PREFIX-STEP.index           the greatest step is the full checkpoint
 *       .incremental_checkpoint/    or .incremental_ckpt/
 *         PREFIX-STEP.index         the greatest step above the full one is the delta
 *
 * What `checkpoint` says inside is not read, nor is anything else of a file:
 * completeness is for the loader to check.  Names that are no checkpoint's, and
 * folders that are no version's, are passed over (model_loader/checkpoint/checkpoint_name.h).
 * STEP is 0 to 9223372036854775807; a name without one has step 0.
 *
 * The folder.  The latest `checkpoint` in whole seconds chooses; of two in one
 * second the greater full step, then the greater delta, then the name that sorts
 * last.  A time cannot be true when it lies more than a minute after the time of
 * day, or after the file's own change of status (ctime).  When any `checkpoint`
 * has such a time, times choose nothing, and the rest of that order does.  The
 * order in which the system lists a folder is never a reason.
 *
 * In a folder, of two prefixes with one step the first by name counts.
 *
 * And one rule of our own.  A delta does not say which full checkpoint it
 * belongs to.  While data of a later full checkpoint S is there without its
 * index (PREFIX-S.data-*), S may be being copied, and deltas above S may lie on
 * it: they wait.  The wait is over when the index comes (they lie on S then), or
 * when no data of S was written for `quiet_ms`: such data is what a save that
 * was given up has left, and the deltas lie on the full checkpoint before it.  A
 * file was written at the later one of mtime and ctime; times more than a minute
 * after the time of day say nothing.  So a wait ends `quiet_ms` and a minute
 * after the last write at the latest.
 *
 * Threads: pure, but for what the file system and the time of day say.
 */
typedef struct sp_found_version {
	/* Of a version that is a SavedModel of its own: that folder, and full_prefix is the same;
	 * there is no delta.  NULL: it is a checkpoint for a SavedModel that stays. */
	const char *savedmodel_dir;

	const char *full_prefix;  /* "/models/ckpt/20240101/model.ckpt-100" */
	const char *delta_prefix; /* NULL when there is no delta */
	int64_t full_step;
	int64_t delta_step; /* -1 when there is no delta */
} sp_found_version;

typedef struct sp_discover_options {
	int64_t quiet_ms;
	int64_t now_ms; /* the time of day; 0: the system's */
} sp_discover_options;

/* What would surprise a person, as one line.  It is the same as long as the facts are. */
typedef struct sp_discover_note {
	const char *text;
	struct sp_discover_note *next;
} sp_discover_note;

typedef struct sp_discovery {
	sp_found_version version;

	/* What is newer and cannot be taken yet, and why; `why` is NULL when nothing waits.  It is
	 * also said when there is no version at all. */
	sp_found_version waiting;
	const char *why;
	int64_t wait_ms; /* then it waits no longer; 0: its files have to come */

	const sp_discover_note *notes; /* without an order */
} sp_discovery;

/*
 * Texts go into `arena`.  `options` NULL: quiet for SP_DISCOVER_QUIET_MS.
 * SP_NOT_FOUND when `checkpoint_dir` is not a folder (yet) or holds no version;
 * SP_IO when it cannot be read.
 */
enum { SP_DISCOVER_QUIET_MS = 5000 };
SP_MUST_CHECK sp_status sp_discover_version(sp_discovery *out, const char *checkpoint_dir,
					    const sp_discover_options *options, sp_arena *arena,
					    sp_error *err);

/*
 * The version of these very steps (delta_step -1: without a delta), whichever
 * folder it is in; of several the first folder's in the order above.
 * SP_NOT_FOUND when there is none.
 */
SP_MUST_CHECK sp_status sp_discover_steps(sp_found_version *out, const char *checkpoint_dir,
					  int64_t full_step, int64_t delta_step, sp_arena *arena,
					  sp_error *err);

/*
 * The version before `than`, whose files may be gone: the next smaller delta of its full
 * checkpoint; then that one alone; then the full checkpoint before it in its folder, with the
 * greatest delta below the later one; then what the next older folder holds.  SP_NOT_FOUND
 * when there is none.
 */
SP_MUST_CHECK sp_status sp_discover_older(sp_found_version *out, const char *checkpoint_dir,
					  const sp_found_version *than, sp_arena *arena,
					  sp_error *err);

/*
 * The newest of numbered SavedModels, by TensorFlow Serving's rules: of the
 * folders of `base` whose name is a number (0 to 9223372036854775807, decimal
 * digits only) and that hold a saved_model.pb (or .pbtxt) the greatest, or the
 * one of number `only` unless that is negative.  Of several names of one number
 * the one without a zero in front counts, else the first by name.  A greater one
 * that has no saved_model.pb waits for it.  SP_NOT_FOUND when there is none;
 * SP_IO when `base` cannot be read.
 */
SP_MUST_CHECK sp_status sp_discover_numbered(sp_discovery *out, const char *base, int64_t only,
					     sp_arena *arena, sp_error *err);

/* The same, of those whose number is less than `number`. */
SP_MUST_CHECK sp_status sp_discover_older_numbered(sp_found_version *out, const char *base,
						   int64_t number, sp_arena *arena, sp_error *err);

#endif
