#include "processor/updater/updater_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "processor/version/rows_kept.h"

enum { NS_PER_MS = 1000000 };

/* -------------------------------------------------------------------- listing */

static void begin_listing(sp_listing *listing)
{
	memcpy(listing->waits_before, listing->waits, sizeof(listing->waits));
	listing->wait_count_before = listing->wait_count;
	listing->wait_count = 0;
	listing->wait_ends_ms = 0;
}

static void keep_waiting(sp_listing *listing, uint64_t number)
{
	if (number != 0 && listing->wait_count < SP_LISTING_WAITS)
		listing->waits[listing->wait_count++] = number;
}

/* Lists a waiting version with its reason, until it is loaded or a look does not list it. */
static void list_waiting(sp_update_state *u, const sp_found_version *found, const sp_error *why)
{
	uint64_t number = sp_catalog_number(u->versions.catalog, found);

	sp_catalog_move(u->versions.catalog, number, SP_VERSION_DISCOVERED, why);
	keep_waiting(&u->listing, number);
}

static bool is_among(const uint64_t *items, size_t count, uint64_t item)
{
	for (size_t i = 0; i < count; i++)
		if (items[i] == item)
			return true;
	return false;
}

/* More than SP_LISTING_NOTES notes at once are not logged. */
static void tell_notes(sp_listing *listing, const sp_discover_note *notes)
{
	uint64_t before[SP_LISTING_NOTES];
	size_t count = listing->note_count;

	memcpy(before, listing->notes, sizeof(before));
	listing->note_count = 0;
	for (; notes != NULL && listing->note_count < SP_LISTING_NOTES; notes = notes->next) {
		uint64_t line = sp_fingerprint64(notes->text, strlen(notes->text));

		if (!is_among(before, count, line))
			sp_log(SP_LOG_WARNING, "%s", notes->text);
		listing->notes[listing->note_count++] = line;
	}
}

/* Tells the catalog the newest version, served or not; `found` is what is to be served. */
static void tell_newest(sp_update_state *u, const sp_live_facts *live,
			const sp_found_version *found, const sp_found_version *newest)
{
	const sp_pin *pin = &u->pin;
	char name[SP_FOUND_STEPS_SIZE];
	const char *held = NULL;

	if (pin->holds &&
	    (newest->full_step != pin->full_step || newest->delta_step != pin->delta_step))
		held = sp_arena_printf(u->source.arena, "%s is pinned by order of %s",
				       sp_found_steps(name, pin->full_step, pin->delta_step),
				       pin->by);
	else if (!pin->holds && found->full_step != newest->full_step)
		held = sp_arena_printf(u->source.arena, "%s is recalled in Redis",
				       sp_found_steps(name, found->full_step, -1));
	sp_catalog_set_newest(u->versions.catalog, sp_decide_is_newer(live, newest) ? newest : NULL,
			      held);
}

/*
 * Reports what the look found in the folder, with `status` and `why`; `newest` is the newest
 * version in it, whatever is recalled.
 */
static void tell_found(sp_update_state *u, const sp_live_facts *live, const sp_discovery *found,
		       const sp_found_version *newest, sp_status status, const sp_error *why)
{
	sp_listing *listing = &u->listing;
	bool is_blind = live->is_there && status != SP_OK;
	sp_error words;

	/* Logged once when the folder disappears, and once when it is back. */
	if (is_blind && !listing->is_blind)
		sp_log(SP_LOG_WARNING, "no newer version can be found, the old one stays live: %s",
		       why->text);
	if (!is_blind && listing->is_blind)
		sp_log(SP_LOG_INFO, "newer versions can be looked for again in '%s'",
		       u->source.folder);
	listing->is_blind = is_blind;
	sp_catalog_set_unreadable(u->versions.catalog, is_blind ? why : NULL);
	if (found->why != NULL && sp_decide_is_newer(live, &found->waiting)) {
		sp_error_set(&words, SP_NOT_FOUND, "%s", found->why);
		list_waiting(u, &found->waiting, &words);
		listing->wait_ends_ms = found->wait_ms;
	}
	if (status != SP_OK)
		return;
	tell_notes(listing, found->notes);
	tell_newest(u, live, &found->version, newest);
}

/*
 * The look is over: removes versions that waited in the last look and do not any more; with
 * `folder_was_read` also those deleted before they were ever served.
 */
