#ifndef SP_STORAGE_TABLE_LAYERS_FOLD_H
#define SP_STORAGE_TABLE_LAYERS_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/table/table_builder.h"

/*
 * A table's overlay made part of what it lies over: of rows in memory
 * (storage/rows/rows_fold.h), or of a slower tier (storage/table/tier.h).  The table that is
 * made answers as the one before, to the bit.
 *
 * It is done in steps of a few milliseconds, or by a thread of its own that works
 * half of the time and has the priority of the one that starts it, so that whoever
 * does it can look after other things, and give up at any time.
 *
 * Threads: one thread at a time; the table may be read meanwhile.
 */
typedef struct sp_layers_fold sp_layers_fold;

typedef struct sp_layers_fold_options {
	size_t threads;          /* that may give keys their places in memory */
	int64_t rows_per_second; /* that a thread of its own keeps to; 0: any */
	bool from_image;         /* rows that are mapped from an image are copied to memory */
} sp_layers_fold_options;

/* Why a table's layers stay two, as "its rows are ..."; NULL when they need not. */
const char *sp_layers_fold_obstacle(const sp_table_layers *layers,
				    const sp_layers_fold_options *options);

/* Bytes of memory that it takes at most, what is made included; SIZE_MAX: too many to count. */
size_t sp_layers_fold_cost(const sp_table_layers *layers);

/* Of a table with an overlay that has no obstacle; it is shared, and may be destroyed. */
SP_MUST_CHECK sp_status sp_layers_fold_create(sp_layers_fold **out, const sp_table *table,
					      const sp_layers_fold_options *options, sp_error *err);

/* Goes past at most `slots` slots, if it is not busy; *done when all is made. */
SP_MUST_CHECK sp_status sp_layers_fold_step(sp_layers_fold *fold, size_t slots, bool *done,
					    sp_error *err);

/* Somebody else is at work just now: a step does nothing then. */
bool sp_layers_fold_is_busy(const sp_layers_fold *fold);

/* After the last step, once: the table, for sp_table_destroy(). */
SP_MUST_CHECK sp_status sp_layers_fold_freeze(sp_layers_fold *fold, sp_table **out, sp_error *err);

/*
 * After that, right before it takes the place of the first one.  No request is
 * left that looks for a key of the overlay below it, and none may come: other versions
 * of the table are not asked any more.
 */
void sp_layers_fold_adopt(sp_layers_fold *fold);

/* At any time.  NULL is fine. */
void sp_layers_fold_destroy(sp_layers_fold *fold);

#endif
