#ifndef SP_STORAGE_TABLE_TABLE_BUILDER_H
#define SP_STORAGE_TABLE_TABLE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/table/key_column.h"
#include "storage/rows/rows.h"
#include "storage/table/table.h"
#include "storage/table/tier.h"

/*
 * Makes tables: what a table answers for an absent key, and where its rows are.
 *
 * Threads: one thread at a time for one table.
 */

typedef struct sp_table_options {
	const char *name; /* copied */
	size_t dim;       /* elements of a row, >= 1 */

	sp_table_filter filter;
	float default_value_no_permission; /* what an absent key answers with a filter */

	/* [default_row_count, dim], copied; may be NULL with a filter.  Without a filter
	 * NULL means one row of zeros. */
	const float *default_rows;
	size_t default_row_count;
} sp_table_options;

/*
 * A table of rows that are made elsewhere (storage/rows/rows_builder.h).  `base` and
 * `below` may be NULL; of both the table takes a reference of its own.
 * SP_INVALID when they disagree about dim.
 */
SP_MUST_CHECK sp_status sp_table_create(sp_table **out, const sp_table_options *options,
					sp_rows *base, sp_tier *below, sp_error *err);

/*
 * The table of the next version: `overlay` answers before all that `table` has;
 * everything but an overlay of its own is shared with `table`, which may be
 * destroyed before or after.  Takes a reference to `overlay`; NULL is fine.
 *
 * SP_NOT_FOUND when rows were folded into those of `table` (sp_table_fold) and
 * `overlay` has not all of their keys: the folded rows of the others would
 * answer, which belong to another version.
 */
SP_MUST_CHECK sp_status sp_table_with_overlay(sp_table **out, const sp_table *table,
					      sp_rows *overlay, sp_error *err);

/*
 * Gives a table that nobody uses yet a column in place of the one that it has, of
 * which it takes a reference; NULL is none.  Tables made of this one share it.
 */
void sp_table_set_column(sp_table *table, sp_table_column which, sp_key_column *column);

/* The table's; NULL when it has none. */
sp_key_column *sp_table_get_column(const sp_table *table, sp_table_column which);

/* The same table once more: it shares all that `table` has. */
SP_MUST_CHECK sp_status sp_table_share(sp_table **out, const sp_table *table, sp_error *err);

/* What a table's rows lie in; any of the three may be NULL, and all are the table's. */
typedef struct sp_table_layers {
	sp_rows *overlay;
	sp_rows *base;
	sp_tier *below;
} sp_table_layers;

sp_table_layers sp_table_get_layers(const sp_table *table);

/* held[i] = whether keys[i] is in the table's overlay. */
void sp_table_overlay_holds(const sp_table *table, const int64_t *keys, size_t count, bool *held);

/*
 * The table that answers as `table`, which has an overlay, with `base` and
 * `below` in place of all that it has: its overlay is part of one of them
 * (storage/table/layers_fold.h).  Takes references to both; one is NULL.  It remembers the
 * keys of the overlay, 8 bytes each.
 */
SP_MUST_CHECK sp_status sp_table_fold(sp_table **out, const sp_table *table, sp_rows *base,
				      sp_tier *below, sp_error *err);

/* Whether it was made by sp_table_fold(), or lies over one that was. */
bool sp_table_is_folded(const sp_table *table);

/* For rows in hand: keys [count], rows [count, dim] float32; the last of a key stays. */
SP_MUST_CHECK sp_status sp_table_from_rows(sp_table **out, const sp_table_options *options,
					   const int64_t *keys, const float *rows, size_t count,
					   sp_error *err);

#endif
