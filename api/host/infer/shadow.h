#ifndef SP_API_HOST_INFER_SHADOW_H
#define SP_API_HOST_INFER_SHADOW_H

#include "api/host/infer/infer_run.h"
#include "api/host/model/models.h"
#include "base/status.h"

/*
 * Runs copies of requests by a second version, compares its outputs with those that were answered,
 * and counts how often they differ (sp_model_counters).  What it computes is never answered.
 *
 * One thread of the lowest priority runs them.  If too many requests or bytes already wait, a
 * request is dropped and counted, so that shadow runs never delay an answer.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_shadow sp_shadow;

SP_MUST_CHECK sp_status sp_shadow_create(sp_shadow **out, sp_models *models, sp_error *err);

/* Drops what waits; no request may run any more.  NULL is fine. */
void sp_shadow_destroy(sp_shadow *shadow);

/* For sp_models_set_shadow(). */
const sp_shadow_sink *sp_shadow_get_sink(const sp_shadow *shadow);

#endif
