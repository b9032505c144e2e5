#include "processor/updater/updater_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "processor/updater/found.h"

enum { NS_PER_MS = 1000000 };

/* Examines the candidates of a look; without_delta gets only its name. */
static void survey(sp_update_state *u, sp_situation *s, const sp_discovery *found, sp_status status,
		   const sp_error *why)
{
	sp_version *live = u->versions.live;
	sp_found_version pinned;

	s->newest = (sp_candidate){.found = status, .version = found->version};
	if (status != SP_OK)
		s->newest.why = *why;
	s->without_delta.version = found->version;
	s->without_delta.version.delta_prefix = NULL;
	s->without_delta.version.delta_step = -1;
	if (!s->is_pinned) {
		if (status == SP_OK && sp_decide_is_newer(&s->live, &found->version))
			sp_source_examine(&u->source, &s->newest, &found->version, s, live);
		return;
	}
	if (s->live.is_there && !s->live.is_rewritten)
		return;
	s->wanted.found = sp_source_find(&u->source, &pinned, u->pin.full_step, u->pin.delta_step,
					 &s->wanted.why);
	if (s->wanted.found == SP_OK)
		sp_source_examine(&u->source, &s->wanted, &pinned, s, live);
}

/* Lists a candidate as waiting for missing or settling files. */
static void wait_for(sp_update_state *u, const sp_candidate *c, int64_t now_ns)
{
	sp_catalog *catalog = u->versions.catalog;

	if (c->settle_ms == 0)
		sp_catalog_note_files(catalog, sp_catalog_number(catalog, &c->version), c->files);
	sp_listing_wait(&u->listing, &c->version, &c->why);
	if (c->settle_ms == 0)
		sp_attempts_note(&u->attempts, c->name, c->files, c->complete, now_ns);
}

static sp_status load(sp_update_state *u, const sp_action *action, sp_error *err)
{
	const sp_candidate *c = action->target;
	sp_catalog *catalog = u->versions.catalog;
	sp_status status;

	sp_catalog_note_files(catalog, sp_catalog_number(catalog, &c->version), c->files);
	status = sp_update__bring_up(u, action, err);
	if (status != SP_OK)
		sp_attempts_note(&u->attempts, c->name, c->files, status, sp_clock_now_ns());
	return status;
}

/* Decides and acts until nothing is left to do; `reason` is the last failure. */
static sp_look_result act(sp_update_state *u, sp_situation *s, sp_error *reason)
{
	sp_look_result result = {.settled_ms = INT64_MAX};

	for (;;) {
		sp_action action = sp_decide(s);
		sp_candidate *c = action.target;

		switch (action.kind) {
		case SP_ACTION_NONE:
			return result;
		case SP_ACTION_FAIL:
			result.in_vain = c->found == SP_NO_MEMORY;
			*reason = c->why;
			break;
		case SP_ACTION_BACK_OFF:
			sp_listing_remind(&u->listing, &c->version);
			break;
		case SP_ACTION_WAIT:
			wait_for(u, c, s->now_ns);
			if (c->settle_ms > 0)
				result.settled_ms = s->now_ns / NS_PER_MS + c->settle_ms;
			result.in_vain = false;
			*reason = c->why;
			break;
		default:
			result.in_vain = load(u, &action, reason) != SP_OK;
			if (!result.in_vain)
				return result;
			s->live = sp_source_live_facts(&u->source, u->versions.live);
			break;
		}
		c->is_done = true;
		/* The full checkpoint alone is examined only after its delta has failed. */
		if (c == &s->newest && c->found == SP_OK && c->version.delta_prefix != NULL &&
		    sp_decide_is_newer(&s->live, &s->without_delta.version)) {
			sp_found_version alone = s->without_delta.version;

			sp_source_examine(&u->source, &s->without_delta, &alone, s,
					  u->versions.live);
		}
	}
}

sp_look_result sp_update__look(sp_update_state *u, sp_error *reason)
{
	sp_situation s = {.attempts = &u->attempts, .is_pinned = u->pin.holds};
	sp_look_result result;
	sp_discovery found;
	sp_status status;
	sp_error why, latest = {.status = SP_OK};
	char name[SP_FOUND_STEPS_SIZE];

	sp_arena_reset(u->source.arena);
	s.now_ns = sp_clock_now_ns();
	s.live = sp_source_live_facts(&u->source, u->versions.live);
	status = sp_source_discover(&u->source, &found, &why);
	sp_listing_begin(&u->listing);
	sp_listing_tell(&u->listing, &u->source, &s.live, &u->pin, &found, status, &why);
	survey(u, &s, &found, status, &why);
	result = act(u, &s, &latest);
	if (latest.status != SP_OK && s.is_pinned)
		sp_error_prefix(&latest, latest.status, "version %s is pinned by order of %s",
				sp_found_steps(name, u->pin.full_step, u->pin.delta_step),
				u->pin.by);
	if (latest.status != SP_OK)
		*reason = latest;
	sp_listing_end(&u->listing, &u->source,
		       status == SP_OK ||
			       (status == SP_NOT_FOUND && sp_file_is_directory(u->source.folder)));
	return result;
}
