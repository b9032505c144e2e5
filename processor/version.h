#ifndef SP_PROCESSOR_VERSION_H
#define SP_PROCESSOR_VERSION_H

#include <stdint.h>

#include "base/status.h"
#include "incremental/discover.h"
#include "model_loader/model.h"
#include "processor/config.h"
#include "session_group/session_group.h"

/*
 * One version of the model: its weights, and the sessions that read them.
 *
 * Threads: immutable once opened; the sessions are handed out by their group.
 */
typedef struct sp_version {
	sp_model *model;
	sp_session_group *sessions;
	char *checkpoint_prefix; /* "" when the SavedModel's own weights serve */
	int64_t full_step;       /* -1 without a checkpoint */
	int64_t delta_step;      /* -1 without a delta */
} sp_version;

/* What `found` names; NULL is the SavedModel with its own weights. */
SP_MUST_CHECK sp_status sp_version_open(sp_version **out, const sp_config *config,
					const sp_found_version *found, sp_error *err);

/* No session is in use.  NULL is fine. */
void sp_version_close(sp_version *version);

#endif
