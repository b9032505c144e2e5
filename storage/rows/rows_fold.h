#ifndef SP_STORAGE_ROWS_ROWS_FOLD_H
#define SP_STORAGE_ROWS_ROWS_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "storage/rows/rows.h"

/*
 * Merges two layers of rows: every row of `over`, and those of `base` whose keys `over` lacks.
 * Stored rows are copied without loss, so that lookups answer the same bits.
 *
 * The caller runs short steps, may do other work between them, and may stop at any time.  The one
 * long step, finding slots for all keys, runs in a thread with the priority of the thread that
 * starts it.
 *
 * Memory: the new rows, and 17 bytes a key meanwhile.
 *
 * With a guarded base (storage/rows/rows.h), such as a mapped file, steps do nothing until all of
 * it has been verified; they return SP_CORRUPT if it is damaged.
 *
 * Threads: one thread at a time; the layers may be read meanwhile.
 */
typedef struct sp_rows_fold sp_rows_fold;

/* Whether the base is in a mapped file, whose pages other processes may share. */
bool sp_rows_fold_is_mapped(const sp_rows *base);

/* Upper bound of the bytes needed, the new rows included; SIZE_MAX: too many to count. */
size_t sp_rows_fold_cost(const sp_rows *base, const sp_rows *over);

/*
 * Takes a reference to each layer.  `name` is for errors; up to `threads` threads find slots.
 * SP_INVALID when the layers differ in format or dim.
 */
SP_MUST_CHECK sp_status sp_rows_fold_create(sp_rows_fold **out, const char *name, sp_rows *base,
					    sp_rows *over, size_t threads, sp_error *err);

/* Walks at most `slots` slots; does nothing while busy.  *done: everything is merged. */
SP_MUST_CHECK sp_status sp_rows_fold_step(sp_rows_fold *fold, size_t slots, bool *done,
					  sp_error *err);

/* Whether slots are being found, or the base is still being verified. */
bool sp_rows_fold_is_busy(const sp_rows_fold *fold);

/* Once, after the last step: the rows, for sp_rows_release(). */
SP_MUST_CHECK sp_status sp_rows_fold_freeze(sp_rows_fold *fold, sp_rows **out, sp_error *err);

/* Allowed at any time.  NULL is fine. */
void sp_rows_fold_destroy(sp_rows_fold *fold);

#endif
