#ifndef SP_STORAGE_ROWS_ROWS_FOLD_H
#define SP_STORAGE_ROWS_ROWS_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "storage/rows/rows.h"

/*
 * Two layers of rows made one: every row of `over`, and those of `base` whose
 * keys `over` has not.  Rows are taken as they are stored, so that what they
 * answer is the same to the bit.
 *
 * It is done in steps, so that whoever does it can look after other things in
 * between, and give up at any time.  Steps are short: what is not, giving all
 * keys their places, is done by a thread of its own, which has the priority of
 * the one that starts it.
 *
 * Memory: that of the rows that are made, and 17 bytes a key while they are.
 *
 * A base that is guarded (storage/rows/rows.h), as a mapped file is, is waited for until all of
 * it is known to be right; one that turns out not to be is an error.
 *
 * Threads: one thread at a time; the layers may be read meanwhile.
 */
typedef struct sp_rows_fold sp_rows_fold;

/* Whether the base lies in a file, which other processes may share: what is made is in memory. */
bool sp_rows_fold_is_mapped(const sp_rows *base);

/* Bytes that it takes at most, the rows that are made included; SIZE_MAX: too many to count. */
size_t sp_rows_fold_cost(const sp_rows *base, const sp_rows *over);

/*
 * Takes a reference of each layer.  `name` is for errors; so many `threads` may
 * give keys their places.  SP_INVALID when the layers' rows are not stored alike.
 */
SP_MUST_CHECK sp_status sp_rows_fold_create(sp_rows_fold **out, const char *name, sp_rows *base,
					    sp_rows *over, size_t threads, sp_error *err);

/* Goes past at most `slots` slots, if it is not busy; *done when all is made. */
SP_MUST_CHECK sp_status sp_rows_fold_step(sp_rows_fold *fold, size_t slots, bool *done,
					  sp_error *err);

/* Whether keys are given their places just now, or the base is waited for. */
bool sp_rows_fold_is_busy(const sp_rows_fold *fold);

/* After the last step: the rows, for sp_rows_release(). */
SP_MUST_CHECK sp_status sp_rows_fold_freeze(sp_rows_fold *fold, sp_rows **out, sp_error *err);

/* At any time.  NULL is fine. */
void sp_rows_fold_destroy(sp_rows_fold *fold);

#endif
