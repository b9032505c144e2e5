#ifndef SP_API_HOST_INFER_INFER_RUN_H
#define SP_API_HOST_INFER_INFER_RUN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/model/models.h"
#include "api/serving_processor.h"
#include "base/status.h"

/* What ends a run early. */
typedef struct sp_infer_limits {
	int64_t deadline_ns;          /* by sp_clock_now_ns(); 0: none */
	const atomic_bool *cancelled; /* NULL: nobody cancels */
} sp_infer_limits;

/* Named tensors for a signature. */
typedef struct sp_infer_request {
	const serving_processor_signature *signature;
	const serving_processor_tensor *inputs; /* [input_count] */
	size_t input_count;
	const char *const *outputs; /* [output_count] to compute; 0: all */
	size_t output_count;
} sp_infer_request;

/*
 * Runs a signature of the held version, and counts the time for its model.  The caller frees
 * *result.
 *
 * Errors: those of serving_processor_handle_run_with(); SP_DEADLINE; SP_CANCELLED.
 *
 * Threads: any, several at once.
 */
SP_MUST_CHECK sp_status sp_infer_run(const sp_servable *servable, const sp_infer_request *request,
				     const sp_infer_limits *limits,
				     serving_processor_result **result, sp_error *err);

#endif
