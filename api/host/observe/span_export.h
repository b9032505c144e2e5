#ifndef SP_API_HOST_OBSERVE_SPAN_EXPORT_H
#define SP_API_HOST_OBSERVE_SPAN_EXPORT_H

#include <stdint.h>

#include "api/host/observe/observed.h"
#include "base/status.h"

/*
 * Sends the spans of sampled requests to an OpenTelemetry collector, by OTLP over HTTP as JSON
 * (otlp.h), from a thread of its own: up to SP_SPAN_BATCH requests in one message, at the latest
 * SP_SPAN_DELAY_MS after the first of them.
 *
 * A message that cannot be delivered, or is answered 429, 502, 503 or 504, is sent again, up to
 * SP_SPAN_TRIES times in all, after twice the time each; by any other answer it is lost.  Meanwhile
 * SP_SPAN_QUEUE requests may wait.  What finds no room, or is lost, is counted.
 *
 * Threads: thread-safe, but for open and close.
 */
typedef struct sp_span_export sp_span_export;

enum {
	SP_SPAN_QUEUE = 2048,
	SP_SPAN_BATCH = 256,
	SP_SPAN_DELAY_MS = 1000,
	SP_SPAN_TRIES = 5,
	SP_SPAN_TIMEOUT_MS = 10000, /* of a try */
	SP_SPAN_LAST_MS = 2000,     /* for all that waits, at the end */
};

/*
 * url  of the collector's traces: "http://127.0.0.1:4318/v1/traces"
 *
 * Errors: SP_INVALID for a URL that is neither http:// nor https://; SP_NO_MEMORY, SP_IO.
 */
SP_MUST_CHECK sp_status sp_span_export_open(sp_span_export **out, const char *url, sp_error *err);

/* Sends what waits, once.  NULL is fine. */
void sp_span_export_close(sp_span_export *spans);

/* The request's trace is sampled. */
void sp_span_export_add(sp_span_export *spans, const sp_observed *observed);

/* Requests whose spans were delivered; dropped.  0 for NULL. */
uint64_t sp_span_export_sent(const sp_span_export *spans);
uint64_t sp_span_export_dropped(const sp_span_export *spans);

#endif
