#ifndef SP_API_HOST_INFER_SHADOW_H
#define SP_API_HOST_INFER_SHADOW_H

#include "api/host/infer/infer_run.h"
#include "api/host/model/models.h"
#include "base/status.h"

/*
 * Runs copies of requests by a second version, compares its outputs with those that were answered,
 * and counts how often they differ (sp_model_counters).  What it computes is never answered.
 *
 * One thread of the lowest priority does it.  A request that comes while too many wait, or too many
 * bytes, is dropped and counted: the answers of others are never late for it.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_shadow sp_shadow;

SP_MUST_CHECK sp_status sp_shadow_create(sp_shadow **out, sp_models *models, sp_error *err);

/* Drops what waits.  NULL is fine. */
void sp_shadow_destroy(sp_shadow *shadow);

/*
 * Takes a copy of a request that `servable` has run with this result, if it is to be run by
 * servable->shadow_version as well.
 */
void sp_shadow_offer(const sp_servable *servable, const sp_infer_request *request,
		     const sp_infer_result *result);

#endif
