#ifndef SP_PROCESSOR_UPDATER_UPDATER_INTERNAL_H
#define SP_PROCESSOR_UPDATER_UPDATER_INTERNAL_H

#include "processor/updater/decide.h"
#include "processor/updater/fold.h"
#include "processor/updater/pin.h"
#include "processor/updater/recall.h"
#include "processor/updater/source.h"
#include "processor/updater/versions.h"

/*
 * What is told of versions that a look does not serve: in the catalog, which ones wait and for
 * what; in the log, unusual facts, once while they hold.
 */
enum {
	SP_LISTING_WAITS = 3, /* expected next, found, and found without its delta */
	SP_LISTING_NOTES = 8,
};

typedef struct sp_listing {
	/* Catalog numbers of waiting versions, of this look and of the last one. */
	uint64_t waits[SP_LISTING_WAITS], waits_before[SP_LISTING_WAITS];
	size_t wait_count, wait_count_before;
	int64_t wait_ends_ms; /* until the first wait ends by itself; 0: all wait for files */

	uint64_t notes[SP_LISTING_NOTES]; /* hashes of logged notes about the folder */
	size_t note_count;
	bool is_blind; /* it was logged that no version can be found */
} sp_listing;

/*
 * The files, top down:
 *
 *   updater.c    the thread: orders, looks, folding, sleep
 *   look.c       one look: source.c finds, decide.c chooses
 *   obey.c       one order: the same
 *   bring_up.c   loads, warms up, publishes by versions.c
 *
 * Each calls only those below it.  They share sp_update_state.
 *
 * Threads: the updater's; before it starts, the opener's.
 */
typedef struct sp_update_state {
	sp_source source;     /* where versions come from */
	sp_versions versions; /* what is in memory */
	sp_attempts attempts; /* versions that failed */
	sp_pin pin;
	sp_listing listing; /* reports on versions that are not served */
	sp_fold fold;       /* of the live version's delta */
	sp_recall recall;   /* to an earlier version, in Redis */
} sp_update_state;

/*
 * Loads the target of a SP_ACTION_LOAD_..., warms it up and publishes it.  After a failure it is
 * refused; when closing its state is unchanged.  If only the delta is broken, the full checkpoint
 * is published alone, unless the action is exact; the status is still the delta's.
 */
SP_MUST_CHECK sp_status sp_update__bring_up(sp_update_state *u, const sp_action *action,
					    sp_error *err);

/* Publishes the previous version, which is in memory, again, under `name`. */
void sp_update__republish(sp_update_state *u, const sp_found_version *name);

typedef struct sp_look_result {
	bool in_vain;       /* the version cannot be had for any reason: waiting is useless */
	int64_t settled_ms; /* when to look again at settling files; INT64_MAX: never */
} sp_look_result;

/* Looks once and loads a new version; after a failure sets `reason`, else leaves it unchanged. */
sp_look_result sp_update__look(sp_update_state *u, sp_error *reason);

/* An order of any thread for the updater's. */
typedef struct sp_order { /* on the stack of the waiting thread */
	sp_order_kind kind;
	int64_t full_step; /* for SP_ORDER_PIN */
	int64_t delta_step;
	char by[256]; /* who gives the order, without control characters */
	bool done;
	sp_status status;
	sp_error error;
} sp_order;

/* Carries out an order and logs who gave it; sets its status and error. */
void sp_update__obey(sp_update_state *u, sp_order *order);

#endif
