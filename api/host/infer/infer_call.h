#ifndef SP_API_HOST_INFER_INFER_CALL_H
#define SP_API_HOST_INFER_INFER_CALL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/metrics/call_record.h"
#include "api/serving_processor.h"
#include "base/status.h"

/* What ends a run early, and where it is noted. */
typedef struct sp_infer_limits {
	int64_t deadline_ns;          /* by sp_clock_now_ns(); 0: none */
	const atomic_bool *cancelled; /* NULL: nobody cancels */
	sp_call_record *record;       /* where the run is noted; NULL: nowhere */
} sp_infer_limits;

/* Ends the run at the latest so many microseconds from now; 0: no change. */
void sp_infer_limits_shorten(sp_infer_limits *limits, int64_t timeout_us);

/* Named tensors for a signature. */
typedef struct sp_infer_request {
	const serving_processor_signature *signature;
	const serving_processor_tensor *inputs; /* [input_count] */
	size_t input_count;
	const char *const *outputs; /* [output_count] to compute; 0: all */
	size_t output_count;
} sp_infer_request;

struct sp_made_outputs; /* batch_join.h */

/* What was computed.  The tensors are views of what the other members keep. */
typedef struct sp_infer_result {
	const serving_processor_tensor *tensors; /* [count] */
	size_t count;
	int64_t run_ns;                  /* how long the run took */
	serving_processor_result *whole; /* of the run; NULL: `made` */
	struct sp_made_outputs *made;    /* from the results of other runs */
} sp_infer_result;

/* SP_CANCELLED or SP_DEADLINE if the limits end a run at that time. */
SP_MUST_CHECK sp_status sp_infer_check(const sp_infer_limits *limits, int64_t now_ns,
				       sp_error *err);

/*
 * Has the library run a signature of the held version, once and by the calling thread.  *now_ns is
 * the time, and after a run the time at its end.
 *
 * Errors: those of serving_processor_handle_run_with().
 *
 * Threads: any, several at once.
 */
SP_MUST_CHECK sp_status sp_infer_call(sp_infer_result *out, const serving_processor_handle *handle,
				      const sp_infer_request *request,
				      const sp_infer_limits *limits, int64_t *now_ns,
				      sp_error *err);

/* All zero is fine. */
void sp_infer_result_fini(sp_infer_result *result);

#endif
