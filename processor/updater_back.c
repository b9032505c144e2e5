#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "processor/updater_internal.h"

/*
 * The way back: the versions that were live in this process, last first, and behind them
 * the older ones on the disk.
 */

/* ------------------------------------------------------------- what was live */

static void drop(sp_updater_history *history, size_t i)
{
	sp_free((void *)history->versions[i].full_prefix);
	sp_free((void *)history->versions[i].delta_prefix);
	history->count--;
	memmove(&history->versions[i], &history->versions[i + 1],
		(history->count - i) * sizeof(history->versions[0]));
}

static void forget(sp_updater *u, const char *full_prefix, const char *delta_prefix)
{
	for (size_t i = u->history.count; i > 0; i--)
		if (sp_updater__same(u->history.versions[i - 1].full_prefix, full_prefix) &&
		    sp_updater__same(u->history.versions[i - 1].delta_prefix, delta_prefix))
			drop(&u->history, i - 1);
}

void sp_updater__unremember(sp_updater *u, const sp_version *version)
{
	forget(u, version->checkpoint_prefix, version->delta_prefix);
}

/* Without memory there is no way back to it. */
void sp_updater__remember(sp_updater *u, const sp_version *old)
{
	sp_found_version name = {.full_step = old->full_step, .delta_step = old->delta_step};

	sp_updater__unremember(u, old);
	name.full_prefix = sp_alloc_text(old->checkpoint_prefix);
	if (u->numbered)
		name.savedmodel_dir = name.full_prefix;
	if (old->delta_prefix != NULL)
		name.delta_prefix = sp_alloc_text(old->delta_prefix);
	if (name.full_prefix == NULL || (old->delta_prefix != NULL && name.delta_prefix == NULL)) {
		sp_free((void *)name.full_prefix);
		sp_free((void *)name.delta_prefix);
		return;
	}
	if (u->history.count == SP_UPDATER_HISTORY)
		drop(&u->history, 0);
	u->history.versions[u->history.count++] = name;
}

void sp_updater__forget_history(sp_updater *u)
{
	while (u->history.count > 0)
		drop(&u->history, u->history.count - 1);
}

/* ----------------------------------------------------------------- going back */

/* A search for what can be served again. */
typedef struct search {
	const sp_found_version *left; /* what is live at first */
	sp_found_version at; /* the last that was looked at; texts in the updater's arena */
	bool on_disk;        /* what was live before is used up */
} search;

static sp_status copy_name(const sp_updater *u, sp_found_version *out, const sp_found_version *of,
			   sp_error *err)
{
	*out = *of;
	out->full_prefix = sp_arena_text(u->arena, sp_bytes_of(of->full_prefix));
	if (of->savedmodel_dir != NULL)
		out->savedmodel_dir = out->full_prefix;
	if (of->delta_prefix != NULL)
		out->delta_prefix = sp_arena_text(u->arena, sp_bytes_of(of->delta_prefix));
	if (out->full_prefix == NULL || (of->delta_prefix != NULL && out->delta_prefix == NULL))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version's name");
	return SP_OK;
}

/* The last that was live and whose files are still there; what is in memory needs none. */
static bool find_in_history(sp_updater *u, sp_found_version *out)
{
	sp_updater_history *history = &u->history;

	while (history->count > 0) {
		*out = history->versions[history->count - 1];
		if (u->previous != NULL || sp_updater__may_serve(u, out))
			return true;
		drop(history, history->count - 1);
	}
	return false;
}

static sp_status find_on_disk(sp_updater *u, search *s, sp_error *err)
{
	sp_found_version older;

	do {
		if (u->numbered)
			SP_TRY(sp_discover_older_numbered(&older, u->folder, s->at.full_step,
							  u->arena, err));
		else
			SP_TRY(sp_discover_older(&older, u->folder, &s->at, u->arena, err));
		s->at = older;
	} while (!sp_updater__may_serve(u, &older));
	return SP_OK;
}

static sp_status find_next(sp_updater *u, search *s, sp_error *err)
{
	sp_found_version found;

	if (!s->on_disk && find_in_history(u, &found))
		return copy_name(u, &s->at, &found, err);
	if (!s->on_disk)
		s->at = *s->left;
	s->on_disk = true;
	return find_on_disk(u, s, err);
}

/* A second life has a number of its own. */
static void revive(sp_updater *u, const sp_found_version *name)
{
	sp_version *version = u->previous;

	u->previous = NULL;
	sp_catalog_move(u->catalog, version->number, SP_VERSION_RETIRED, NULL);
	version->number = sp_catalog_number(u->catalog, name);
	sp_catalog_move(u->catalog, version->number, SP_VERSION_LOADING, NULL);
	sp_catalog_move(u->catalog, version->number, SP_VERSION_WARMING, NULL);
	sp_updater__publish(u, version);
}

static sp_status serve(sp_updater *u, const search *s, sp_error *err)
{
	sp_status status;

	if (!s->on_disk && u->previous != NULL) {
		revive(u, &s->at);
		return SP_OK;
	}
	u->exact = true;
	status = sp_updater__bring_up(u, &s->at, false, err);
	u->exact = u->pin.holds;
	return status;
}

/* What cannot be had is passed over, unless that may pass. */
static bool is_passed_over(sp_updater *u, const search *s, const sp_error *why)
{
	char name[SP_UPDATER_NAME_SIZE];

	if (why->status == SP_IO || why->status == SP_NO_MEMORY || why->status == SP_BUSY)
		return false;
	sp_log(SP_LOG_WARNING, "version %s is passed over by a rollback: %s",
	       sp_updater__name(name, s->at.full_step, s->at.delta_step), why->text);
	sp_updater__note_failure(u, &s->at, why->status);
	forget(u, s->at.full_prefix, s->at.delta_prefix);
	return true;
}

static sp_status go_back(sp_updater *u, const sp_found_version *left, sp_error *err)
{
	search s = {.left = left};
	sp_error why = {.status = SP_OK};

	for (;;) {
		sp_error none;
		sp_status status = find_next(u, &s, &none);

		if (status == SP_NOT_FOUND && why.status != SP_OK)
			return sp_error_set(err, why.status, "%s", why.text);
		if (status == SP_NOT_FOUND)
			return sp_error_set(err, status,
					    "no version was live before this one, and there is no "
					    "older one on the disk");
		if (status != SP_OK)
			return sp_error_set(err, status, "%s", none.text);
		status = serve(u, &s, &why);
		/* There is no way forward but what comes next. */
		forget(u, left->full_prefix, left->delta_prefix);
		if (status == SP_OK)
			return SP_OK;
		if (!is_passed_over(u, &s, &why))
			return sp_error_set(err, status, "%s", why.text);
	}
}

sp_status sp_updater__go_back(sp_updater *u, const sp_found_version *left, sp_error *err)
{
	SP_TRY(go_back(u, left, err));
	sp_updater__drop_previous(u);
	return SP_OK;
}
