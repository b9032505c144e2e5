#include "base/clock.h"
#include "base/log.h"
#include "processor/updater/updater_internal.h"
#include "storage/table/table_builder.h"

/*
 * The rows of a delta that has been live for a while are folded into its full
 * checkpoint, so that requests look in one place for them.  The updater's
 * thread makes the new rows of one table at a time, a few at once, and rests for
 * as long as it has worked; in between it looks for newer versions as ever.
 * Then the same version is published with that table folded, and the next one
 * is begun when the last request has left the old rows.
 */

enum {
	SLOTS = 8192, /* that are gone past in a step */
	NS_PER_MS = 1000000,
	WAIT_MS = 5, /* between two looks at what another thread has to end */
};

#define NEVER INT64_MAX

void sp_updater__expect_fold(sp_updater *u)
{
	double seconds = u->config->update_fold_after_seconds;

	sp_updater__stop_fold(u);
	u->fold = (sp_updater_fold){.due_ns = 0};
	if (seconds != 0 && u->live->delta_prefix != NULL &&
	    !sp_load_policy_compares_rows(&u->config->embeddings))
		u->fold.due_ns = sp_clock_now_ns() + (int64_t)(seconds * 1000 * NS_PER_MS);
}

void sp_updater__stop_fold(sp_updater *u)
{
	sp_layers_fold_destroy(u->fold.layers);
	u->fold.layers = NULL;
}

static sp_layers_fold_options options_of(const sp_updater *u)
{
	return (sp_layers_fold_options){.threads = u->config->embeddings.threads,
					.rows_per_second = u->config->embeddings.rows_per_second,
					.from_image = u->config->update_fold_image};
}

/* Of all that a table's overlay lies over. */
static size_t rows_below(const sp_table_layers *layers)
{
	if (layers->below != NULL)
		return layers->below->row_count;
	return layers->base != NULL ? sp_rows_get_shape(layers->base)->row_count : 0;
}

static bool is_worth_it(const sp_updater *u, const sp_table_layers *layers)
{
	double over;

	if (layers->overlay == NULL || (layers->base == NULL && layers->below == NULL))
		return false;
	over = (double)sp_rows_get_shape(layers->overlay)->row_count;
	return over != 0 && 100 * over >= (double)rows_below(layers) *
						  (double)u->config->update_fold_min_percent;
}

/* By what is in memory now, with what a rollback would find there. */
static bool fits(const sp_updater *u, const sp_table *table, const sp_table_layers *layers)
{
	size_t room = sp_updater__room(u), cost = sp_layers_fold_cost(layers);

	if (room == 0 || cost <= room)
		return true;
	sp_log(SP_LOG_INFO,
	       "a delta on table '%s' is not folded: that takes up to %zu MB, and %zu MB are left "
	       "of model_update_memory_mb",
	       sp_table_name(table), (cost >> 20) + 1, room >> 20);
	return false;
}

/* Once is enough: it is so for every delta. */
static void tell_obstacle(sp_updater *u, const sp_table *table, const char *why)
{
	if (!u->told_obstacle)
		sp_log(SP_LOG_INFO, "deltas on table '%s' are not folded: its rows are %s",
		       sp_table_name(table), why);
	u->told_obstacle = true;
}

/* The next table that has something to fold; false when none has. */
static bool find_table(sp_updater *u, sp_table_layers *layers)
{
	const sp_layers_fold_options options = options_of(u);
	const sp_weights *weights = u->live->weights;

	for (; u->fold.table < sp_weights_table_count(weights); u->fold.table++) {
		const sp_table *table = sp_weights_table(weights, u->fold.table);
		const char *why;

		*layers = sp_table_get_layers(table);
		if (!is_worth_it(u, layers))
			continue;
		why = sp_layers_fold_obstacle(layers, &options);
		if (why != NULL)
			tell_obstacle(u, table, why);
		else if (fits(u, table, layers))
			return true;
	}
	return false;
}

/* Nobody is left in rows that are not live: so there are those of one table twice at most. */
static bool is_alone(sp_updater *u)
{
	sp_updater__drop_previous(u);
	return !sp_updater__drain(u);
}

