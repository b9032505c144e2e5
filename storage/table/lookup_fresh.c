#include <string.h>

#include "storage/scratch.h"
#include "storage/table/lookup_internal.h"

/*
 * Lookups of which some may see rows that arrive while the tables are in use.  All layers answer
 * first; then the rows that the view has replace theirs.  Rows for pooling are gathered into
 * scratch, because they are summed in the order of the keys.
 */

typedef struct work {
	sp_lookup
		*lookups; /* copies; those with such rows and pooling gather into scratch instead */
	void *layers_scratch;
} work;

static void lay_out(sp_scratch *s, work *w, const sp_lookup *lookups, size_t count)
{
	w->lookups = sp_scratch_take(s, count, sizeof(*w->lookups));
	if (s->base != NULL)
		memcpy(w->lookups, lookups, count * sizeof(*lookups));
	for (size_t i = 0; i < count; i++) {
		size_t dim = lookups[i].table->rules->dim;
		float *rows;

		if (sp_lookup__fresh(&lookups[i]) == NULL || lookups[i].pooling == NULL)
			continue;
		rows = sp_scratch_take(s, lookups[i].count, dim * sizeof(*rows));
		if (s->base == NULL)
			continue;
		w->lookups[i].pooling = NULL;
		w->lookups[i].rows = rows;
		w->lookups[i].stride = dim;
	}
	w->layers_scratch = sp_scratch_take(s, sp_lookup__layers_scratch(lookups, count), 1);
}

size_t sp_lookup_scratch(const sp_lookup *lookups, size_t count)
{
	sp_scratch s = {0};
	work w;

	for (size_t i = 0; i < count; i++)
		if (sp_lookup__fresh(&lookups[i]) != NULL) {
			lay_out(&s, &w, lookups, count);
			return s.used;
		}
	return sp_lookup__layers_scratch(lookups, count);
}

/* Replaces the rows of keys that the view has. */
static void replace_rows(const sp_lookup *lookup, const sp_fresh_rows *rows)
{
	const float *found[SP_FRESH_BLOCK];
	size_t row_size = lookup->table->rules->dim * sizeof(float);

	for (size_t i = 0; i < lookup->count; i += SP_FRESH_BLOCK) {
		size_t left = lookup->count - i, n = left < SP_FRESH_BLOCK ? left : SP_FRESH_BLOCK;

		sp_fresh_find(rows, lookup->fresh, lookup->keys + i, n, found);
		for (size_t k = 0; k < n; k++)
			if (found[k] != NULL)
				memcpy(lookup->rows + (i + k) * lookup->stride, found[k], row_size);
	}
}

static void pool(const sp_lookup *lookup, const float *rows)
{
	size_t row_size = lookup->table->rules->dim * sizeof(*rows);
	sp_stored_row stored = {rows, sp_row_codec_find(SP_ROW_FP32)};
	float divisor = 0;

	sp_lookup__clear_pools(lookup);
	sp_lookup__pool_rows(lookup, 0, lookup->count, stored, row_size, &divisor);
}

sp_status sp_lookup__run_with_fresh(const sp_lookup *lookups, size_t count, void *scratch,
				    int64_t deadline_ns, sp_error *err)
{
	sp_scratch s = {.base = scratch};
	work w;

	lay_out(&s, &w, lookups, count);
	SP_TRY(sp_lookup__run_layers(w.lookups, count, w.layers_scratch, deadline_ns, err));
	for (size_t i = 0; i < count; i++) {
		const sp_fresh_rows *rows = sp_lookup__fresh(&lookups[i]);

		if (rows == NULL)
			continue;
		replace_rows(&w.lookups[i], rows);
		if (lookups[i].pooling != NULL)
			pool(&lookups[i], w.lookups[i].rows);
	}
	return SP_OK;
}
