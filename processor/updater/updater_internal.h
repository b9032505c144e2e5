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
 * The files, top down:
 *
 *   updater.c    the thread: orders, looks, folding, sleep
 *   look.c       one look: source.c finds, decide.c chooses
 *   obey.c       one order: the same
 *   bring_up.c   load.c, warm.c, versions.c: load, warm up, publish
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

/* Carries out an order and logs who gave it; sets its status and error. */
void sp_update__obey(sp_update_state *u, sp_order *order);

#endif
