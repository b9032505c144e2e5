#include "processor/updater/listing.h"

#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "processor/updater/found.h"

void sp_listing_begin(sp_listing *listing)
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

void sp_listing_wait(sp_listing *listing, const sp_found_version *found, const sp_error *why)
{
	uint64_t number = sp_catalog_number(listing->catalog, found);

	sp_catalog_move(listing->catalog, number, SP_VERSION_DISCOVERED, why);
	keep_waiting(listing, number);
}

void sp_listing_remind(sp_listing *listing, const sp_found_version *found)
{
	keep_waiting(listing, sp_catalog_remind(listing->catalog, found));
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

/* Tells the catalog the newest version, served or not. */
static void tell_newest(sp_listing *listing, const sp_source *source, const sp_live_facts *live,
			const sp_pin *pin, const sp_found_version *found)
{
	char name[SP_FOUND_STEPS_SIZE];
	const char *pinned = NULL;

	if (pin->holds &&
	    (found->full_step != pin->full_step || found->delta_step != pin->delta_step))
		pinned = sp_arena_printf(source->arena, "%s is pinned by order of %s",
					 sp_found_steps(name, pin->full_step, pin->delta_step),
					 pin->by);
	sp_catalog_set_newest(listing->catalog, sp_decide_is_newer(live, found) ? found : NULL,
			      pinned);
}

void sp_listing_tell(sp_listing *listing, const sp_source *source, const sp_live_facts *live,
		     const sp_pin *pin, const sp_discovery *found, sp_status status,
		     const sp_error *why)
{
	bool is_blind = live->is_there && status != SP_OK;
	sp_error words;

	/* Logged once when the folder disappears, and once when it is back. */
	if (is_blind && !listing->is_blind)
		sp_log(SP_LOG_WARNING, "no newer version can be found, the old one stays live: %s",
		       why->text);
	if (!is_blind && listing->is_blind)
		sp_log(SP_LOG_INFO, "newer versions can be looked for again in '%s'",
		       source->folder);
	listing->is_blind = is_blind;
	if (found->why != NULL && sp_decide_is_newer(live, &found->waiting)) {
		sp_error_set(&words, SP_NOT_FOUND, "%s", found->why);
		sp_listing_wait(listing, &found->waiting, &words);
		listing->wait_ends_ms = found->wait_ms;
	}
	if (status != SP_OK)
		return;
	tell_notes(listing, found->notes);
	tell_newest(listing, source, live, pin, &found->version);
}

void sp_listing_end(sp_listing *listing, const sp_source *source, bool folder_was_read)
{
	sp_catalog *catalog = listing->catalog;
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
	       (number = sp_catalog_next_waiting(catalog, number, &found, source->arena)) != 0) {
		if (!sp_source_is_gone(source, &found))
			continue;
		sp_log(SP_LOG_INFO, "version %s is forgotten, its files are gone: %s",
		       sp_found_steps(name, found.full_step, found.delta_step),
		       found.delta_prefix != NULL ? found.delta_prefix : found.full_prefix);
		sp_catalog_forget(catalog, number);
	}
	sp_catalog_end_look(catalog);
}
