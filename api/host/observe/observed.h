#ifndef SP_API_HOST_OBSERVE_OBSERVED_H
#define SP_API_HOST_OBSERVE_OBSERVED_H

#include <stdint.h>

#include "api/host/http/http_server.h"
#include "api/host/metrics/counters.h"
#include "api/host/observe/trace_context.h"

/* An answered request as logs and traces see it; valid while the observer is called. */
typedef struct sp_observed {
	const sp_http_outcome *outcome;
	sp_request_kind kind;
	const char *model; /* NULL: none that there is */
	sp_trace_context trace;
	int64_t wall_ns; /* Unix time of the answer */
	bool is_grpc;
	char peer[SP_HTTP_PEER_SIZE];
} sp_observed;

#endif
