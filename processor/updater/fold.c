#include "processor/updater/fold.h"

#include "base/clock.h"
#include "base/log.h"
#include "storage/table/table_builder.h"

enum {
	SLOTS = 8192, /* of a table, per step */
	NS_PER_MS = 1000000,
	WAIT_MS = 5, /* between two polls of another thread's work */
};

void sp_fold_stop(sp_fold *fold)
{
	sp_layers_fold_destroy(fold->layers);
	fold->layers = NULL;
}

void sp_fold_schedule(sp_fold *fold, const sp_config *config, const sp_versions *versions)
{
	double seconds = config->update_fold_after_seconds;

	sp_fold_stop(fold);
	*fold = (sp_fold){.told_obstacle = fold->told_obstacle};
	if (seconds != 0 && versions->live->delta_prefix != NULL &&
	    !sp_load_policy_compares_rows(&config->embeddings))
		fold->due_ns = sp_clock_now_ns() + (int64_t)(seconds * 1000 * NS_PER_MS);
}

static sp_layers_fold_options options_of(const sp_config *config)
{
	return (sp_layers_fold_options){.threads = config->embeddings.threads,
					.rows_per_second = config->embeddings.rows_per_second,
					.from_image = config->update_fold_image};
}

/* Rows below a table's overlay. */
static size_t rows_below(const sp_table_layers *layers)
{
	if (layers->below != NULL)
		return layers->below->row_count;
	return layers->base != NULL ? sp_rows_get_shape(layers->base)->row_count : 0;
}

static bool is_worth_it(const sp_config *config, const sp_table_layers *layers)
{
	double over;

	if (layers->overlay == NULL || (layers->base == NULL && layers->below == NULL))
		return false;
	over = (double)sp_rows_get_shape(layers->overlay)->row_count;
	return over != 0 &&
	       100 * over >= (double)rows_below(layers) * (double)config->update_fold_min_percent;
}

/* Whether the new rows fit in memory beside all versions, including the previous one. */
static bool fits(const sp_versions *versions, const sp_table *table, const sp_table_layers *layers)
{
	size_t left = sp_versions_memory_left(versions), cost = sp_layers_fold_cost(layers);

	if (left == 0 || cost <= left)
		return true;
	sp_log(SP_LOG_INFO,
	       "a delta on table '%s' is not folded: that takes up to %zu MB, and %zu MB are left "
	       "of model_update_memory_mb",
	       sp_table_name(table), (cost >> 20) + 1, left >> 20);
	return false;
}

/* Moves fold->table to the next table to fold; false: none is left. */
static bool find_table(sp_fold *fold, const sp_config *config, const sp_versions *versions)
{
	const sp_layers_fold_options options = options_of(config);
	const sp_weights *weights = versions->live->weights;

	for (; fold->table < sp_weights_table_count(weights); fold->table++) {
		const sp_table *table = sp_weights_table(weights, fold->table);
		sp_table_layers layers = sp_table_get_layers(table);
		const char *obstacle;

		if (!is_worth_it(config, &layers))
			continue;
		obstacle = sp_layers_fold_obstacle(&layers, &options);
		if (obstacle == NULL && fits(versions, table, &layers))
			return true;
		/* Logged once: it is the same for every delta. */
		if (obstacle != NULL && !fold->told_obstacle) {
			sp_log(SP_LOG_INFO, "deltas on table '%s' are not folded: its rows are %s",
			       sp_table_name(table), obstacle);
			fold->told_obstacle = true;
		}
	}
	return false;
}

static sp_status publish(sp_fold *fold, sp_versions *versions, sp_error *err)
{
	sp_version *live = versions->live, *version;
	const sp_table *table = sp_weights_table(live->weights, fold->table);
	sp_table_layers layers = sp_table_get_layers(table);
	sp_table *folded;
	sp_status status;
	int64_t took_ns;

	SP_TRY(sp_layers_fold_freeze(fold->layers, &folded, err));
	status = sp_version_open_folded(&version, live, fold->table, folded, err);
	sp_table_destroy(folded);
	if (status != SP_OK)
		return status;
	took_ns = sp_clock_now_ns() - fold->began_ns;
	sp_log(SP_LOG_INFO, "%s: %zu rows of %s are folded into %zu of table '%s', in %lld ms",
	       live->checkpoint_prefix, sp_rows_get_shape(layers.overlay)->row_count,
	       live->delta_prefix, rows_below(&layers), sp_table_name(table),
	       (long long)(took_ns / NS_PER_MS));
	sp_catalog_count(versions->catalog, SP_EVENT_FOLD, took_ns);
	sp_layers_fold_adopt(fold->layers);
	sp_fold_stop(fold);
	sp_versions_replace_live(versions, version);
	fold->table++;
	return SP_OK;
}

/* One step; SP_BUSY while requests must end first, SP_NOT_FOUND when all is folded. */
static sp_status step(sp_fold *fold, const sp_config *config, sp_versions *versions, sp_error *err)
{
	const sp_layers_fold_options options = options_of(config);
	int64_t per_second = config->embeddings.rows_per_second, start, now, rest;
	bool done = false;

	if (fold->layers == NULL) {
		if (!find_table(fold, config, versions))
			return SP_NOT_FOUND;
		/*
		 * Wait until only the live version's rows are in use: at most one table is then in
		 * memory twice.
		 */
		sp_versions_drop_previous(versions);
		if (sp_versions_drain(versions))
			return SP_BUSY;
		fold->began_ns = sp_clock_now_ns();
		SP_TRY(sp_layers_fold_create(&fold->layers,
					     sp_weights_table(versions->live->weights, fold->table),
					     &options, err));
	}
	start = sp_clock_now_ns();
	SP_TRY(sp_layers_fold_step(fold->layers, SLOTS, &done, err));
	if (done)
		SP_TRY(publish(fold, versions, err));
	now = sp_clock_now_ns();
	if (fold->layers != NULL && sp_layers_fold_is_busy(fold->layers)) {
		fold->due_ns = now + WAIT_MS * NS_PER_MS;
		return SP_OK;
	}
	rest = per_second != 0 ? SLOTS * 1000 * (int64_t)NS_PER_MS / per_second : 0;
	fold->due_ns = now + (now - start > rest ? now - start : rest);
	return SP_OK;
}

int64_t sp_fold_step(sp_fold *fold, const sp_config *config, sp_versions *versions)
{
	int64_t left;
	sp_status status;
	sp_error why;

	if (fold->due_ns == 0)
		return INT64_MAX;
	if (sp_clock_now_ns() >= fold->due_ns) {
		status = step(fold, config, versions, &why);
		if (status == SP_BUSY)
			return INT64_MAX; /* tried again when versions have drained */
		/* Give up this delta; the next one is tried. */
		if (status != SP_OK) {
			if (status != SP_NOT_FOUND)
				sp_log(SP_LOG_WARNING, "a delta stays as it is: %s", why.text);
			sp_fold_stop(fold);
			fold->due_ns = 0;
			return INT64_MAX;
		}
	}
	left = fold->due_ns - sp_clock_now_ns();
	return left <= 0 ? 0 : left / NS_PER_MS + 1;
}
