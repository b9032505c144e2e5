#ifndef SP_API_HOST_WORKERS_H
#define SP_API_HOST_WORKERS_H

#include "api/host/routes/serving.h"
#include "base/status.h"

/*
 * The threads that carry out queued jobs: serving->worker_count for predictions, one for orders,
 * which may block for long, and one for metrics, which must be written even if all others are busy.
 */
typedef struct sp_workers sp_workers;

SP_MUST_CHECK sp_status sp_workers_create(sp_workers **out, sp_serving *serving, sp_error *err);

/* Joins them; all queues must be closed.  NULL is fine. */
void sp_workers_destroy(sp_workers *workers);

#endif
