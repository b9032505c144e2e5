#ifndef SP_PROCESSOR_UPDATER_WARM_H
#define SP_PROCESSOR_UPDATER_WARM_H

#include "processor/updater/source.h"
#include "processor/updater/versions.h"

/*
 * The first requests of a version that is not published yet, and a last look at its answers.
 * The first version of all is warmed on every session, a later one on the session that no
 * request has.  SP_CORRUPT when answers change by more than update_max_score_change; SP_BUSY
 * when closing; else what a request failed with.
 */
SP_MUST_CHECK sp_status sp_warm_version(const sp_source *source, const sp_versions *versions,
					const sp_version *version, sp_error *err);

#endif
