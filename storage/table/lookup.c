#include "base/alloc.h"
#include "base/clock.h"
#include "storage/scratch.h"
#include "storage/table/lookup_internal.h"

static sp_status check_segments(const sp_lookup *lookup, sp_error *err)
{
	const int64_t *segments = lookup->pooling->segments;
	int64_t least = 0;

	for (size_t i = 0; i < lookup->count; i++) {
		if (segments[i] < least || (uint64_t)segments[i] >= lookup->pooling->segment_count)
			return sp_error_set(err, SP_INVALID,
					    "segment %lld of key %zu does not follow %lld or is "
					    "not below %zu",
					    (long long)segments[i], i, (long long)least,
					    lookup->pooling->segment_count);
		least = segments[i];
	}
	return SP_OK;
}

static sp_status prepare_rows(const sp_lookup *lookup, const sp_rows *rows, int64_t deadline_ns,
			      sp_error *err)
{
	if (rows == NULL || rows->guard == NULL)
		return SP_OK;
	return rows->guard->prepare(rows->owner, rows, lookup->keys, lookup->count, deadline_ns,
				    err);
}

static sp_status prepare(const sp_lookup *lookups, size_t count, int64_t deadline_ns, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const sp_table *table = lookups[i].table;
		sp_status status = prepare_rows(&lookups[i], table->overlay, deadline_ns, err);

		if (status == SP_OK)
			status = prepare_rows(&lookups[i], table->base, deadline_ns, err);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "table '%s'", table->rules->name);
	}
	return SP_OK;
}

static sp_status confirm_rows(const sp_rows *rows, sp_error *err)
{
	if (rows == NULL || rows->guard == NULL)
		return SP_OK;
	return rows->guard->confirm(rows->owner, err);
}

static sp_status confirm(const sp_lookup *lookups, size_t count, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const sp_table *table = lookups[i].table;
		sp_status status = confirm_rows(table->overlay, err);

		if (status == SP_OK)
			status = confirm_rows(table->base, err);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "table '%s'", table->rules->name);
	}
	return SP_OK;
}

sp_status sp_lookup_run(const sp_lookup *lookups, size_t count, void *scratch, int64_t deadline_ns,
			sp_error *err)
{
	bool fresh = false;

	for (size_t i = 0; i < count; i++) {
		fresh = fresh || sp_lookup__fresh(&lookups[i]) != NULL;
		if (lookups[i].pooling != NULL)
			SP_TRY(check_segments(&lookups[i], err));
	}
	SP_TRY(prepare(lookups, count, deadline_ns, err));
	if (fresh)
		SP_TRY(sp_lookup__run_with_fresh(lookups, count, scratch, deadline_ns, err));
	else
		SP_TRY(sp_lookup__run_layers(lookups, count, scratch, deadline_ns, err));
	return confirm(lookups, count, err);
}

sp_status sp_table_lookup(const sp_table *table, const int64_t *keys, size_t count,
			  const float *fallback, float *rows, sp_error *err)
{
	sp_lookup lookup = {.table = table,
			    .keys = keys,
			    .count = count,
			    .fallback = fallback,
			    .rows = rows,
			    .stride = table->rules->dim};
	size_t size = sp_lookup_scratch(&lookup, 1);
	void *scratch = NULL;
	sp_status status;

	if (size != 0 && (scratch = sp_alloc_aligned(64, size)) == NULL)
		return sp_no_memory(err, "looking up %zu keys", count);
	status = sp_lookup_run(&lookup, 1, scratch, sp_clock_now_ns() + SP_TABLE_PATIENCE_NS, err);
	sp_free(scratch);
	return status;
}

/* ---- where keys are ---- */

/* Scratch to look up keys in the slower tier; the rows that it writes are not used. */
typedef struct locating {
	sp_misses misses;
	bool *found;
	float *rows;
	void *tier_scratch;
} locating;

static void carve_locating(sp_scratch *s, locating *l, const sp_table *table, size_t count)
{
	size_t tier_scratch = table->below->kind->scratch(table->below, count);

	l->misses = (sp_misses){.keys = sp_scratch_take(s, count, sizeof(*l->misses.keys)),
				.places = sp_scratch_take(s, count, sizeof(*l->misses.places)),
				.at = sp_scratch_take(s, count, sizeof(*l->misses.at))};
	l->found = sp_scratch_take(s, count, sizeof(*l->found));
	l->rows = sp_scratch_take(s, count, table->rules->dim * sizeof(*l->rows));
	l->tier_scratch = sp_scratch_take(s, tier_scratch, 1);
}

