#ifndef SP_STORAGE_TABLE_INTERNAL_H
#define SP_STORAGE_TABLE_INTERNAL_H

#include "storage/index.h"
#include "storage/region.h"
#include "storage/table.h"

/* What a builder fills and a table reads: row r of `rows` belongs to the key that `index` gives r.
 */
struct sp_table {
	char *name;
	size_t dim;
	size_t count;
	sp_region rows; /* [count, dim] float32 */
	sp_index index;

	sp_table_filter filter;
	float default_value_no_permission;
	sp_region default_rows; /* [default_row_count, dim] float32; empty with a filter */
	size_t default_row_count;
};

#endif
