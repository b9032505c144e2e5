#include "processor/updater/decide.h"

#include <string.h>

#include "processor/updater/found.h"

enum { REMINDER_MS = 60000 }; /* between two log lines about the same wait */

bool sp_decide_is_newer(const sp_live_facts *live, const sp_found_version *found)
{
	return !live->is_there || strcmp(found->full_prefix, live->version.full_prefix) != 0 ||
	       found->delta_step > live->version.delta_step || live->is_rewritten;
}

bool sp_decide_may_pass(sp_status status)
{
	return status == SP_IO || status == SP_NO_MEMORY || status == SP_BUSY;
}

/* `afresh`: reads everything again, even a full checkpoint that is in memory. */
static sp_action load(const sp_situation *s, sp_candidate *c, bool afresh, bool exact)
{
	bool on_live = !afresh && s->live.is_there && !s->live.is_rewritten &&
		       strcmp(c->version.full_prefix, s->live.version.full_prefix) == 0;
	sp_action_kind kind = c->version.delta_prefix != NULL ? SP_ACTION_LOAD_BOTH
							      : SP_ACTION_LOAD_FULL;

	if (c->found != SP_OK)
		return (sp_action){.kind = SP_ACTION_FAIL, .target = c};
	return (sp_action){
		.kind = on_live ? SP_ACTION_LOAD_DELTA : kind, .target = c, .exact = exact};
}

/*
 * A look loads a complete version that was not tried yet with these files.  It waits only for
 * missing files: other faults are found by loading, which refuses the version.
 */
static sp_action load_when_ready(const sp_situation *s, sp_candidate *c)
{
	if (c->found != SP_OK)
		return (sp_action){.kind = SP_ACTION_FAIL, .target = c};
	if (!sp_attempts_is_due(s->attempts, c->name, c->files, s->now_ns))
		return (sp_action){.kind = SP_ACTION_BACK_OFF, .target = c};
	if (c->settle_ms > 0 || (c->complete != SP_OK && c->complete != SP_UNSUPPORTED))
		return (sp_action){.kind = SP_ACTION_WAIT, .target = c};
	return load(s, c, false, s->is_pinned);
}

static sp_action look(sp_situation *s)
{
	const sp_action none = {.kind = SP_ACTION_NONE};
	sp_candidate *newest = &s->newest;

	if (s->is_pinned) {
		if (s->wanted.is_done || (s->live.is_there && !s->live.is_rewritten))
			return none;
		return load_when_ready(s, &s->wanted);
	}
	if (newest->found == SP_OK && !sp_decide_is_newer(&s->live, &newest->version))
		return none;
	if (!newest->is_done)
		return load_when_ready(s, newest);
	/* While a SavedModel must settle, its checkpoint waits with and without the delta. */
	if (newest->found != SP_OK || newest->version.delta_prefix == NULL ||
	    newest->settle_ms > 0 || s->without_delta.is_done ||
	    !sp_decide_is_newer(&s->live, &s->without_delta.version))
		return none;
	return load_when_ready(s, &s->without_delta);
}

static sp_action go_back(const sp_situation *s, sp_candidate *c)
{
	if (c->found != SP_OK)
		return (sp_action){.kind = SP_ACTION_FAIL, .target = c};
	if (c->in_memory)
		return (sp_action){.kind = SP_ACTION_REPUBLISH, .target = c};
	if (c->is_gone || c->complete != SP_OK ||
	    !sp_attempts_is_due(s->attempts, c->name, c->files, s->now_ns))
		return (sp_action){.kind = SP_ACTION_SKIP, .target = c};
	return load(s, c, false, true);
}

sp_action sp_decide(sp_situation *s)
{
	switch (s->order) {
	case SP_ORDER_NONE:
		return look(s);
	case SP_ORDER_RELOAD:
		return load(s, &s->newest, true, false);
	case SP_ORDER_ROLLBACK:
		return go_back(s, &s->wanted);
	case SP_ORDER_PIN:
		if (s->wanted.found == SP_OK && s->live.is_there &&
		    sp_found_is_same(&s->wanted.version, &s->live.version))
			break;
		return load(s, &s->wanted, false, true);
	case SP_ORDER_UNPIN:
		break;
	}
	return (sp_action){.kind = SP_ACTION_NONE};
}

/* ---------------------------------------------------------------- the clock */

bool sp_decide_look_is_due(const sp_schedule *s, int64_t now_ms, bool woken)
{
	return woken || now_ms < s->looked_ms || now_ms - s->looked_ms >= s->interval_ms ||
	       now_ms >= s->settled_ms;
}

int64_t sp_decide_pause(const sp_schedule *s, int64_t now_ms)
{
	int64_t pause = s->interval_ms;

	if (s->settled_ms != INT64_MAX && s->settled_ms - now_ms < pause)
		pause = s->settled_ms > now_ms ? s->settled_ms - now_ms : 0;
	if (s->drain_ms < pause)
		pause = s->drain_ms;
	return s->fold_ms < pause ? s->fold_ms : pause;
}

int64_t sp_decide_interval(int64_t poll_ms, bool is_waiting, int64_t wait_ends_ms)
{
	int64_t interval = is_waiting && poll_ms > REMINDER_MS ? REMINDER_MS : poll_ms;

	return wait_ends_ms != 0 && wait_ends_ms < interval ? wait_ends_ms : interval;
}
