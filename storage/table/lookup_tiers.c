#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/size.h"
#include "storage/table/lookup_internal.h"

/*
 * Lookups of which some have a slower tier: memory answers what it can, writing
 * down what it lacks; then each kind of tier is asked once for all tables, and
 * what is in none of them is answered as absent.  Rows that are to be pooled are
 * gathered into scratch first, because their sum follows the order of the keys.
 */

enum { ALIGN = 64 };

/* Scratch as it is handed out, or only counted where `at` is NULL. */
typedef struct carver {
	char *at;
	size_t used; /* SIZE_MAX when it is more than can be counted */
} carver;

static void *carve(carver *c, size_t count, size_t size)
{
	size_t start = c->used, end;

	if (c->used == SIZE_MAX || !sp_size_mul(&size, count, size) ||
	    !sp_size_round_up(&size, size, ALIGN) || !sp_size_add(&end, start, size)) {
		c->used = SIZE_MAX;
		return NULL;
	}
	c->used = end;
	return c->at != NULL ? c->at + start : NULL;
}

typedef struct work {
	sp_lookup *lookups; /* as memory sees them: pooling is undone */
	sp_misses *misses;
	bool **found; /* for each lookup, which of its misses the tier had */
	sp_tier_read *reads;
	float *lanes;
	void *tier_scratch;
} work;

static bool has_tier(const sp_lookup *lookup)
{
	return lookup->table->below != NULL;
}

/* What is needed for one lookup with a tier. */
static void carve_lookup(carver *c, work *w, const sp_lookup *lookup, size_t i)
{
	size_t dim = lookup->table->rules->dim, row_size = dim * sizeof(float);
	sp_misses misses = {.keys = carve(c, lookup->count, sizeof(*misses.keys)),
			    .places = carve(c, lookup->count, sizeof(*misses.places)),
			    .at = carve(c, lookup->count, sizeof(*misses.at))};
	bool *found = carve(c, lookup->count, sizeof(*found));
	float *rows = lookup->pooling != NULL ? carve(c, lookup->count, row_size) : lookup->rows;

	if (c->at == NULL)
		return;
	w->misses[i] = misses;
	w->found[i] = found;
	if (lookup->pooling == NULL)
		return;
	w->lookups[i].pooling = NULL;
	w->lookups[i].rows = rows;
	w->lookups[i].stride = dim;
}

static void carve_all(carver *c, work *w, const sp_lookup *lookups, size_t count)
{
	size_t tier_scratch = 0;

	w->lookups = carve(c, count, sizeof(*w->lookups));
	w->misses = carve(c, count, sizeof(*w->misses));
	w->found = carve(c, count, sizeof(*w->found));
	w->reads = carve(c, count, sizeof(*w->reads));
	w->lanes = carve(c, sp_row_pool__lanes(lookups, count), sizeof(*w->lanes));
	if (c->at != NULL) {
		memcpy(w->lookups, lookups, count * sizeof(*lookups));
		memset(w->misses, 0, count * sizeof(*w->misses));
	}
	for (size_t i = 0; i < count; i++) {
		const sp_tier *tier = lookups[i].table->below;

		if (tier == NULL)
			continue;
		carve_lookup(c, w, &lookups[i], i);
		if (!sp_size_add(&tier_scratch, tier_scratch,
				 tier->kind->scratch(tier, lookups[i].count)))
			c->used = SIZE_MAX;
	}
	w->tier_scratch = carve(c, tier_scratch, 1);
}

size_t sp_lookup_scratch(const sp_lookup *lookups, size_t count)
{
	carver c = {0};
	bool tiers = false;
	work w;

	for (size_t i = 0; i < count; i++)
		tiers = tiers || has_tier(&lookups[i]);
	if (tiers)
		carve_all(&c, &w, lookups, count);
	else
		carve(&c, sp_row_pool__lanes(lookups, count), sizeof(float));
	return c.used;
}

/* Asks all tiers of one kind together; *asked is how many lookups they belong to. */
static sp_status read_kind(work *w, size_t count, const sp_tier_kind *kind, int64_t deadline_ns,
			   sp_error *err)
{
	size_t reads = 0;

	for (size_t i = 0; i < count; i++) {
		sp_tier *tier = w->lookups[i].table->below;
		const sp_misses *misses = &w->misses[i];

		if (tier != NULL && tier->kind == kind && misses->count != 0)
			w->reads[reads++] = (sp_tier_read){.tier = tier,
							   .keys = misses->keys,
							   .count = misses->count,
							   .rows = misses->places,
							   .found = w->found[i]};
	}
	return kind->read(w->reads, reads, w->tier_scratch, deadline_ns, err);
}

