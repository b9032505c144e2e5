#include "model_loader/embedding/row_merge.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"

bool sp_row_merge_is_needed(const sp_load_policy *policy, const sp_table *full)
{
	if (full == NULL)
		return policy->only_finite;
	return policy->only_finite || sp_load_policy_compares_rows(policy);
}

/* One piece of a delta, and the rows that the table has for its keys. */
typedef struct work {
	bool *known;
	int64_t *keys;
	float *rows;
	float *old;
} work;

static void work_fini(work *w)
{
	sp_free(w->known);
	sp_free(w->keys);
	sp_free(w->rows);
	sp_free(w->old);
}

static sp_status work_init(work *w, const sp_row_merge *merge, const sp_row_piece *piece,
			   sp_error *err)
{
	size_t floats = 0;
	sp_status status;
	bool counted = sp_size_mul(&floats, piece->count, merge->dim) &&
		       sp_size_mul(&floats, floats, sizeof(float));

	*w = (work){.known = sp_alloc(piece->count + 1),
		    .keys = sp_alloc((piece->count + 1) * sizeof(int64_t))};
	if (counted && piece->rows != NULL) {
		w->rows = sp_alloc(floats + 1);
		w->old = sp_alloc(floats + 1);
	}
	if (w->known == NULL || w->keys == NULL || !counted ||
	    (piece->rows != NULL && (w->rows == NULL || w->old == NULL))) {
		work_fini(w);
		return sp_no_memory(err, "merging %zu rows", piece->count);
	}
	memcpy(w->keys, piece->keys, piece->count * sizeof(int64_t));
	status = sp_table_contains(merge->full, w->keys, piece->count, w->known, err);
	if (status != SP_OK)
		work_fini(w);
	return status;
}

/* A row is not stale if either version is unknown. */
static bool is_stale(const sp_row_merge *merge, int64_t key)
{
	int64_t delta = 0, full = 0;

	if (merge->delta_versions == NULL || merge->full_versions == NULL)
		return false;
	sp_key_column_read(merge->delta_versions, &key, 1, &delta);
	sp_key_column_read(merge->full_versions, &key, 1, &full);
	return delta != 0 && full != 0 && delta <= full;
}

/* Whether the policy leaves out rows. */
static bool chooses(const sp_row_merge *merge)
{
	return merge->policy->ignore_new_keys ||
	       (merge->delta_versions != NULL && merge->full_versions != NULL);
}

/*
 * Leaves out new keys, if the policy ignores them, and rows of known keys that are not newer than
 * the full checkpoint's.  Both passes decide alike.
 */
static void drop_unwanted(const sp_row_merge *merge, work *w, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (w->known[i] ? is_stale(merge, w->keys[i]) : merge->policy->ignore_new_keys) {
			w->keys[i] = -1;
			w->known[i] = false;
		}
}

/* ------------------------------------------------------------------- keys */

static sp_status add_keys(void *context, const sp_row_piece *piece, sp_error *err)
{
	sp_row_merge *merge = context;
	sp_row_piece wanted = *piece;
	size_t fresh = 0;
	sp_status status;
	work w;

	if (merge->full == NULL)
		return merge->next.add_keys(merge->next.context, piece, err);
	SP_TRY(work_init(&w, merge, piece, err));
	for (size_t i = 0; i < piece->count; i++)
		fresh += !w.known[i] && !sp_key_is_mark(w.keys[i]);
	atomic_fetch_add_explicit(&merge->fresh, fresh, memory_order_relaxed);
	drop_unwanted(merge, &w, piece->count);
	wanted.keys = w.keys;
	status = merge->next.add_keys(merge->next.context, &wanted, err);
	work_fini(&w);
	return status;
}

static sp_status start_rows(void *context, bool *in_order, sp_error *err)
{
	sp_row_merge *merge = context;

	return merge->next.start_rows(merge->next.context, in_order, err);
}

/* ------------------------------------------------------------------- rows */

static sp_status check_finite(const sp_row_piece *piece, size_t dim, sp_error *err)
{
	const char *at = piece->rows;

	for (size_t i = 0; i < piece->count; i++)
		for (size_t d = 0; d < dim; d++, at += sizeof(float)) {
			float value;

			memcpy(&value, at, sizeof(value));
			if (!isfinite(value) && !sp_key_is_mark(piece->keys[i]))
				return sp_error_set(err, SP_CORRUPT,
						    "the row of key %lld is not finite",
						    (long long)piece->keys[i]);
		}
	return SP_OK;
}

