#ifndef SP_API_HOST_WORKER_H
#define SP_API_HOST_WORKER_H

#include "api/host/routes/serving.h"
#include "base/status.h"

/*
 * The threads that take requests from the queues: serving->worker_count for predictions, one
 * for orders, which may block for long, and one for metrics, which must be written however
 * busy the others are.
 */
typedef struct sp_workers sp_workers;

SP_MUST_CHECK sp_status sp_workers_create(sp_workers **out, sp_serving *serving, sp_error *err);

/* Joins them, after all queues were closed.  NULL is fine. */
void sp_workers_destroy(sp_workers *workers);

#endif
