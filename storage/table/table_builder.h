#ifndef SP_STORAGE_TABLE_TABLE_BUILDER_H
#define SP_STORAGE_TABLE_TABLE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/fresh/fresh.h"
#include "storage/table/key_column.h"
#include "storage/rows/rows.h"
#include "storage/table/table.h"
#include "storage/table/tier.h"

/*
 * Makes tables from their rules (the answers for absent keys) and layers (where the rows are).
 *
 * Threads: one thread at a time for one table.
 */

typedef struct sp_table_options {
	const char *name; /* copied */
	size_t dim;       /* elements of a row, >= 1 */

	sp_table_filter filter;
	float default_value_no_permission; /* what an absent key answers with a filter */

	/*
	 * [default_row_count, dim], copied; may be NULL with a filter.  Without a filter NULL means
	 * one row of zeros.
	 */
	const float *default_rows;
	size_t default_row_count;
} sp_table_options;

/*
 * A table of rows made elsewhere (storage/rows/rows_builder.h).  `base` and `below` may be NULL;
 * the table takes its own reference to both.  SP_INVALID when they disagree about dim.
 */
SP_MUST_CHECK sp_status sp_table_create(sp_table **out, const sp_table_options *options,
					sp_rows *base, sp_tier *below, sp_error *err);

/*
 * The table of the next version: `overlay` replaces the overlay of `table`; everything else is
 * shared with `table`, which may be destroyed before or after.  Takes a reference to `overlay`;
 * NULL is fine.
 *
 * SP_NOT_FOUND when rows were folded into those of `table` (sp_table_fold) and `overlay` lacks some
 * of their keys: rows of another version would answer them.
 */
SP_MUST_CHECK sp_status sp_table_with_overlay(sp_table **out, const sp_table *table,
					      sp_rows *overlay, sp_error *err);

/*
 * Sets a column of a table that is not in use yet, and takes a reference to it; NULL removes the
 * column.  Tables made from this one share it.
 */
void sp_table_set_column(sp_table *table, sp_table_column which, sp_key_column *column);

/* The table's column; NULL when it has none. */
sp_key_column *sp_table_get_column(const sp_table *table, sp_table_column which);

/* Another table that shares everything with `table`. */
SP_MUST_CHECK sp_status sp_table_share(sp_table **out, const sp_table *table, sp_error *err);

/*
 * Rows that lie over those of the table, and of all tables made from it, for lookups with a view of
 * them.  Called once, before any such lookup; `fresh` outlives these lookups.
 */
void sp_table_set_fresh(const sp_table *table, const sp_fresh_rows *fresh);

/* The layers of a table, which owns them; any may be NULL. */
typedef struct sp_table_layers {
	sp_rows *overlay;
	sp_rows *base;
	sp_tier *below;
} sp_table_layers;

sp_table_layers sp_table_get_layers(const sp_table *table);

/* held[i] = whether keys[i] is in the table's overlay. */
void sp_table_overlay_holds(const sp_table *table, const int64_t *keys, size_t count, bool *held);

/*
 * A table with the same answers as `table`, made after its overlay was merged into `base` or
 * `below` (storage/table/layers_fold.h).  One of the two is NULL; a reference is taken to the
 * other.  The table keeps the keys of the overlay, 8 bytes each.
 */
SP_MUST_CHECK sp_status sp_table_fold(sp_table **out, const sp_table *table, sp_rows *base,
				      sp_tier *below, sp_error *err);

/* Whether the table was made by sp_table_fold(), or from such a table. */
bool sp_table_is_folded(const sp_table *table);

/* A table of keys [count] and rows [count, dim] float32; the last row of a repeated key stays. */
SP_MUST_CHECK sp_status sp_table_from_rows(sp_table **out, const sp_table_options *options,
					   const int64_t *keys, const float *rows, size_t count,
					   sp_error *err);

#endif
