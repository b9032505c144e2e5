#ifndef SP_PROCESSOR_UPDATER_LOAD_H
#define SP_PROCESSOR_UPDATER_LOAD_H

#include "processor/updater/source.h"
#include "processor/updater/versions.h"

/* From files to a version in memory, beside what is live. */
typedef struct sp_loaded {
	sp_version *version; /* NULL after a failure */
	sp_version *full; /* of SP_ACTION_LOAD_BOTH: the full checkpoint alone, if that was read */
} sp_loaded;

/*
 * Loads what `found` names, in one of the ways SP_ACTION_LOAD_...  Both versions are the
 * caller's, `full` also after a failure.  SP_NO_MEMORY when it does not fit beside what is in
 * memory, SP_BUSY when closing.
 */
SP_MUST_CHECK sp_status sp_load_version(sp_loaded *out, sp_action_kind how, const sp_source *source,
					sp_versions *versions, const sp_found_version *found,
					sp_error *err);

#endif
