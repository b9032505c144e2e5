#include "storage/table_builder.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "storage/table_internal.h"

/*
 * Rows arrive behind the last one that stays, and committing them is entering
 * their keys into the index: a row whose key is new moves down over the gap
 * that dropped and repeated ones have left, a row whose key is there goes over
 * the older one.  So rows are dense at every moment, and the keys themselves
 * are kept nowhere but in the index.
 */

struct sp_table_builder {
	sp_table *table;
	size_t row_capacity;
	sp_region keys; /* those that are reserved and not yet committed */
	size_t reserved;
	size_t dropped;
};

/* Rows that sp_table_builder_add() copies at a time. */
enum { ADD_PIECE = 4096 };

static sp_status no_memory(const sp_table *table, sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu rows of table '%s'", table->count,
			    table->name);
}

static bool resize_rows(sp_table_builder *builder, size_t capacity)
{
	sp_table *table = builder->table;
	size_t size;

	if (!sp_size_mul(&size, capacity, table->dim) || !sp_size_mul(&size, size, sizeof(float)) ||
	    !sp_region_resize(&table->rows, size))
		return false;
	builder->row_capacity = capacity;
	return true;
}

static sp_status copy_defaults(sp_table *table, const sp_table_options *options, sp_error *err)
{
	size_t count = options->default_rows != NULL ? options->default_row_count : 1, size;

	if (table->filter != SP_TABLE_FILTER_NONE)
		return SP_OK;
	if (count == 0)
		return sp_error_set(err, SP_INVALID, "table '%s' has a default matrix of no rows",
				    table->name);
	if (!sp_size_mul(&size, count, table->dim) || !sp_size_mul(&size, size, sizeof(float)) ||
	    !sp_region_resize(&table->default_rows, size))
		return sp_error_set(err, SP_NO_MEMORY,
				    "no memory for %zu default rows of table '%s'", count,
				    table->name);
	if (options->default_rows != NULL)
		memcpy(table->default_rows.data, options->default_rows, size);
	else
		memset(table->default_rows.data, 0, size);
	table->default_row_count = count;
	return SP_OK;
}

static sp_status fill(sp_table_builder *builder, const sp_table_options *options, sp_error *err)
{
	sp_table *table = builder->table = sp_alloc_zero(1, sizeof(*table));

	if (table == NULL || (table->name = sp_alloc_text(options->name)) == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for table '%s'", options->name);
	if (options->dim == 0 || options->dim > SIZE_MAX / SP_INDEX_MAX_ROWS / sizeof(float))
		return sp_error_set(err, SP_INVALID, "table '%s' has rows of %zu elements",
				    table->name, options->dim);
	table->dim = options->dim;
	table->filter = options->filter;
	table->default_value_no_permission = options->default_value_no_permission;
	SP_TRY(copy_defaults(table, options, err));
	SP_TRY(sp_index_init(&table->index, options->expected_rows, err));
	if (!resize_rows(builder, options->expected_rows))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu rows of table '%s'",
				    options->expected_rows, table->name);
	return SP_OK;
}

sp_status sp_table_builder_create(sp_table_builder **out, const sp_table_options *options,
				  sp_error *err)
{
	sp_table_builder *builder = sp_alloc_zero(1, sizeof(*builder));
	sp_status status;

	if (builder == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for table '%s'", options->name);
	status = fill(builder, options, err);
	if (status != SP_OK) {
		sp_table_builder_destroy(builder);
		return status;
	}
	*out = builder;
	return SP_OK;
}

void sp_table_builder_destroy(sp_table_builder *builder)
{
	if (builder == NULL)
		return;
	sp_table_destroy(builder->table);
	sp_region_fini(&builder->keys);
	sp_free(builder);
}

size_t sp_table_builder_dropped(const sp_table_builder *builder)
{
	return builder->dropped;
}

sp_status sp_table_builder_reserve(sp_table_builder *builder, size_t count, int64_t **keys,
				   float **rows, sp_error *err)
{
	sp_table *table = builder->table;
	size_t needed, size, grown = builder->row_capacity + builder->row_capacity / 2;

	if (!sp_size_add(&needed, table->count, count) || needed > SP_INDEX_MAX_ROWS)
		return sp_error_set(err, SP_UNSUPPORTED, "table '%s' has more than %u rows",
				    table->name, SP_INDEX_MAX_ROWS);
	if (!sp_size_mul(&size, count, sizeof(**keys)) ||
	    (size > builder->keys.size && !sp_region_resize(&builder->keys, size)) ||
	    (needed > builder->row_capacity &&
	     !resize_rows(builder, needed > grown ? needed : grown)))
		return no_memory(table, err);
	builder->reserved = count;
	*keys = builder->keys.data;
	*rows = (float *)table->rows.data + table->count * table->dim;
	return SP_OK;
}

/* Row `from` becomes the row of `key`: it is either the next row or over an older one. */
static sp_status enter(sp_table *table, int64_t key, const float *from, sp_error *err)
{
	float *rows = table->rows.data, *to;
	uint32_t held;

	SP_TRY(sp_index_add(&table->index, key, (uint32_t)table->count, &held, err));
	to = rows + held * table->dim;
	if (held == table->count)
		table->count++;
	if (to != from)
		memcpy(to, from, table->dim * sizeof(float));
	return SP_OK;
}

sp_status sp_table_builder_commit(sp_table_builder *builder, size_t count, sp_error *err)
{
	sp_table *table = builder->table;
	const int64_t *keys = builder->keys.data;
	size_t first = table->count;

	assert(count <= builder->reserved);
	builder->reserved = 0;
	for (size_t i = 0; i < count; i++) {
		sp_index_probe ahead;

		if (i % SP_INDEX_BLOCK == 0)
			sp_index_probe_start(&table->index, &ahead, keys + i,
					     count - i < SP_INDEX_BLOCK ? count - i
									: SP_INDEX_BLOCK);
		if (keys[i] == SP_INDEX_EMPTY_KEY || keys[i] == SP_INDEX_DELETED_KEY)
			builder->dropped++;
		else
			SP_TRY(enter(table, keys[i],
				     (const float *)table->rows.data + (first + i) * table->dim,
				     err));
	}
	return SP_OK;
}

sp_status sp_table_builder_add(sp_table_builder *builder, const int64_t *keys, const float *rows,
			       size_t count, sp_error *err)
{
	size_t dim = builder->table->dim;

	for (size_t done = 0, piece; done < count; done += piece) {
		int64_t *to_keys;
		float *to_rows;

		piece = count - done < ADD_PIECE ? count - done : ADD_PIECE;
		SP_TRY(sp_table_builder_reserve(builder, piece, &to_keys, &to_rows, err));
		memcpy(to_keys, keys + done, piece * sizeof(*keys));
		memcpy(to_rows, rows + done * dim, piece * dim * sizeof(*rows));
		SP_TRY(sp_table_builder_commit(builder, piece, err));
	}
	return SP_OK;
}

sp_status sp_table_builder_freeze(sp_table_builder *builder, sp_table **out, sp_error *err)
{
	sp_table *table = builder->table;

	SP_TRY(sp_index_shrink(&table->index, err));
	if (!resize_rows(builder, table->count))
		return no_memory(table, err);
	builder->table = NULL;
	*out = table;
	return SP_OK;
}