size_t sp_table_locate_scratch(const sp_table *table, size_t count)
{
	sp_scratch s = {0};
	locating l;

	if (table->below != NULL)
		carve_locating(&s, &l, table, count);
	return s.used;
}

static bool is_held(const sp_rows *rows, int64_t key)
{
	sp_stored_row row;

	return rows != NULL && sp_rows_find(rows, key, &row);
}

static void locate_in_memory(const sp_table *table, const int64_t *keys, size_t count,
			     int32_t *places)
{
	for (size_t i = 0; i < count; i++)
		places[i] = is_held(table->overlay, keys[i]) || is_held(table->base, keys[i])
				    ? SP_TABLE_IN_MEMORY
				    : SP_TABLE_ABSENT;
}

static sp_status locate_below(const sp_table *table, const int64_t *keys, size_t count,
			      int32_t *places, void *scratch, int64_t deadline_ns, sp_error *err)
{
	sp_scratch s = {.base = scratch};
	locating l;
	sp_tier_read read;

	carve_locating(&s, &l, table, count);
	for (size_t i = 0; i < count; i++) {
		if (places[i] != SP_TABLE_ABSENT || keys[i] == SP_KEY_EMPTY ||
		    keys[i] == SP_KEY_DELETED)
			continue;
		l.misses.keys[l.misses.count] = keys[i];
		l.misses.places[l.misses.count] = l.rows + l.misses.count * table->rules->dim;
		l.misses.at[l.misses.count++] = i;
	}
	if (l.misses.count == 0)
		return SP_OK;
	read = (sp_tier_read){.tier = table->below,
			      .keys = l.misses.keys,
			      .count = l.misses.count,
			      .rows = l.misses.places,
			      .found = l.found};
	SP_TRY(table->below->kind->read(&read, 1, l.tier_scratch, deadline_ns, err));
	for (size_t m = 0; m < l.misses.count; m++)
		if (l.found[m])
			places[l.misses.at[m]] = SP_TABLE_BELOW;
	return SP_OK;
}

sp_status sp_table_locate(const sp_table *table, const int64_t *keys, size_t count, int32_t *places,
			  void *scratch, int64_t deadline_ns, sp_error *err)
{
	const sp_lookup lookup = {.table = table, .keys = keys, .count = count};

	SP_TRY(prepare(&lookup, 1, deadline_ns, err));
	locate_in_memory(table, keys, count, places);
	if (table->below != NULL)
		SP_TRY(locate_below(table, keys, count, places, scratch, deadline_ns, err));
	return confirm(&lookup, 1, err);
}

void sp_table_locate_fresh(const sp_table *table, const sp_fresh_view *fresh, const int64_t *keys,
			   size_t count, int32_t *places)
{
	const sp_lookup lookup = {.table = table, .fresh = fresh};
	const sp_fresh_rows *rows = sp_lookup__fresh(&lookup);
	const float *found[SP_FRESH_BLOCK];

	for (size_t i = 0; rows != NULL && i < count; i += SP_FRESH_BLOCK) {
		size_t n = count - i < SP_FRESH_BLOCK ? count - i : SP_FRESH_BLOCK;

		sp_fresh_find(rows, fresh, keys + i, n, found);
		for (size_t k = 0; k < n; k++)
			if (found[k] != NULL)
				places[i + k] = SP_TABLE_IN_MEMORY;
	}
}

sp_status sp_table_contains(const sp_table *table, const int64_t *keys, size_t count, bool *found,
			    sp_error *err)
{
	size_t size = sp_table_locate_scratch(table, count), places_size;
	int32_t *places = NULL;
	void *scratch = NULL;
	sp_status status;

	if (count == 0)
		return SP_OK;
	if (size != SIZE_MAX && sp_size_mul(&places_size, count, sizeof(*places)))
		places = sp_alloc(places_size);
	if (places != NULL && size != 0)
		scratch = sp_alloc_aligned(SP_SCRATCH_ALIGN, size);
	if (places == NULL || (size != 0 && scratch == NULL))
		status = sp_no_memory(err, "locating %zu keys", count);
	else
		status = sp_table_locate(table, keys, count, places, scratch,
					 sp_clock_now_ns() + SP_TABLE_PATIENCE_NS, err);
	for (size_t i = 0; status == SP_OK && i < count; i++)
		found[i] = places[i] != SP_TABLE_ABSENT;
	sp_free(places);
	sp_free(scratch);
	return status;
}
