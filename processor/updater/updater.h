#ifndef SP_PROCESSOR_UPDATER_UPDATER_H
#define SP_PROCESSOR_UPDATER_UPDATER_H

#include <stdint.h>

#include "base/status.h"
#include "processor/updater/catalog.h"
#include "processor/updater/decide.h"
#include "processor/config/config.h"
#include "processor/version/version.h"
#include "session_group/published.h"

/*
 * Keeps the newest version of the model published: finds it, loads it beside the live one, warms it
 * up, publishes it, and frees the old one after its last request and its last handle.  One thread
 * at low priority does all of this.  Exactly one version is published at any time.
 *
 * By DeepRec's rules a version is newer if it has another full checkpoint than the live one (even
 * an older one, if the `checkpoint` file of its folder was written last), or a greater delta on the
 * same one.  In addition, so is the same version with other content, of its full checkpoint or of
 * the SavedModel.
 *
 * A version with missing files, or assets that have just changed, is waited for.  A complete one
 * that is broken, or too large for the memory left, is refused with its reason, and the live one
 * stays; attempts.h says when it is tried again.  If only its delta is broken, the full checkpoint
 * alone is served, if that is newer than the live version.
 *
 * Threads: orders may come from any thread; open and close from one.
 */
typedef struct sp_updater sp_updater;

/*
 * Publishes a first version and starts the thread.  Waits up to init_timeout_minutes for missing
 * files or files that have just changed, and for nothing else: a broken SavedModel, an unreadable
 * warm-up file, and a version that cannot be loaded or warmed up fail at once.  `config` and
 * `published` must outlive the updater.
 */
SP_MUST_CHECK sp_status sp_updater_open(sp_updater **out, const sp_config *config,
					sp_published *published, sp_error *err);

/* Ends all waits at once and joins the thread.  Only when no request is running.  NULL is fine. */
void sp_updater_close(sp_updater *updater);

sp_catalog *sp_updater_catalog(const sp_updater *updater);

/*
 * Carries out an order before it returns, which may include a load.  An error says why it was not;
 * the live version and the pin are then unchanged.  With a SavedModel alone all but SP_ORDER_RELOAD
 * are SP_UNSUPPORTED.  `by` is who gives the order, for log lines and the catalog; NULL: the host.
 *
 * SP_ORDER_RELOAD    forgets refusals, unpins, and loads the newest version even if it is live
 * SP_ORDER_ROLLBACK  goes back to the version that was live before, repeatedly if ordered again,
 * and then to the next older one on the disk.  The replaced version is refused until its files
 * change; later versions are still served, unless a version is pinned: the pin follows SP_ORDER_PIN
 * serves the version of these steps (delta_step -1: none) and no other until unpinned; full_step -1
 * unpins.  Newer versions are still looked for and listed
 */
SP_MUST_CHECK sp_status sp_updater_order(sp_updater *updater, sp_order_kind kind, int64_t full_step,
					 int64_t delta_step, const char *by, sp_error *err);

#endif
