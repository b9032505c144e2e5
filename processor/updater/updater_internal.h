#ifndef SP_PROCESSOR_UPDATER_UPDATER_INTERNAL_H
#define SP_PROCESSOR_UPDATER_UPDATER_INTERNAL_H

#include "processor/updater/decide.h"
#include "processor/updater/fold.h"
#include "processor/updater/listing.h"
#include "processor/updater/orders.h"
#include "processor/updater/pin.h"
#include "processor/updater/source.h"
#include "processor/updater/versions.h"

/*
 * A version's way, top down:
 *
 *   updater.c    the thread: orders, looks, folding, sleep
 *   look.c       one look: source.c finds, decide.c chooses
 *   obey.c       one order: the same
 *   bring_up.c   load.c, warm.c, versions.c: load, warm up, publish
 *
 * Each calls only those below it.  What they share is the parts of sp_update_state.
 *
 * Threads: the updater's; before it starts, the opener's.
 */
typedef struct sp_update_state {
	sp_source source;     /* where versions come from */
	sp_versions versions; /* what is in memory */
	sp_attempts attempts; /* what could not be had */
	sp_pin pin;
	sp_listing listing; /* what is told of those that are not served */
	sp_fold fold;       /* of the live version's delta */
} sp_update_state;

/*
 * Loads the target of a SP_ACTION_LOAD_..., warms it up and publishes it; else it is refused,
 * and stays as it was when closing.  When only the delta is broken the full checkpoint is
 * published alone, unless the action is exact; the status is still the delta's.
 */
SP_MUST_CHECK sp_status sp_update__bring_up(sp_update_state *u, const sp_action *action,
					    sp_error *err);

/* Publishes again what was live before, and is in memory, under `name`. */
void sp_update__republish(sp_update_state *u, const sp_found_version *name);

typedef struct sp_look_result {
	bool in_vain;       /* what is there cannot be had, whatever the reason: no use to wait */
	int64_t settled_ms; /* on our clock, when to look again for what settles; INT64_MAX: never
			     */
} sp_look_result;

/* Looks once, and loads what is new; `reason` says why it could not, and else stays as it is. */
sp_look_result sp_update__look(sp_update_state *u, sp_error *reason);

/* Carries out an order, and tells who ordered what: fills in its status and error. */
void sp_update__obey(sp_update_state *u, sp_order *order);

#endif
