#ifndef SP_API_HOST_ROUTES_MODEL_STATES_H
#define SP_API_HOST_ROUTES_MODEL_STATES_H

#include "api/host/metrics/metrics_write.h"
#include "api/host/routes/serving.h"
#include "base/arena.h"
#include "base/status.h"

/*
 * What metrics and the status page tell of all models: [*count] in the arena, by name.
 * Threads: any, several at once.
 */
SP_MUST_CHECK sp_status sp_route__model_states(const sp_serving *serving, sp_model_state **out,
					       size_t *count, sp_arena *arena, sp_error *err);

#endif
