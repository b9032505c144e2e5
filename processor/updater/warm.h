#ifndef SP_PROCESSOR_UPDATER_WARM_H
#define SP_PROCESSOR_UPDATER_WARM_H

#include "processor/updater/source.h"
#include "processor/updater/versions.h"

/*
 * Sends a version its first requests before it is published, and checks its answers.  The first
 * version is warmed up on every session, later ones on the session that requests do not use.
 * SP_CORRUPT when answers change by more than update_max_score_change; SP_BUSY when closing; else
 * the error of a request.
 */
SP_MUST_CHECK sp_status sp_warm_version(const sp_source *source, const sp_versions *versions,
					const sp_version *version, sp_error *err);

#endif
