#include "processor/updater/updater_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "processor/updater/found.h"

static sp_situation situation_of(const sp_update_state *u, sp_order_kind kind)
{
	return (sp_situation){.now_ns = sp_clock_now_ns(),
			      .attempts = &u->attempts,
			      .live = sp_source_live_facts(&u->source, u->versions.live),
			      .order = kind,
			      .is_pinned = u->pin.holds};
}

/* Decides and carries out the decision. */
static sp_status act(sp_update_state *u, sp_situation *s, sp_error *err)
{
	sp_action action = sp_decide(s);
	sp_catalog *catalog = u->versions.catalog;
	const sp_found_version *found = action.target != NULL ? &action.target->version : NULL;

	switch (action.kind) {
	case SP_ACTION_NONE:
		return SP_OK;
	case SP_ACTION_FAIL:
		return sp_error_set(err, action.target->found, "%s", action.target->why.text);
	default:
		sp_catalog_note_files(catalog, sp_catalog_number(catalog, found),
				      sp_source_files_hash(&u->source, found));
		return sp_update__bring_up(u, &action, err);
	}
}

/* ---------------------------------------------------------------- reload and pin */

static const char *pin_path(const sp_update_state *u)
{
	return u->source.config->pin_file;
}

/* Restores the stored pin after a failed order.  Logs a failure: the next start would be wrong. */
static void store_pin_again(const sp_update_state *u)
{
	sp_error why;

	if (sp_pin_store(&u->pin, pin_path(u), &why) != SP_OK)
		sp_log(SP_LOG_ERROR, "the pin of the next start is not that of now: %s", why.text);
}

/* Ends a pin and, for a reload, loads the newest version; if that fails, the pin stays. */
static sp_status unpin(sp_update_state *u, bool reload, sp_error *err)
{
	static const sp_pin none = {.holds = false};
	sp_situation s;
	sp_discovery found;
	sp_status status = sp_pin_store(&none, pin_path(u), err);

	if (status == SP_OK && reload) {
		s = situation_of(u, SP_ORDER_RELOAD);
		sp_attempts_forget(&u->attempts);
		s.newest.found = sp_source_discover(&u->source, &found, &s.newest.why);
		if (s.newest.found == SP_OK)
			sp_recall_apply(&u->recall, &u->source, &found.version);
		s.newest.version = found.version;
		status = act(u, &s, err);
	}
	if (status == SP_OK)
		sp_pin_set(&u->pin, &none, u->versions.catalog);
	else
		store_pin_again(u);
	return status;
}

/* The pin is stored first: storing can be undone, publishing cannot. */
static sp_status pin(sp_update_state *u, const sp_order *order, sp_error *err)
{
	sp_situation s = situation_of(u, SP_ORDER_PIN);
	sp_pin wanted;
	sp_status status;

	SP_TRY(sp_source_find(&u->source, &s.wanted.version, order->full_step, order->delta_step,
			      err));
	wanted = sp_pin_of(s.wanted.version.full_step, s.wanted.version.delta_step, order->by);
	status = sp_pin_store(&wanted, pin_path(u), err);
	if (status == SP_OK)
		status = act(u, &s, err);
	if (status != SP_OK) {
		store_pin_again(u);
		return status;
	}
	sp_attempts_allow(&u->attempts, sp_source_name_hash(&s.wanted.version));
	sp_pin_set(&u->pin, &wanted, u->versions.catalog);
	return SP_OK;
}

/* -------------------------------------------------------------------- rollback */

static void note_failure(sp_update_state *u, const sp_found_version *found, sp_status status)
{
	sp_attempts_note(&u->attempts, sp_source_name_hash(found),
			 sp_source_files_hash(&u->source, found), status, sp_clock_now_ns());
}

static sp_status copy_name(sp_found_version *out, const sp_found_version *from, sp_arena *arena,
			   sp_error *err)
{
	return sp_found_copy(out, from, arena) ? SP_OK : sp_no_memory(err, "a version's name");
}

/*
 * Sets s->wanted to the next version to go back to: those that were live before, latest first;
 * then, with *on_disk true, older and older ones on the disk.
 */
static void find_next_back(sp_update_state *u, sp_situation *s, bool *on_disk)
{
	const sp_found_version *last = sp_history_last(&u->versions.history);
	sp_found_version than = *on_disk ? s->wanted.version : s->live.version, next;
	sp_candidate *c = &s->wanted;

	*c = (sp_candidate){.found = SP_OK};
	if (!*on_disk && last != NULL)
		c->found = copy_name(&next, last, u->source.arena, &c->why);
	else
		c->found = sp_source_find_older(&u->source, &next, &than, &c->why);
	*on_disk = *on_disk || last == NULL;
	if (c->found != SP_OK)
		return;
	sp_source_examine(&u->source, c, &next, s, u->versions.live);
	c->in_memory = !*on_disk && u->versions.previous != NULL;
}

/*
 * Publishes the latest version that was live before and can be served, or else the next older one
 * on the disk.  Broken versions are skipped, and refused until their files change.
 */
