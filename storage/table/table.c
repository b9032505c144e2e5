#include "storage/table/table.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "storage/rows/rows_builder.h"
#include "storage/table/table_builder.h"
#include "storage/table/table_internal.h"

size_t sp_table_dim(const sp_table *table)
{
	return table->rules->dim;
}

const char *sp_table_name(const sp_table *table)
{
	return table->rules->name;
}

size_t sp_table_row_count(const sp_table *table)
{
	return table->row_count;
}

static void add_rows(sp_table_memory *memory, const sp_rows *rows)
{
	sp_rows_memory_use use = sp_rows_memory_of(rows);

	memory->rows += use.slots;
	memory->index += use.index;
	memory->mapped += use.mapped;
}

sp_table_memory sp_table_memory_of(const sp_table *table)
{
	sp_table_memory memory = {.rows = sp_region_footprint(&table->rules->default_rows)};

	if (table->overlay != NULL)
		add_rows(&memory, table->overlay);
	if (table->base != NULL)
		add_rows(&memory, table->base);
	if (table->below != NULL)
		memory.tier = table->below->kind->footprint(table->below);
	if (table->folded != NULL)
		memory.index += table->folded->count * sizeof(int64_t);
	for (int c = 0; c < SP_TABLE_COLUMNS; c++)
		memory.index += sp_key_column_footprint(table->columns[c]);
	return memory;
}

size_t sp_table_footprint(const sp_table *table)
{
	sp_table_memory memory = sp_table_memory_of(table);

	return memory.rows + memory.index + memory.tier + memory.mapped;
}

sp_table_counters sp_table_count(const sp_table *table)
{
	const sp_tier *tier = table->below;
	sp_tier_counters c = {0};
	uint64_t in_memory = 0, absent = 0;

	for (size_t i = 0; i < SP_TABLE_TALLIES; i++) {
		sp_table_tally *tally = &table->rules->tallies[i];

		in_memory += atomic_load_explicit(&tally->in_memory, memory_order_relaxed);
		absent += atomic_load_explicit(&tally->absent, memory_order_relaxed);
	}
	if (tier != NULL)
		tier->kind->counters(tier, &c);
	return (sp_table_counters){
		.tier = tier != NULL ? tier->kind->name : NULL,
		.keys = in_memory + c.asked,
		.in_memory = in_memory,
		.cached = c.hot_hits,
		.missed = c.asked - c.hot_hits - c.disk_hits,
		.absent = absent + c.absent,
		.errors = c.errors,
		.bytes_read = c.bytes_read,
		.defaulted = c.defaulted,
		.servers = c.servers,
		.servers_up = c.servers_up,
		.round_trips = c.round_trips,
		.round_trip_ns = c.round_trip_ns,
		.disks = c.disks,
		.disks_up = c.disks_up,
		.disk_hits = c.disk_hits,
		.disk_errors = c.disk_errors,
		.disk_dropped = c.disk_dropped,
	};
}

/* ------------------------------------------------------------------ rules */

static void release_rules(sp_table_rules *rules)
{
	if (rules == NULL ||
	    atomic_fetch_sub_explicit(&rules->references, 1, memory_order_acq_rel) != 1)
		return;
	sp_region_fini(&rules->default_rows);
	sp_free(rules->name);
	sp_free(rules);
}

static sp_status make_defaults(sp_table_rules *rules, const sp_table_options *options,
			       sp_error *err)
{
	bool filtered = rules->filter != SP_TABLE_FILTER_NONE;
	bool copied = !filtered && options->default_rows != NULL;
	size_t count = copied ? options->default_row_count : 1, size;
	float *rows;

	if (count == 0)
		return sp_error_set(err, SP_INVALID, "table '%s' has a default matrix of no rows",
				    rules->name);
	SP_NEED_MEMORY(sp_size_mul(&size, count, rules->dim) &&
			       sp_size_mul(&size, size, sizeof(float)) &&
			       sp_region_resize(&rules->default_rows, size),
		       err, "%zu default rows of table '%s'", count, rules->name);
	rules->default_row_count = count;
	rows = rules->default_rows.data;
	if (copied)
		memcpy(rows, options->default_rows, size);
	else
		for (size_t d = 0; d < rules->dim; d++)
			rows[d] = filtered ? options->default_value_no_permission : 0.0f;
	return SP_OK;
}