static sp_status begin(sp_updater *u, sp_error *err)
{
	const sp_layers_fold_options options = options_of(u);

	u->fold.began_ns = sp_clock_now_ns();
	return sp_layers_fold_create(
		&u->fold.layers, sp_weights_table(u->live->weights, u->fold.table), &options, err);
}

static void tell(const sp_updater *u, const sp_table *table)
{
	sp_table_layers layers = sp_table_get_layers(table);

	sp_log(SP_LOG_INFO, "%s: %zu rows of %s are folded into %zu of table '%s', in %lld ms",
	       u->live->checkpoint_prefix, sp_rows_get_shape(layers.overlay)->row_count,
	       u->live->delta_prefix, rows_below(&layers), sp_table_name(table),
	       (long long)((sp_clock_now_ns() - u->fold.began_ns) / NS_PER_MS));
}

static sp_status publish(sp_updater *u, sp_error *err)
{
	sp_table *folded;
	sp_version *version;
	sp_status status;

	SP_TRY(sp_layers_fold_freeze(u->fold.layers, &folded, err));
	status = sp_version_open_folded(&version, u->live, u->fold.table, folded, err);
	sp_table_destroy(folded);
	if (status != SP_OK)
		return status;
	tell(u, sp_weights_table(u->live->weights, u->fold.table));
	sp_catalog_count(u->catalog, SP_EVENT_FOLD, sp_clock_now_ns() - u->fold.began_ns);
	sp_layers_fold_adopt(u->fold.layers);
	sp_updater__stop_fold(u);
	sp_updater__replace_live(u, version);
	u->fold.table++;
	return SP_OK;
}

/* When to go on after a step that took so long. */
static int64_t rest(const sp_updater *u, int64_t took_ns)
{
	int64_t per_second = u->config->embeddings.rows_per_second;
	int64_t least = per_second != 0 ? SLOTS * 1000 * (int64_t)NS_PER_MS / per_second : 0;

	return took_ns > least ? took_ns : least;
}

static sp_status go_on(sp_updater *u, sp_error *err)
{
	int64_t start = sp_clock_now_ns();
	bool done = false;

	SP_TRY(sp_layers_fold_step(u->fold.layers, SLOTS, &done, err));
	if (done)
		SP_TRY(publish(u, err));
	u->fold.due_ns = sp_clock_now_ns();
	if (u->fold.layers != NULL && sp_layers_fold_is_busy(u->fold.layers))
		u->fold.due_ns += WAIT_MS * NS_PER_MS;
	else
		u->fold.due_ns += rest(u, u->fold.due_ns - start);
	return SP_OK;
}

/* One step; SP_BUSY when requests have to end first, SP_NOT_FOUND when all is done. */
static sp_status step(sp_updater *u, sp_error *err)
{
	sp_table_layers layers;

	if (u->fold.layers == NULL) {
		if (!find_table(u, &layers))
			return SP_NOT_FOUND;
		if (!is_alone(u))
			return SP_BUSY;
		SP_TRY(begin(u, err));
	}
	return go_on(u, err);
}

/* Whatever was in the way may be gone for the next delta. */
static int64_t give_up(sp_updater *u, sp_status status, const sp_error *why)
{
	if (status != SP_NOT_FOUND)
		sp_log(SP_LOG_WARNING, "a delta stays as it is: %s", why->text);
	sp_updater__stop_fold(u);
	u->fold.due_ns = 0;
	return NEVER;
}

int64_t sp_updater__fold(sp_updater *u)
{
	int64_t left;
	sp_error why;

	if (u->fold.due_ns == 0)
		return NEVER;
	if (sp_clock_now_ns() >= u->fold.due_ns) {
		sp_status status = step(u, &why);

		if (status == SP_BUSY)
			return NEVER; /* the thread comes back for what drains */
		if (status != SP_OK)
			return give_up(u, status, &why);
	}
	left = u->fold.due_ns - sp_clock_now_ns();
	return left <= 0 ? 0 : left / NS_PER_MS + 1;
}