static void end_listing(sp_update_state *u, bool folder_was_read)
{
	const sp_listing *listing = &u->listing;
	sp_catalog *catalog = u->versions.catalog;
	char name[SP_FOUND_STEPS_SIZE];
	sp_found_version found;
	uint64_t number = 0;

	for (size_t i = 0; i < listing->wait_count_before; i++) {
		uint64_t before = listing->waits_before[i];

		if (!is_among(listing->waits, listing->wait_count, before) &&
		    sp_catalog_state(catalog, before) == SP_VERSION_DISCOVERED)
			sp_catalog_forget(catalog, before);
	}
	while (folder_was_read &&
	       (number = sp_catalog_next_waiting(catalog, number, &found, u->source.arena)) != 0) {
		if (!sp_source_is_gone(&u->source, &found))
			continue;
		sp_log(SP_LOG_INFO, "version %s is forgotten, its files are gone: %s",
		       sp_found_steps(name, found.full_step, found.delta_step),
		       found.delta_prefix != NULL ? found.delta_prefix : found.full_prefix);
		sp_catalog_forget(catalog, number);
	}
	sp_catalog_end_look(catalog);
}

/* --------------------------------------------------------------------- looking */

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
	list_waiting(u, &c->version, &c->why);
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

/*
 * Whether a start may wait for what a load has failed with: rows that other servers hold may come,
 * and so may these servers.
 */
static bool may_come(const sp_config *config, sp_status status)
{
	return status == SP_IO && (sp_config_is_in_redis(config) || config->shard_peers != NULL);
}

/* Decides and acts until nothing is left to do; `reason` is the last failure. */
static sp_look_result act(sp_update_state *u, sp_situation *s, sp_error *reason)
{
	sp_look_result result = {.settled_ms = INT64_MAX};
	sp_status status;

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
			/* The reason of its wait stays. */
			keep_waiting(&u->listing,
				     sp_catalog_remind(u->versions.catalog, &c->version));
			break;
		case SP_ACTION_WAIT:
			wait_for(u, c, s->now_ns);
			if (c->settle_ms > 0)
				result.settled_ms = s->now_ns / NS_PER_MS + c->settle_ms;
			result.in_vain = false;
			*reason = c->why;
			break;
		default:
			status = load(u, &action, reason);
			if (status == SP_OK)
				return result;
			result.in_vain = !may_come(u->source.config, status);
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

/* Those in Redis. */
static void care_for_rows(const sp_source *source, sp_version *live)
{
	const sp_found_version name = sp_version_name(live);
	const char *prefix = sp_source_weights_prefix(source, &name);

	sp_rows_kept(&live->keep_ns, source->config, live->full_step, live->redis_content);
	sp_rows_restored(live, source->config, prefix, prefix != name.full_prefix);
}

sp_look_result sp_update__look(sp_update_state *u, sp_error *reason)
{
	sp_situation s = {.attempts = &u->attempts, .is_pinned = u->pin.holds};
	sp_look_result result;
	sp_discovery found;
	sp_found_version newest;
	sp_status status;
	sp_error why, latest = {.status = SP_OK};
	char name[SP_FOUND_STEPS_SIZE];

	sp_arena_reset(u->source.arena);
	sp_source_refresh(&u->source);
	s.now_ns = sp_clock_now_ns();
	s.live = sp_source_live_facts(&u->source, u->versions.live);
	status = sp_source_discover(&u->source, &found, &why);
	newest = found.version;
	if (status == SP_OK)
		sp_recall_apply(&u->recall, &u->source, &found.version);
	begin_listing(&u->listing);
	tell_found(u, &s.live, &found, &newest, status, &why);
	survey(u, &s, &found, status, &why);
	result = act(u, &s, &latest);
	if (u->versions.live != NULL)
		care_for_rows(&u->source, u->versions.live);
	if (latest.status != SP_OK && s.is_pinned)
		sp_error_prefix(&latest, latest.status, "version %s is pinned by order of %s",
				sp_found_steps(name, u->pin.full_step, u->pin.delta_step),
				u->pin.by);
	if (latest.status != SP_OK)
		*reason = latest;
	end_listing(u, status == SP_OK ||
			       (status == SP_NOT_FOUND && sp_file_is_directory(u->source.folder)));
	return result;
}
