#ifndef SP_PROCESSOR_UPDATER_LOAD_H
#define SP_PROCESSOR_UPDATER_LOAD_H

#include "processor/updater/source.h"
#include "processor/updater/versions.h"

/* A version loaded from files, not published yet. */
typedef struct sp_loaded {
	sp_version *version; /* NULL after a failure */
	sp_version *full; /* for SP_ACTION_LOAD_BOTH: the full checkpoint alone, if it was read */
} sp_loaded;

/*
 * Loads the version that `found` names by the action `how`, SP_ACTION_LOAD_...  The caller owns
 * both versions, `full` even after a failure.  SP_NO_MEMORY when it does not fit in memory beside
 * the others, SP_BUSY when closing.
 */
SP_MUST_CHECK sp_status sp_load_version(sp_loaded *out, sp_action_kind how, const sp_source *source,
					sp_versions *versions, const sp_found_version *found,
					sp_error *err);

#endif
