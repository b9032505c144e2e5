#ifndef SP_API_HOST_REQUEST_LOG_H
#define SP_API_HOST_REQUEST_LOG_H

#include "api/host/metrics/counters.h"
#include "api/host/http/http_server.h"
#include "base/log_limit.h"

/*
 * Logs failed requests: as warnings if the client is to blame (4xx, 501, 505), else as errors:
 *
 *	2026-01-31T12:00:00.123Z WARNING [ctr] POST /v1/models/ctr:predict from 127.0.0.1:40312
 *	is answered 400: ...
 *
 * Each level has a rate limit (base/log_limit.h), with separate ones for other paths than the
 * model's.  Probes are not logged.
 *
 * All zero is the initial state.  Threads: thread-safe; a successful request costs nothing.
 */
typedef struct sp_request_log {
	sp_log_limit wrong, failed;               /* about the model */
	sp_log_limit others_wrong, others_failed; /* about other models and unknown paths */
} sp_request_log;

/* `model` is the name of the model that the request is for; NULL: none that there is. */
void sp_request_log_outcome(sp_request_log *log, sp_request_kind kind, const char *model,
			    const sp_http_outcome *outcome);

#endif
