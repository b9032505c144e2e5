#ifndef SP_API_HOST_REQUEST_LOG_H
#define SP_API_HOST_REQUEST_LOG_H

#include "api/host/metrics/counters.h"
#include "api/host/http/http_server.h"
#include "base/log_limit.h"

/*
 * A log line for each request that ends with an error, a warning when the client is to
 * blame (4xx, 501, 505), else an error:
 *
 *	2026-01-31T12:00:00.123Z WARNING [ctr] POST /v1/models/ctr:predict from 127.0.0.1:40312
 *	is answered 400: ...
 *
 * with a limit (base/log_limit.h) for either, and others for requests that are not about
 * the model.  Probes have none: their status is their answer.
 *
 * All zero is the beginning.  Threads: thread-safe; requests that are answered cost nothing.
 */
typedef struct sp_request_log {
	sp_log_limit wrong, failed;               /* about the model */
	sp_log_limit others_wrong, others_failed; /* about others, or nothing that there is */
} sp_request_log;

void sp_request_log_outcome(sp_request_log *log, const char *model, const sp_http_outcome *outcome);

#endif
