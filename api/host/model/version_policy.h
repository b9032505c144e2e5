#ifndef SP_API_HOST_MODEL_VERSION_POLICY_H
#define SP_API_HOST_MODEL_VERSION_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/model/model_config.h"
#include "api/host/model/version_status.h"

/*
 * Which versions of a model are wanted, and what is to be done next for it.
 *
 * Threads: pure.
 */

/* Whether a version on disk is to be served; `newer` versions beside it have a higher number. */
bool sp_version_policy_wants(const sp_version_policy *policy, int64_t version, size_t newer);

/* A version that is known of. */
typedef struct sp_version_fact {
	int64_t version;
	bool wanted;
	sp_version_state state;
	bool due; /* in the state START: a load may begin now */
} sp_version_fact;

typedef enum sp_version_action {
	SP_VERSION_WAIT,
	SP_VERSION_LOAD,
	SP_VERSION_UNLOAD
} sp_version_action;

typedef struct sp_version_step {
	sp_version_action action;
	size_t index; /* of the fact that it is about */
} sp_version_step;

/*
 * The next step: the newest wanted version is loaded first.  A version that is not wanted any more
 * is unloaded, the oldest first, once a wanted one is available or none is wanted: what is served
 * goes on until there is something to take its place.
 */
sp_version_step sp_version_policy_next(const sp_version_fact *facts, size_t count);

#endif
