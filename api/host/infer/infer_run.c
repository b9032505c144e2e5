#include "api/host/infer/infer_run.h"

#include "api/host/infer/batcher.h"
#include "base/clock.h"

sp_status sp_infer_run(const sp_servable *servable, const sp_infer_request *request,
		       const sp_infer_limits *limits, sp_infer_result *result, sp_error *err)
{
	sp_status status;

	*result = (sp_infer_result){0};
	SP_TRY(sp_infer_check(limits, sp_clock_now_ns(), err));
	if (servable->batcher != NULL)
		SP_TRY(sp_batcher_run(servable->batcher, servable, request, limits, result, err));
	else
		SP_TRY(sp_infer_call(result, servable->handle, request, limits, err));
	sp_histogram_add(&servable->model->counters.runtime, result->run_ns);
	atomic_fetch_add_explicit(&servable->served->runs, 1, memory_order_relaxed);
	if (servable->shadow != NULL && servable->shadow_version >= 0)
		servable->shadow->offer(servable->shadow->context, servable, request, result);
	status = sp_infer_check(limits, sp_clock_now_ns(), err);
	if (status != SP_OK)
		sp_infer_result_fini(result);
	return status;
}
