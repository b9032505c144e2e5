#ifndef SP_PROCESSOR_UPDATER_LISTING_H
#define SP_PROCESSOR_UPDATER_LISTING_H

#include "processor/updater/catalog.h"
#include "processor/updater/pin.h"
#include "processor/updater/source.h"

/*
 * Reports on versions that a look does not serve: in the catalog, which ones wait and for what; in
 * the log, unusual facts, once while they hold.
 *
 * Threads: the updater's.
 */
enum {
	SP_LISTING_WAITS = 3, /* expected next, found, and found without its delta */
	SP_LISTING_NOTES = 8,
};

typedef struct sp_listing {
	sp_catalog *catalog;

	/* Catalog numbers of waiting versions, of this look and of the last one. */
	uint64_t waits[SP_LISTING_WAITS], waits_before[SP_LISTING_WAITS];
	size_t wait_count, wait_count_before;
	int64_t wait_ends_ms; /* until the first wait ends by itself; 0: all wait for files */

	uint64_t notes[SP_LISTING_NOTES]; /* hashes of logged notes about the folder */
	size_t note_count;
	bool is_blind; /* it was logged that no version can be found */
} sp_listing;

/* A look begins. */
void sp_listing_begin(sp_listing *listing);

/* Reports what the look found in the folder, with `status` and `why`. */
void sp_listing_tell(sp_listing *listing, const sp_source *source, const sp_live_facts *live,
		     const sp_pin *pin, const sp_discovery *found, sp_status status,
		     const sp_error *why);

/* Lists a waiting version with its reason, until it is loaded or a look does not list it. */
void sp_listing_wait(sp_listing *listing, const sp_found_version *found, const sp_error *why);

/* Lists a version that is not tried now; the reason of its wait stays. */
void sp_listing_remind(sp_listing *listing, const sp_found_version *found);

/*
 * The look is over: removes versions that waited in the last look and do not any more; with
 * `folder_was_read` also those deleted before they were ever served.
 */
void sp_listing_end(sp_listing *listing, const sp_source *source, bool folder_was_read);

#endif
