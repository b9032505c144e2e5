#ifndef SP_PROCESSOR_UPDATER_UPDATER_H
#define SP_PROCESSOR_UPDATER_UPDATER_H

#include <stdint.h>

#include "base/status.h"
#include "processor/updater/catalog.h"
#include "processor/config/config.h"
#include "processor/version/version.h"
#include "session_group/published.h"

/*
 * Keeps the newest version of the model published: finds it, loads it beside the live one, warms
 * it up, publishes it, and frees the old one after its last request and its last handle.  One
 * thread does all of that, at low priority.  What is published is one version, always.
 *
 * What counts as newer are DeepRec's rules: another full checkpoint than the
 * live one (also an older one, when its folder's `checkpoint` was touched last),
 * or a greater delta on the same; and one thing more: the same version with
 * other content, of its full checkpoint or of the SavedModel.
 *
 * A version whose files are not all there, or whose assets have just changed, is waited for.  One
 * that is complete and broken, or too large for the memory that is left, is refused with its
 * reason, and the live one stays; attempts.h says when it is tried again.  When only its delta is
 * broken, the full checkpoint alone is served, if that is newer than what is live.
 *
 * Threads: the orders may come from any thread; open and close from one.
 */
typedef struct sp_updater sp_updater;

/*
 * Publishes a first version and starts the thread.  Waits as init_timeout_minutes says for files
 * that are not all there or have just changed, and for nothing else: a broken SavedModel, a
 * warm-up file that cannot be read, and a version that cannot be loaded or warmed up fail at
 * once.  `config` and `published` outlive the updater.
 */
SP_MUST_CHECK sp_status sp_updater_open(sp_updater **out, const sp_config *config,
					sp_published *published, sp_error *err);

/* Ends every wait at once and joins the thread.  No request is under way.  NULL is fine. */
void sp_updater_close(sp_updater *updater);

sp_catalog *sp_updater_catalog(const sp_updater *updater);

/*
 * Orders; each returns when it is carried out, which may take a load.  Errors
 * say why not; the live version and the pin stay then.  Of one SavedModel alone all
 * but reload is SP_UNSUPPORTED.  `by` is who gives it, for log lines and the catalog;
 * NULL: the host.
 *
 * reload    forgets what was refused, unpins, and loads the newest version even
 *           if it is the live one
 * rollback  goes back to the version that was live before, as often as there was one, and then
 *           to the next older one on the disk; refuses the one that is left until its files
 *           change; what comes after it is taken, unless a version is pinned: the pin goes along
 * pin       serves the version of these steps (delta_step -1: none) and no
 *           other until unpinned; full_step -1 unpins.  Newer ones are looked for, and told of.
 */
SP_MUST_CHECK sp_status sp_updater_reload(sp_updater *updater, const char *by, sp_error *err);
SP_MUST_CHECK sp_status sp_updater_rollback(sp_updater *updater, const char *by, sp_error *err);
SP_MUST_CHECK sp_status sp_updater_pin(sp_updater *updater, int64_t full_step, int64_t delta_step,
				       const char *by, sp_error *err);

#endif
