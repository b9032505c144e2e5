#ifndef SP_API_HOST_WORKER_H
#define SP_API_HOST_WORKER_H

#include "api/host/host.h"
#include "api/host/predict/json_request.h"
#include "base/status.h"

/*
 * The threads that compute.  Each takes requests from host->queue until that is
 * closed and empty, and keeps the memory of one request for the next.
 */
typedef struct sp_workers sp_workers;

SP_MUST_CHECK sp_status sp_workers_create(sp_workers **out, sp_host *host, sp_error *err);

/* After the queue was closed.  NULL is fine. */
void sp_workers_destroy(sp_workers *workers);

#endif
