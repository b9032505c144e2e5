#ifndef SP_STORAGE_TABLE_TABLE_INTERNAL_H
#define SP_STORAGE_TABLE_TABLE_INTERNAL_H

#include <stdatomic.h>

#include "storage/fresh/fresh.h"
#include "storage/table/key_column.h"
#include "storage/region.h"
#include "storage/rows/rows_internal.h"
#include "storage/table/table.h"
#include "storage/table/tier.h"

/*
 * Counts of looked up keys.  Each core adds to one of several, on a cache line of its own, so that
 * sessions which look up at the same time seldom wait for each other's line.
 */
enum { SP_TABLE_TALLIES = 16 };

typedef struct sp_table_tally {
	_Alignas(64) atomic_uint_least64_t in_memory; /* keys that no slower tier was asked for */
	atomic_uint_least64_t absent;                 /* of these: not held */
} sp_table_tally;

/* Shared by all versions of a table. */
typedef struct sp_table_rules {
	atomic_size_t references;
	char *name;
	size_t dim;
	sp_table_filter filter;
	/*
	 * [default_row_count, dim] float32; with a filter, one row of default_value_no_permission
	 */
	sp_region default_rows;
	size_t default_row_count;
	/* Rows that arrive while the table is in use; NULL: none. */
	_Atomic(const sp_fresh_rows *) fresh;
	sp_table_tally tallies[SP_TABLE_TALLIES];
} sp_table_rules;

/* The keys whose rows were folded: base or tier hold a delta's row for them. */
typedef struct sp_folded_keys {
	atomic_size_t references;
	size_t count;
	int64_t keys[];
} sp_folded_keys;

struct sp_table {
	sp_table_rules *rules;
	sp_rows *overlay; /* any of overlay, base, below may be NULL */
	sp_rows *base;
	sp_tier *below;
	sp_folded_keys *folded;                   /* NULL: none */
	sp_key_column *columns[SP_TABLE_COLUMNS]; /* NULL: the table has no such column */
	size_t row_count;
};

/* The row that answers an absent key; `fallback` is the row given for it, or NULL. */
static inline const float *sp_table__absent_row(const sp_table_rules *rules, int64_t key,
						const float *fallback)
{
	int64_t count = (int64_t)rules->default_row_count, at;

	if (fallback != NULL && rules->filter == SP_TABLE_FILTER_NONE)
		return fallback;
	at = key % count;
	return (const float *)rules->default_rows.data +
	       (size_t)(at < 0 ? at + count : at) * rules->dim;
}

#endif
