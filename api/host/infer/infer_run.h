#ifndef SP_API_HOST_INFER_INFER_RUN_H
#define SP_API_HOST_INFER_INFER_RUN_H

#include "api/host/infer/infer_call.h"
#include "api/host/model/models.h"
#include "base/status.h"

/*
 * Runs a signature of the held version, alone or joined with other requests (batcher.h), and counts
 * the time for its model.  The caller ends *result by sp_infer_result_fini(); after a failure it is
 * all zero.
 *
 * Errors: those of sp_infer_call() and sp_batcher_run(); SP_DEADLINE; SP_CANCELLED.
 *
 * Threads: any, several at once.
 */
SP_MUST_CHECK sp_status sp_infer_run(const sp_servable *servable, const sp_infer_request *request,
				     const sp_infer_limits *limits, sp_infer_result *result,
				     sp_error *err);

#endif