static sp_status make_rules(sp_table_rules **out, const sp_table_options *options, sp_error *err)
{
	sp_table_rules *rules = *out = sp_alloc_aligned(_Alignof(sp_table_rules), sizeof(*rules));

	SP_NEED_MEMORY(rules, err, "table '%s'", options->name);
	memset(rules, 0, sizeof(*rules));
	atomic_init(&rules->references, 1);
	rules->name = sp_alloc_text(options->name);
	SP_NEED_MEMORY(rules->name, err, "table '%s'", options->name);
	if (options->dim == 0 || options->dim > SP_ROWS_MAX_DIM)
		return sp_error_set(err, SP_INVALID, "table '%s' has rows of %zu elements",
				    rules->name, options->dim);
	rules->dim = options->dim;
	rules->filter = options->filter;
	return make_defaults(rules, options, err);
}

/* ----------------------------------------------------------------- tables */

/* Counts the keys of a block that `rows` lacks. */
static size_t count_absent(const sp_rows *rows, const int64_t *keys, size_t count)
{
	bool held[SP_ROWS_BLOCK];
	size_t absent = 0;

	sp_rows__hold(rows, keys, count, held);
	for (size_t i = 0; i < count; i++)
		absent += !held[i];
	return absent;
}

void sp_table_overlay_holds(const sp_table *table, const int64_t *keys, size_t count, bool *held)
{
	if (table->overlay == NULL) {
		memset(held, 0, count * sizeof(*held));
		return;
	}
	for (size_t i = 0; i < count; i += SP_ROWS_BLOCK)
		sp_rows__hold(table->overlay, keys + i,
			      count - i < SP_ROWS_BLOCK ? count - i : SP_ROWS_BLOCK, held + i);
}

/* Counts the keys of `overlay` that `base` lacks. */
static size_t count_new(const sp_rows *overlay, const sp_rows *base)
{
	int64_t keys[SP_ROWS_BLOCK] = {0};
	size_t count = 0, waiting = 0;
	sp_stored_row row;

	if (overlay == NULL || base == NULL)
		return overlay != NULL ? overlay->shape.row_count : 0;
	for (size_t s = 0; s < overlay->shape.placement.slot_count; s++) {
		if (sp_rows_at(overlay, s, &keys[waiting], &row))
			waiting++;
		if (waiting == SP_ROWS_BLOCK) {
			count += count_absent(base, keys, waiting);
			waiting = 0;
		}
	}
	return count + count_absent(base, keys, waiting);
}

static sp_status check_dim(const sp_table_rules *rules, size_t dim, sp_error *err)
{
	if (dim != rules->dim)
		return sp_error_set(err, SP_INVALID,
				    "table '%s' has rows of %zu elements and is given rows of %zu",
				    rules->name, rules->dim, dim);
	return SP_OK;
}

/* An overlay over a folded tier contains all the folded keys (check_covers()). */
static size_t count_rows(const sp_table *table)
{
	bool again = table->overlay != NULL && table->below != NULL && table->folded != NULL;

	return count_new(table->overlay, table->base) - (again ? table->folded->count : 0) +
	       (table->base != NULL ? table->base->shape.row_count : 0) +
	       (table->below != NULL ? table->below->row_count : 0);
}

sp_status sp_table_share(sp_table **out, const sp_table *parts, sp_error *err)
{
	sp_table *table = sp_alloc(sizeof(*table));

	SP_NEED_MEMORY(table, err, "table '%s'", parts->rules->name);
	*table = *parts;
	atomic_fetch_add_explicit(&parts->rules->references, 1, memory_order_relaxed);
	sp_rows_retain(parts->overlay);
	sp_rows_retain(parts->base);
	sp_tier_retain(parts->below);
	for (int c = 0; c < SP_TABLE_COLUMNS; c++)
		sp_key_column_retain(parts->columns[c]);
	if (parts->folded != NULL)
		atomic_fetch_add_explicit(&parts->folded->references, 1, memory_order_relaxed);
	*out = table;
	return SP_OK;
}

sp_status sp_table_create(sp_table **out, const sp_table_options *options, sp_rows *base,
			  sp_tier *below, sp_error *err)
{
	sp_table parts = {.base = base, .below = below};
	sp_status status = make_rules(&parts.rules, options, err);

	if (status == SP_OK && base != NULL)
		status = check_dim(parts.rules, base->shape.dim, err);
	if (status == SP_OK && below != NULL)
		status = check_dim(parts.rules, below->dim, err);
	parts.row_count = count_rows(&parts);
	if (status == SP_OK)
		status = sp_table_share(out, &parts, err);
	release_rules(parts.rules);
	return status;
}

sp_table_layers sp_table_get_layers(const sp_table *table)
{
	return (sp_table_layers){table->overlay, table->base, table->below};
}

void sp_table_set_fresh(const sp_table *table, const sp_fresh_rows *fresh)
{
	atomic_store_explicit(&table->rules->fresh, fresh, memory_order_release);
}

/* ------------------------------------------------------------------- columns */

