#ifndef SP_API_HOST_OBSERVE_OTLP_H
#define SP_API_HOST_OBSERVE_OTLP_H

#include <stdbool.h>
#include <stddef.h>

#include "api/host/observe/observed.h"
#include "base/buffer.h"

/*
 * Requests as the JSON of OTLP's ExportTraceServiceRequest: for each a server span, whose parent is
 * the caller's span, and below it a span for each stage that it came through.  Attributes have the
 * names of OpenTelemetry's semantic conventions for HTTP and RPC; those of the model begin with
 * "serving.".
 *
 * Threads: pure, but for the random numbers of spans.
 */

/* What is kept of a request until it is sent; longer texts are cut. */
typedef struct sp_span_call {
	sp_trace_context trace;
	sp_call_record record;
	int64_t wall_ns;
	int status, major, minor, grpc_code; /* -1: it is not gRPC */
	bool secure;
	size_t bytes_out;
	char method[16], path[192], model[64], peer[64], agent[64], reason[128];
} sp_span_call;

void sp_span_call_fill(sp_span_call *out, const sp_observed *observed);

void sp_otlp_write(sp_buffer *out, const sp_span_call *calls, size_t count);

#endif