/* Whether a lookup before this one has had the same kind of tier asked. */
static bool was_asked(const work *w, size_t i)
{
	const sp_tier_kind *kind = w->lookups[i].table->below->kind;

	for (size_t j = 0; j < i; j++)
		if (w->misses[j].count != 0 && w->lookups[j].table->below->kind == kind)
			return true;
	return false;
}

static sp_status read_all(work *w, size_t count, int64_t deadline_ns, sp_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (w->misses[i].count != 0 && !was_asked(w, i))
			SP_TRY(read_kind(w, count, w->lookups[i].table->below->kind, deadline_ns,
					 err));
	return SP_OK;
}

static void answer_absent(const sp_lookup *lookup, const sp_misses *misses, const bool *found)
{
	const sp_table_rules *rules = lookup->table->rules;

	for (size_t m = 0; m < misses->count; m++) {
		const float *fallback = lookup->fallback != NULL
						? lookup->fallback + misses->at[m] * rules->dim
						: NULL;

		if (!found[m])
			memcpy(misses->places[m],
			       sp_table__absent_row(rules, misses->keys[m], fallback),
			       rules->dim * sizeof(float));
	}
}

static void count_in_memory(const work *w, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has_tier(&w->lookups[i]))
			atomic_fetch_add_explicit(&w->lookups[i].table->rules->in_memory,
						  w->lookups[i].count - w->misses[i].count,
						  memory_order_relaxed);
}

sp_status sp_lookup__run_with_tiers(const sp_lookup *lookups, size_t count, void *scratch,
				    int64_t deadline_ns, sp_error *err)
{
	carver c = {.at = scratch};
	work w;

	carve_all(&c, &w, lookups, count);
	sp_lookup__run_in_memory(w.lookups, count, w.misses, w.lanes);
	count_in_memory(&w, count);
	SP_TRY(read_all(&w, count, deadline_ns, err));
	for (size_t i = 0; i < count; i++) {
		answer_absent(&lookups[i], &w.misses[i], w.found[i]);
		if (has_tier(&lookups[i]) && lookups[i].pooling != NULL)
			sp_lookup__pool(&lookups[i], w.lookups[i].rows, w.lanes);
	}
	return SP_OK;
}

/* --------------------------------------------------------------- locating */

/* What is needed to ask the slower tier where keys are; its rows are written and not read. */
typedef struct locating {
	sp_misses misses;
	bool *found;
	float *rows;
	void *tier_scratch;
} locating;

static void carve_locating(carver *c, locating *l, const sp_table *table, size_t count)
{
	size_t tier_scratch = table->below->kind->scratch(table->below, count);

	l->misses = (sp_misses){.keys = carve(c, count, sizeof(*l->misses.keys)),
				.places = carve(c, count, sizeof(*l->misses.places)),
				.at = carve(c, count, sizeof(*l->misses.at))};
	l->found = carve(c, count, sizeof(*l->found));
	l->rows = carve(c, count, table->rules->dim * sizeof(*l->rows));
	l->tier_scratch = carve(c, tier_scratch, 1);
}

size_t sp_table_locate_scratch(const sp_table *table, size_t count)
{
	carver c = {0};
	locating l;

	if (table->below != NULL)
		carve_locating(&c, &l, table, count);
	return c.used;
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
	carver c = {.at = scratch};
	locating l;
	sp_tier_read read;

	carve_locating(&c, &l, table, count);
	for (size_t i = 0; i < count; i++) {
		if (places[i] != SP_TABLE_ABSENT || keys[i] == SP_ROWS_EMPTY_KEY ||
		    keys[i] == SP_ROWS_DELETED_KEY)
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

	SP_TRY(sp_lookup__prepare(&lookup, 1, deadline_ns, err));
	locate_in_memory(table, keys, count, places);
	if (table->below != NULL)
		SP_TRY(locate_below(table, keys, count, places, scratch, deadline_ns, err));
	return sp_lookup__confirm(&lookup, 1, err);
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
		scratch = sp_alloc_aligned(ALIGN, size);
	if (places == NULL || (size != 0 && scratch == NULL))
		status = sp_error_set(err, SP_NO_MEMORY, "no memory to locate %zu keys", count);
	else
		status = sp_table_locate(table, keys, count, places, scratch,
					 sp_clock_now_ns() + SP_TABLE_PATIENCE_NS, err);
	for (size_t i = 0; status == SP_OK && i < count; i++)
		found[i] = places[i] != SP_TABLE_ABSENT;
	sp_free(places);
	sp_free(scratch);
	return status;
}