void sp_table_set_column(sp_table *table, sp_table_column which, sp_key_column *column)
{
	sp_key_column_retain(column);
	sp_key_column_release(table->columns[which]);
	table->columns[which] = column;
}

sp_key_column *sp_table_get_column(const sp_table *table, sp_table_column which)
{
	return table->columns[which];
}

bool sp_table_has_column(const sp_table *table, sp_table_column column)
{
	return table->columns[column] != NULL;
}

void sp_table_read_column(const sp_table *table, sp_table_column column, const int64_t *keys,
			  size_t count, int64_t *numbers)
{
	sp_key_column_read(table->columns[column], keys, count, numbers);
}

/* ------------------------------------------------------------------- folding */

static void release_folded(sp_folded_keys *folded)
{
	if (folded != NULL &&
	    atomic_fetch_sub_explicit(&folded->references, 1, memory_order_acq_rel) == 1)
		sp_free(folded);
}

static sp_status check_covers(const sp_table *table, const sp_rows *overlay, sp_error *err)
{
	size_t absent = 0;

	if (table->folded == NULL)
		return SP_OK;
	for (size_t i = 0; overlay != NULL && i < table->folded->count; i += SP_ROWS_BLOCK) {
		size_t left = table->folded->count - i;

		absent += count_absent(overlay, table->folded->keys + i,
				       left < SP_ROWS_BLOCK ? left : SP_ROWS_BLOCK);
	}
	if (overlay == NULL)
		absent = table->folded->count;
	if (absent != 0)
		return sp_error_set(err, SP_NOT_FOUND,
				    "%zu of the %zu keys that were folded into it are not in the "
				    "delta",
				    absent, table->folded->count);
	return SP_OK;
}

sp_status sp_table_with_overlay(sp_table **out, const sp_table *table, sp_rows *overlay,
				sp_error *err)
{
	sp_table parts = *table;

	if (overlay != NULL)
		SP_TRY(check_dim(table->rules, overlay->shape.dim, err));
	SP_TRY(check_covers(table, overlay, err));
	parts.overlay = overlay;
	parts.row_count = count_rows(&parts);
	return sp_table_share(out, &parts, err);
}

/* Lists the keys of `rows`. */
static sp_status list_keys(sp_folded_keys **out, const sp_rows *rows, const char *name,
			   sp_error *err)
{
	sp_folded_keys *list = NULL;
	sp_stored_row row;
	size_t size;

	/* Room for one more: an empty slot's key is written, too, and overwritten by the next. */
	if (sp_size_add(&size, rows->shape.row_count, 1) &&
	    sp_size_mul(&size, size, sizeof(list->keys[0])) &&
	    sp_size_add(&size, size, sizeof(*list)))
		list = *out = sp_alloc(size);
	SP_NEED_MEMORY(list, err, "%zu keys of table '%s'", rows->shape.row_count, name);
	atomic_init(&list->references, 1);
	list->count = 0;
	for (size_t s = 0; s < rows->shape.placement.slot_count; s++)
		list->count += sp_rows_at(rows, s, &list->keys[list->count], &row);
	return SP_OK;
}

sp_status sp_table_fold(sp_table **out, const sp_table *table, sp_rows *base, sp_tier *below,
			sp_error *err)
{
	sp_table parts = *table;
	sp_status status;

	assert(table->overlay != NULL && (base == NULL) != (below == NULL));
	SP_TRY(check_dim(table->rules, base != NULL ? base->shape.dim : below->dim, err));
	SP_TRY(list_keys(&parts.folded, table->overlay, table->rules->name, err));
	parts.overlay = NULL;
	parts.base = base;
	parts.below = below;
	parts.row_count = count_rows(&parts);
	status = sp_table_share(out, &parts, err);
	release_folded(parts.folded);
	return status;
}

bool sp_table_is_folded(const sp_table *table)
{
	return table->folded != NULL;
}

sp_status sp_table_from_rows(sp_table **out, const sp_table_options *options, const int64_t *keys,
			     const float *rows, size_t count, sp_error *err)
{
	sp_rows_options row_options = {
		.name = options->name, .dim = options->dim, .expected_rows = count};
	sp_rows *base;
	sp_status status;

	SP_TRY(sp_rows_create(&base, &row_options, keys, rows, count, err));
	status = sp_table_create(out, options, base, NULL, err);
	sp_rows_release(base);
	return status;
}

void sp_table_destroy(sp_table *table)
{
	if (table == NULL)
		return;
	sp_rows_release(table->overlay);
	sp_rows_release(table->base);
	sp_tier_release(table->below);
	for (int c = 0; c < SP_TABLE_COLUMNS; c++)
		sp_key_column_release(table->columns[c]);
	release_folded(table->folded);
	release_rules(table->rules);
	sp_free(table);
}