static sp_status go_back(sp_update_state *u, const sp_found_version *left, sp_error *err)
{
	sp_situation s = situation_of(u, SP_ORDER_ROLLBACK);
	sp_error why = {.status = SP_OK};
	char name[SP_FOUND_STEPS_SIZE];
	bool on_disk = false;

	s.live.version = *left;
	for (;;) {
		sp_candidate *c = &s.wanted;
		sp_action action;

		find_next_back(u, &s, &on_disk);
		action = sp_decide(&s);
		switch (action.kind) {
		case SP_ACTION_FAIL:
			if (c->found != SP_NOT_FOUND)
				return sp_error_set(err, c->found, "%s", c->why.text);
			if (why.status != SP_OK)
				return sp_error_set(err, why.status, "%s", why.text);
			return sp_error_set(err, SP_NOT_FOUND,
					    "no version was live before this one, and there is no "
					    "older one on the disk");
		case SP_ACTION_REPUBLISH:
			sp_update__republish(u, &c->version);
			return SP_OK;
		case SP_ACTION_SKIP:
			break;
		default:
			if (sp_update__bring_up(u, &action, &why) == SP_OK)
				return SP_OK;
			if (sp_decide_may_pass(why.status))
				return sp_error_set(err, why.status, "%s", why.text);
			sp_log(SP_LOG_WARNING, "version %s is passed over by a rollback: %s",
			       sp_found_steps(name, c->version.full_step, c->version.delta_step),
			       why.text);
			note_failure(u, &c->version, why.status);
			break;
		}
		sp_history_remove(&u->versions.history, &c->version);
	}
}

/* Refuses the version that a rollback replaced, with and without its delta, until files change. */
static void refuse_left(sp_update_state *u, sp_found_version *left, uint64_t number, const char *by)
{
	char why[sizeof(u->pin.by) + 32];

	snprintf(why, sizeof(why), "rolled back by order of %s", by);
	note_failure(u, left, SP_BUSY);
	sp_catalog_mark_rolled_back(u->versions.catalog, number, why);
	left->delta_prefix = NULL;
	if (strcmp(left->full_prefix, u->versions.live->checkpoint_prefix) != 0)
		note_failure(u, left, SP_BUSY);
}

static sp_status roll_back(sp_update_state *u, const sp_order *order, sp_error *err)
{
	uint64_t number = u->versions.live->number;
	sp_found_version live = sp_version_name(u->versions.live), left;
	sp_pin moved;

	SP_TRY(copy_name(&left, &live, u->source.arena, err));
	/* Fail before anything changes if the pin cannot be stored. */
	if (u->pin.holds)
		SP_TRY(sp_pin_store(&u->pin, pin_path(u), err));
	SP_TRY(go_back(u, &left, err));
	/* Do not roll back to the version that was replaced. */
	sp_history_remove(&u->versions.history, &left);
	sp_versions_drop_previous(&u->versions);
	refuse_left(u, &left, number, order->by);
	if (!u->pin.holds)
		return SP_OK;
	/* The pin follows, so that the next look does not undo the rollback. */
	moved = sp_pin_of(u->versions.live->full_step, u->versions.live->delta_step, order->by);
	sp_pin_set(&u->pin, &moved, u->versions.catalog);
	return sp_pin_store(&moved, pin_path(u), err);
}

/* ---------------------------------------------------------------------- orders */

static sp_status carry_out(sp_update_state *u, const sp_order *order, sp_error *err)
{
	switch (order->kind) {
	case SP_ORDER_RELOAD:
		return unpin(u, true, err);
	case SP_ORDER_ROLLBACK:
		return roll_back(u, order, err);
	case SP_ORDER_PIN:
		return pin(u, order, err);
	case SP_ORDER_UNPIN:
		return unpin(u, false, err);
	case SP_ORDER_NONE:
		break;
	}
	return SP_INTERNAL;
}

void sp_update__obey(sp_update_state *u, sp_order *order)
{
	static const struct {
		const char *name;
		sp_log_level level;
		sp_catalog_event event;
	} kinds[] = {[SP_ORDER_RELOAD] = {"reload", SP_LOG_INFO, SP_EVENT_RELOAD},
		     [SP_ORDER_ROLLBACK] = {"rollback", SP_LOG_WARNING, SP_EVENT_ROLLBACK},
		     [SP_ORDER_PIN] = {"pin", SP_LOG_WARNING, SP_EVENT_PIN},
		     [SP_ORDER_UNPIN] = {"unpin", SP_LOG_INFO, SP_EVENT_PIN}};
	char from[SP_FOUND_STEPS_SIZE], to[SP_FOUND_STEPS_SIZE];

	sp_arena_reset(u->source.arena);
	sp_source_refresh(&u->source);
	sp_found_steps(from, u->versions.live->full_step, u->versions.live->delta_step);
	order->status = carry_out(u, order, &order->error);
	sp_found_steps(to, u->versions.live->full_step, u->versions.live->delta_step);
	if (order->status != SP_OK) {
		sp_log(SP_LOG_WARNING, "%s by order of %s has failed, %s is live: %s",
		       kinds[order->kind].name, order->by, to, order->error.text);
		return;
	}
	sp_log(kinds[order->kind].level, "%s by order of %s: from version %s to %s",
	       kinds[order->kind].name, order->by, from, to);
	sp_catalog_count(u->versions.catalog, kinds[order->kind].event, 0);
}
