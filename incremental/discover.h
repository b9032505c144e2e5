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
 *     VERSION/                      any name
 *       checkpoint                  the newest of these, by time of change in
 *                                   whole seconds, chooses the folder; of two
 *                                   as new, the one that sorts first
 *       PREFIX-STEP.index           the greatest step is the full checkpoint
 *       .incremental_checkpoint/    or .incremental_ckpt/
 *         PREFIX-STEP.index         the greatest step above the full one is the delta
 *
 * and one of our own: while data of a later full checkpoint is there and its
 * index is not (PREFIX-STEP.data-*), it is being copied, and deltas above its
 * step are not looked at, because they may lie on that one: a delta does not
 * say which full checkpoint it belongs to.
 *
 * STEP is the number between the last '-' and the last '.' of a name; a name
 * without one has step 0.  Of two with one step the first by name counts.  What
 * `checkpoint` says inside is not read, nor is anything else of a file:
 * completeness is for the loader to check.
 *
 * Threads: pure, but for what the file system says.
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

/*
 * Texts go into `arena`.  SP_NOT_FOUND when `checkpoint_dir` is not a folder
 * (yet) or holds no version; SP_IO when it cannot be read.
 */
SP_MUST_CHECK sp_status sp_discover_version(sp_found_version *out, const char *checkpoint_dir,
					    sp_arena *arena, sp_error *err);

/*
 * The version of these very steps (delta_step -1: without a delta), whichever
 * folder it is in; of several the newest folder's.  SP_NOT_FOUND when there is
 * none.
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
 * folders of `base` whose name is a number and that hold a saved_model.pb (or
 * .pbtxt) the greatest, or the one of number `only` unless that is negative.  SP_NOT_FOUND
 * when there is none; SP_IO when `base` cannot be read.
 */
SP_MUST_CHECK sp_status sp_discover_numbered(sp_found_version *out, const char *base, int64_t only,
					     sp_arena *arena, sp_error *err);

/* The same, of those whose number is less than `number`. */
SP_MUST_CHECK sp_status sp_discover_older_numbered(sp_found_version *out, const char *base,
						   int64_t number, sp_arena *arena, sp_error *err);

#endif
