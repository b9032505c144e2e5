#ifndef SP_PROCESSOR_UPDATER_LISTING_H
#define SP_PROCESSOR_UPDATER_LISTING_H

#include "processor/updater/catalog.h"
#include "processor/updater/pin.h"
#include "processor/updater/source.h"

/*
 * What a look tells people of versions that are not served: in the catalog which ones wait, and
 * for what; in the log what would surprise a person, once while it is true.
 *
 * Threads: the updater's.
 */
enum {
	SP_LISTING_WAITS = 3, /* what is to come, what was found, and that without its delta */
	SP_LISTING_NOTES = 8,
};

typedef struct sp_listing {
	sp_catalog *catalog;

	/* Versions that wait, by their numbers in the catalog: of this look, and of the last. */
	uint64_t waits[SP_LISTING_WAITS], waits_before[SP_LISTING_WAITS];
	size_t wait_count, wait_count_before;
	int64_t wait_ends_ms; /* how long one of them waits at most; 0: its files have to come */

	uint64_t notes[SP_LISTING_NOTES]; /* hashes of lines about the folder */
	size_t note_count;
	bool is_blind; /* a log line has said that no version can be found */
} sp_listing;

/* A look begins. */
void sp_listing_begin(sp_listing *listing);

/* What it has found in the folder, and how it is with that: `status`, `why`. */
void sp_listing_tell(sp_listing *listing, const sp_source *source, const sp_live_facts *live,
		     const sp_pin *pin, const sp_discovery *found, sp_status status,
		     const sp_error *why);

/* Listed with its reason until it is loaded, or a look does not find it waiting any more. */
void sp_listing_wait(sp_listing *listing, const sp_found_version *found, const sp_error *why);

/* It is not tried now; what it waits for, if it does, still holds. */
void sp_listing_remind(sp_listing *listing, const sp_found_version *found);

/*
 * The look is over.  What waited in the last one and does not any more is forgotten; with
 * `folder_was_read` also what was deleted before it was ever served.
 */
void sp_listing_end(sp_listing *listing, const sp_source *source, bool folder_was_read);

#endif
