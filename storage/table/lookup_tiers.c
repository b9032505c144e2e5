#include <string.h>

#include "storage/scratch.h"
#include "storage/table/lookup_internal.h"

/*
 * Lookups of which some have a slower tier.  Memory answers what it can and lists the other keys;
 * then the tiers are read, once for all tables; keys that no tier has are answered as absent.
 * Rows for pooling are gathered into scratch first, because they are summed in the order of the
 * keys.
 */

typedef struct work {
	sp_lookup *lookups; /* copies; those with tier and pooling gather into scratch instead */
	sp_misses *misses;
	bool **found; /* [misses[i].count] of lookup i: whether the tier has the key */
	sp_tier_read *reads;
	void *tier_scratch;
} work;

static bool has_tier(const sp_lookup *lookup)
{
	return lookup->table->below != NULL;
}

/* Lays out the scratch of one lookup with a tier. */
static void lay_out_lookup(sp_scratch *s, work *w, const sp_lookup *lookup, size_t i)
{
	size_t dim = lookup->table->rules->dim, row_size = dim * sizeof(float);
	sp_misses misses = {.keys = sp_scratch_take(s, lookup->count, sizeof(*misses.keys)),
			    .places = sp_scratch_take(s, lookup->count, sizeof(*misses.places)),
			    .at = sp_scratch_take(s, lookup->count, sizeof(*misses.at))};
	bool *found = sp_scratch_take(s, lookup->count, sizeof(*found));
	float *rows = lookup->pooling != NULL ? sp_scratch_take(s, lookup->count, row_size)
					      : lookup->rows;

	if (s->base == NULL)
		return;
	w->misses[i] = misses;
	w->found[i] = found;
	if (lookup->pooling == NULL)
		return;
	w->lookups[i].pooling = NULL;
	w->lookups[i].rows = rows;
	w->lookups[i].stride = dim;
}

static void lay_out_all(sp_scratch *s, work *w, const sp_lookup *lookups, size_t count)
{
	size_t tier_scratch = 0;

	w->lookups = sp_scratch_take(s, count, sizeof(*w->lookups));
	w->misses = sp_scratch_take(s, count, sizeof(*w->misses));
	w->found = sp_scratch_take(s, count, sizeof(*w->found));
	w->reads = sp_scratch_take(s, count, sizeof(*w->reads));
	if (s->base != NULL) {
		memcpy(w->lookups, lookups, count * sizeof(*lookups));
		memset(w->misses, 0, count * sizeof(*w->misses));
	}
	for (size_t i = 0; i < count; i++) {
		const sp_tier *tier = lookups[i].table->below;

		if (tier == NULL)
			continue;
		lay_out_lookup(s, w, &lookups[i], i);
		if (!sp_size_add(&tier_scratch, tier_scratch,
				 tier->kind->scratch(tier, lookups[i].count)))
			s->used = SIZE_MAX;
	}
	w->tier_scratch = sp_scratch_take(s, tier_scratch, 1);
}

size_t sp_lookup__layers_scratch(const sp_lookup *lookups, size_t count)
{
	sp_scratch s = {0};
	work w;

	for (size_t i = 0; i < count; i++)
		if (has_tier(&lookups[i])) {
			lay_out_all(&s, &w, lookups, count);
			break;
		}
	return s.used;
}

/* Reads all tiers together: they are of one kind. */
static sp_status read_tiers(work *w, size_t count, int64_t deadline_ns, sp_error *err)
{
	size_t reads = 0;

	for (size_t i = 0; i < count; i++)
		if (w->misses[i].count != 0)
			w->reads[reads++] = (sp_tier_read){.tier = w->lookups[i].table->below,
							   .keys = w->misses[i].keys,
							   .count = w->misses[i].count,
							   .rows = w->misses[i].places,
							   .found = w->found[i]};
	if (reads == 0)
		return SP_OK;
	return w->reads->tier->kind->read(w->reads, reads, w->tier_scratch, deadline_ns, err);
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

static void pool(const sp_lookup *lookup, const float *rows)
{
	float divisor = 0;

	sp_lookup__clear_pools(lookup);
	sp_lookup__pool_rows(lookup, 0, lookup->count,
			     (sp_stored_row){rows, sp_row_codec_find(SP_ROW_FP32)},
			     lookup->table->rules->dim * sizeof(*rows), &divisor);
}

static sp_status run_with_tiers(const sp_lookup *lookups, size_t count, void *scratch,
				int64_t deadline_ns, sp_error *err)
{
	sp_scratch s = {.base = scratch};
	work w;

	lay_out_all(&s, &w, lookups, count);
	sp_lookup__run_in_memory(w.lookups, count, w.misses);
	SP_TRY(read_tiers(&w, count, deadline_ns, err));
	for (size_t i = 0; i < count; i++) {
		answer_absent(&lookups[i], &w.misses[i], w.found[i]);
		if (has_tier(&lookups[i]) && lookups[i].pooling != NULL)
			pool(&lookups[i], w.lookups[i].rows);
	}
	return SP_OK;
}

sp_status sp_lookup__run_layers(const sp_lookup *lookups, size_t count, void *scratch,
				int64_t deadline_ns, sp_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (has_tier(&lookups[i]))
			return run_with_tiers(lookups, count, scratch, deadline_ns, err);
	sp_lookup__run_in_memory(lookups, count, NULL);
	return SP_OK;
}
