#include "storage/table.h"

#include <string.h>

#include "base/alloc.h"
#include "storage/table_internal.h"

/*
 * A lookup is a pipeline of four stages over blocks of keys: ask for a block's
 * first buckets; read them and ask for the rows, or for second buckets; read
 * those and ask for their rows; copy the rows.  While one block is copied, the
 * memory of the three behind it is on its way.
 */

enum {
	CACHE_LINE = 64,
	/* Lines of a row that are asked for; what follows, the processor foresees itself. */
	MAX_PREFETCH = 8 * CACHE_LINE,
	STAGES = 4,
};

size_t sp_table_dim(const sp_table *table)
{
	return table->dim;
}

size_t sp_table_row_count(const sp_table *table)
{
	return table->count;
}

const char *sp_table_name(const sp_table *table)
{
	return table->name;
}

sp_table_filter sp_table_filter_kind(const sp_table *table)
{
	return table->filter;
}

size_t sp_table_footprint(const sp_table *table)
{
	return sp_region_footprint(&table->rows) + sp_region_footprint(&table->index.region) +
	       sp_region_footprint(&table->default_rows);
}

void sp_table_destroy(sp_table *table)
{
	if (table == NULL)
		return;
	sp_region_fini(&table->rows);
	sp_region_fini(&table->default_rows);
	sp_index_fini(&table->index);
	sp_free(table->name);
	sp_free(table);
}

static void prefetch_row(const sp_table *table, uint32_t row)
{
	const char *bytes = (const char *)table->rows.data;
	size_t size = table->dim * sizeof(float);

	if (row == SP_INDEX_NONE)
		return;
	bytes += row * size;
	if (size > MAX_PREFETCH)
		size = MAX_PREFETCH;
	for (size_t at = 0; at < size; at += CACHE_LINE)
		__builtin_prefetch(bytes + at);
	__builtin_prefetch(bytes + size - 1); /* rows need not start on a line */
}

static void find_first(const sp_table *table, sp_index_probe *probe)
{
	sp_index_probe_first(&table->index, probe);
	for (size_t i = 0; i < probe->count; i++)
		prefetch_row(table, probe->rows[i]);
}

static void find_second(const sp_table *table, sp_index_probe *probe)
{
	sp_index_probe_second(&table->index, probe);
	for (size_t k = 0; k < probe->later_count; k++)
		prefetch_row(table, probe->rows[probe->later[k]]);
}

/* The row an absent key answers, when it is a stored one; NULL: fill with the one value. */
static const float *absent_row(const sp_table *table, int64_t key, const float *fallback)
{
	int64_t count = (int64_t)table->default_row_count, at;

	if (table->filter != SP_TABLE_FILTER_NONE)
		return NULL;
	if (fallback != NULL)
		return fallback;
	at = key % count;
	return (const float *)table->default_rows.data +
	       (size_t)(at < 0 ? at + count : at) * table->dim;
}

/* Inlined with a constant `dim`, so that the copies of common widths need no call. */
static inline __attribute__((always_inline)) void copy_rows(const sp_table *table,
							    const sp_index_probe *probe, size_t dim,
							    const float *fallback, float *rows)
{
	for (size_t i = 0; i < probe->count; i++, rows += dim) {
		const float *row = probe->rows[i] != SP_INDEX_NONE
					   ? (const float *)table->rows.data + probe->rows[i] * dim
					   : absent_row(table, probe->keys[i], fallback);

		if (row != NULL)
			memcpy(rows, row, dim * sizeof(float));
		else
			for (size_t d = 0; d < dim; d++)
				rows[d] = table->default_value_no_permission;
		if (fallback != NULL)
			fallback += dim;
	}
}

static void copy_block(const sp_table *table, const sp_index_probe *probe, const float *fallback,
		       float *rows)
{
	switch (table->dim) {
	case 4:
		copy_rows(table, probe, 4, fallback, rows);
		break;
	case 8:
		copy_rows(table, probe, 8, fallback, rows);
		break;
	case 16:
		copy_rows(table, probe, 16, fallback, rows);
		break;
	case 32:
		copy_rows(table, probe, 32, fallback, rows);
		break;
	case 64:
		copy_rows(table, probe, 64, fallback, rows);
		break;
	default:
		copy_rows(table, probe, table->dim, fallback, rows);
		break;
	}
}

/* The keys of block `block`; no block reaches past `count`. */
static size_t block_size(size_t count, size_t block)
{
	size_t left = count - block * SP_INDEX_BLOCK;

	return left < SP_INDEX_BLOCK ? left : SP_INDEX_BLOCK;
}

sp_status sp_table_lookup(const sp_table *table, const int64_t *keys, size_t count,
			  const float *fallback, float *rows, sp_error *err)
{
	size_t blocks = count / SP_INDEX_BLOCK + (count % SP_INDEX_BLOCK != 0);
	sp_index_probe ring[STAGES];

	(void)err;
	/* In turn t, stage s has block t - s; below 0 and past the end there is none. */
	for (size_t t = 0; blocks != 0 && t < blocks + STAGES - 1; t++) {
		if (t < blocks)
			sp_index_probe_start(&table->index, &ring[t % STAGES],
					     keys + t * SP_INDEX_BLOCK, block_size(count, t));
		if (t >= 1 && t - 1 < blocks)
			find_first(table, &ring[(t - 1) % STAGES]);
		if (t >= 2 && t - 2 < blocks)
			find_second(table, &ring[(t - 2) % STAGES]);
		if (t >= 3) {
			size_t first = (t - 3) * SP_INDEX_BLOCK;

			copy_block(table, &ring[(t - 3) % STAGES],
				   fallback != NULL ? fallback + first * table->dim : NULL,
				   rows + first * table->dim);
		}
	}
	return SP_OK;
}

void sp_table_contains(const sp_table *table, const int64_t *keys, size_t count, bool *found)
{
	for (size_t block = 0; block * SP_INDEX_BLOCK < count; block++) {
		size_t first = block * SP_INDEX_BLOCK;
		sp_index_probe probe;

		sp_index_probe_start(&table->index, &probe, keys + first, block_size(count, block));
		sp_index_probe_first(&table->index, &probe);
		sp_index_probe_second(&table->index, &probe);
		for (size_t i = 0; i < probe.count; i++)
			found[first + i] = probe.rows[i] != SP_INDEX_NONE;
	}
}
