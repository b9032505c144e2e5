#ifndef SP_API_HOST_OBSERVE_OBSERVER_H
#define SP_API_HOST_OBSERVE_OBSERVER_H

#include <stdint.h>

#include "api/host/flags.h"
#include "api/host/http/http_server.h"
#include "api/host/metrics/counters.h"
#include "api/host/observe/line_log.h"
#include "api/host/observe/span_export.h"
#include "base/status.h"

/*
 * Who is told of each answered request, beside the counters: the access log (--access_log), the log
 * of slow requests (--slow_request_ms), and an OpenTelemetry collector (--trace_endpoint).  With
 * none of them a request costs a look at its headers.  All zero is an observer of none.
 *
 * Threads: sp_observer_note() and sp_observer_lines_dropped() from any, several at once; the others
 * from one.
 */
typedef struct sp_observer {
	sp_line_log *access, *slow; /* NULL: none */
	int64_t slow_ns;
	sp_span_export *spans; /* NULL: none */
	double sample_rate;    /* of requests that bring no trace */
} sp_observer;

/* Errors: SP_INVALID for a malformed flag, SP_IO for a file that cannot be opened. */
SP_MUST_CHECK sp_status sp_observer_open(sp_observer *observer, const sp_flags *flags,
					 sp_error *err);

/* Writes and sends what waits. */
void sp_observer_close(sp_observer *observer);

/* Lines that the two logs have lost; NULL: 0. */
uint64_t sp_observer_lines_dropped(const sp_observer *observer);

/* Opens the files again. */
void sp_observer_reopen(sp_observer *observer);

/* The trace of a request, which is to be noted with it. */
void sp_observer_trace(const sp_observer *observer, sp_trace_context *out,
		       const sp_http_outcome *outcome);

/* `model` is NULL for a request of no model that there is. */
void sp_observer_note(const sp_observer *observer, const sp_http_outcome *outcome,
		      sp_request_kind kind, const char *model, const sp_trace_context *trace);

#endif
