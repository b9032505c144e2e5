#ifndef SP_API_HOST_MODEL_VERSION_POLICY_H
#define SP_API_HOST_MODEL_VERSION_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/model/model_config.h"
#include "api/host/model/models_internal.h"

/*
 * Which versions of a model are wanted, and what is to be done next for it.
 *
 * Threads: pure.
 */

/* Whether a version on disk is to be served; `newer` versions beside it have a higher number. */
bool sp_version_policy_wants(const sp_version_policy *policy, int64_t version, size_t newer);

/*
 * The unit that the next step is about: one in the state AVAILABLE is to be unloaded, one in the
 * state START to be loaded.  NULL: there is nothing to do at the time `now_ns`.
 *
 * The newest wanted version is loaded first.  A version that is not wanted any more is unloaded,
 * the oldest first, once a wanted one is available or none is wanted: what is served goes on until
 * there is something to take its place.
 */
sp_unit *sp_version_policy_next(sp_unit *units, int64_t now_ns);

#endif