static void blend(sp_row_merge *merge, work *w, size_t count)
{
	bool keeps = merge->policy->old_key == SP_OLD_KEY_BLEND;
	float kept = keeps ? (float)merge->policy->old_percent / 100.0f : 0;
	double change = 0, before = 0;

	for (size_t i = 0; i < count; i++) {
		float *row = w->rows + i * merge->dim;
		const float *old = w->old + i * merge->dim;

		for (size_t d = 0; w->known[i] && d < merge->dim; d++) {
			if (kept != 0)
				row[d] = kept * old[d] + (1 - kept) * row[d];
			change += ((double)row[d] - old[d]) * ((double)row[d] - old[d]);
			before += (double)old[d] * old[d];
		}
	}
	pthread_mutex_lock(&merge->lock);
	merge->change += change;
	merge->before += before;
	pthread_mutex_unlock(&merge->lock);
}

static bool blends(const sp_row_merge *merge)
{
	return merge->policy->old_key == SP_OLD_KEY_BLEND || merge->policy->max_drift_percent != 0;
}

static sp_status put_merged(sp_row_merge *merge, const sp_row_piece *piece, sp_error *err)
{
	sp_row_piece merged = *piece;
	sp_status status = SP_OK;
	work w;

	SP_TRY(work_init(&w, merge, piece, err));
	drop_unwanted(merge, &w, piece->count);
	merged.keys = w.keys;
	if (blends(merge)) {
		memcpy(w.rows, piece->rows, piece->count * merge->dim * sizeof(float));
		status = sp_table_lookup(merge->full, w.keys, piece->count, NULL, w.old, err);
		if (status == SP_OK)
			blend(merge, &w, piece->count);
		merged.rows = w.rows;
	}
	if (status == SP_OK)
		status = merge->next.put_rows(merge->next.context, &merged, err);
	work_fini(&w);
	return status;
}

static sp_status put_rows(void *context, const sp_row_piece *piece, sp_error *err)
{
	sp_row_merge *merge = context;

	if (merge->policy->only_finite)
		SP_TRY(check_finite(piece, merge->dim, err));
	if (merge->full != NULL && (chooses(merge) || blends(merge)))
		return put_merged(merge, piece, err);
	return merge->next.put_rows(merge->next.context, piece, err);
}

/* ------------------------------------------------------------------ guards */

void sp_row_merge_init(sp_row_merge *merge, const sp_row_sink *next, size_t dim,
		       const sp_load_policy *policy, const sp_table *full)
{
	*merge = (sp_row_merge){.next = *next, .policy = policy, .full = full, .dim = dim};
	pthread_mutex_init(&merge->lock, NULL);
}

sp_status sp_row_merge_use_versions(sp_row_merge *merge, const sp_key_column *full,
				    const sp_embedding_rows *delta, sp_error *err)
{
	merge->full_versions = full;
	if (full == NULL)
		return SP_OK;
	return sp_row_versions_create(&merge->delta_versions, delta, true, merge->policy->threads,
				      err);
}

void sp_row_merge_fini(sp_row_merge *merge)
{
	sp_key_column_release(merge->delta_versions);
	pthread_mutex_destroy(&merge->lock);
}

sp_row_sink sp_row_merge_sink(sp_row_merge *merge)
{
	return (sp_row_sink){.context = merge,
			     .wants_freqs = merge->next.wants_freqs,
			     .add_keys = merge->next.add_keys != NULL ? add_keys : NULL,
			     .start_rows = merge->next.start_rows != NULL ? start_rows : NULL,
			     .put_rows = put_rows};
}

sp_status sp_row_merge_check(sp_row_merge *merge, sp_error *err)
{
	const sp_load_policy *policy = merge->policy;
	size_t rows = merge->full != NULL ? sp_table_row_count(merge->full) : 0;
	double new_percent = 100.0 * (double)merge->fresh / (double)(rows != 0 ? rows : 1);
	double drift = merge->before > 0 ? 100 * sqrt(merge->change / merge->before) : 0;

	if (merge->full == NULL)
		return SP_OK;
	if (policy->max_new_percent != 0 && new_percent > (double)policy->max_new_percent)
		return sp_error_set(err, SP_CORRUPT,
				    "a delta adds %zu keys to %zu, more than the %lld %% that "
				    "update_max_new_percent allows",
				    merge->fresh, rows, (long long)policy->max_new_percent);
	if (policy->max_drift_percent != 0 && drift > (double)policy->max_drift_percent)
		return sp_error_set(
			err, SP_CORRUPT,
			"a delta moves its rows by %.0f %% of their size, more than the "
			"%lld %% that update_max_drift_percent allows",
			drift, (long long)policy->max_drift_percent);
	return SP_OK;
}
