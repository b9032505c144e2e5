#ifndef SP_STORAGE_TABLE_LAYERS_FOLD_H
#define SP_STORAGE_TABLE_LAYERS_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/table/table_builder.h"

/*
 * Merges a table's overlay into the layer below: rows in memory (storage/rows/rows_fold.h), or a
 * slower tier (storage/table/tier.h).  The new table gives the same answers, to the bit.
 *
 * In memory the caller runs steps of a few milliseconds; a tier is folded by a thread that sleeps
 * half of the time and has the priority of the thread that starts it.  The caller may do other work
 * between steps, and may stop at any time.
 *
 * Threads: one thread at a time; the table may be read meanwhile.
 */
typedef struct sp_layers_fold sp_layers_fold;

typedef struct sp_layers_fold_options {
	size_t threads;          /* threads that find slots of rows in memory */
	int64_t rows_per_second; /* rate limit for folding into a tier; 0: none */
	bool from_image;         /* rows mapped from an image are copied to memory */
} sp_layers_fold_options;

/* Why the layers cannot be merged, as words after "its rows are"; NULL when they can. */
const char *sp_layers_fold_obstacle(const sp_table_layers *layers,
				    const sp_layers_fold_options *options);

/* Upper bound of the bytes needed, the result included; SIZE_MAX on overflow. */
size_t sp_layers_fold_cost(const sp_table_layers *layers);

/* `table` has an overlay and no obstacle; it may be destroyed afterwards. */
SP_MUST_CHECK sp_status sp_layers_fold_create(sp_layers_fold **out, const sp_table *table,
					      const sp_layers_fold_options *options, sp_error *err);

/* Walks at most `slots` slots; does nothing while busy.  *done: everything is merged. */
SP_MUST_CHECK sp_status sp_layers_fold_step(sp_layers_fold *fold, size_t slots, bool *done,
					    sp_error *err);

/* Whether a thread is working, so that a step would do nothing. */
bool sp_layers_fold_is_busy(const sp_layers_fold *fold);

/* Once, after the last step: the table, for sp_table_destroy(). */
SP_MUST_CHECK sp_status sp_layers_fold_freeze(sp_layers_fold *fold, sp_table **out, sp_error *err);

/*
 * After freeze(), right before the new table replaces the old one.  From then on no request may
 * look up keys of the overlay in the layers below it: no other version of the table may be in use.
 */
void sp_layers_fold_adopt(sp_layers_fold *fold);

/* Allowed at any time.  NULL is fine. */
void sp_layers_fold_destroy(sp_layers_fold *fold);

#endif
