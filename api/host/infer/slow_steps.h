#ifndef SP_API_HOST_INFER_SLOW_STEPS_H
#define SP_API_HOST_INFER_SLOW_STEPS_H

#include "api/host/metrics/call_record.h"
#include "api/serving_processor.h"

/*
 * The times of the steps of runs of which one may turn out to be slow (--slow_request_ms), or that
 * somebody wants to see (record->profiled).
 *
 * Threads: each has its own list, made at its first such run.
 */

/*
 * Where the next run records its steps; NULL if no log and no profile asks for them, or without
 * memory.
 */
serving_processor_steps *sp_slow_steps_begin(const sp_call_record *record);

/*
 * After a run from began_ns to ended_ns: sets record->steps if the request is slow by then, to
 *
 *	{"run_us":900.5,"slowest":[{"node":"a","op":"MatMul","us":500.1}, ...],
 *	 "others_us":300.2,"between_us":100.2}
 *
 * A step's time is without that of the steps within it.  The times of the slowest ones, of all
 * others, and between steps add up to run_us, that of the run itself.  `steps` as begin returned.
 *
 * record->events is set for a profile: what is between the brackets of traceEvents in Chrome's
 * format, an event for each step, in the track 2 of process 1.
 */
void sp_slow_steps_end(sp_call_record *record, serving_processor_steps *steps, int64_t began_ns,
		       int64_t ended_ns);

#endif
