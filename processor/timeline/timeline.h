#ifndef SP_PROCESSOR_TIMELINE_TIMELINE_H
#define SP_PROCESSOR_TIMELINE_TIMELINE_H

#include <stdint.h>

#include "base/status.h"
#include "engine/runtime/program.h"
#include "processor/config/config.h"
#include "processor/version/version.h"

/*
 * DeepRec's timeline_* keys: of some requests, the time of each step is written to the file
 * <timeline_path>/timeline-<n>, n from 0, as the JSON of Chrome's tracing (chrome://tracing,
 * Perfetto).  Requests timeline_start_step, then each timeline_interval_step after it, are traced,
 * timeline_trace_count of them; the first request has number 0.
 *
 * Files are written by a thread of their own.  If it is behind, requests are left out.
 *
 * Threads: thread-safe, except open and close.
 */
typedef struct sp_timeline sp_timeline;

/*
 * *out is NULL unless all four keys are given.  `config` outlives it.
 *
 * SP_INVALID, SP_UNSUPPORTED: timeline_path is not a local one.
 */
SP_MUST_CHECK sp_status sp_timeline_open(sp_timeline **out, const sp_config *config, sp_error *err);

/* Writes what waits.  NULL is fine. */
void sp_timeline_close(sp_timeline *timeline);

/* One traced request. */
typedef struct sp_traced sp_traced;

/* Counts a request; NULL: it is not traced, or there is no memory. */
sp_traced *sp_timeline_begin(sp_timeline *timeline);

/* The request has not run.  NULL is fine. */
void sp_timeline_drop(sp_traced *traced);

/* Where its steps are recorded; NULL for NULL. */
sp_run_trace *sp_traced_steps(sp_traced *traced);

/*
 * The request has ended on `session`; it is handed to the thread that writes, which holds `version`
 * meanwhile.  `admitted_ns` is when it got its session.
 */
void sp_timeline_end(sp_traced *traced, const sp_version *version, const char *signature,
		     size_t session, int64_t admitted_ns);

#endif
