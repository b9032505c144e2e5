#include "api/host/infer/infer_run.h"

#include "base/clock.h"

static sp_status check_limits(const sp_infer_limits *limits, int64_t now, sp_error *err)
{
	if (limits->cancelled != NULL && atomic_load(limits->cancelled))
		return sp_error_set(err, SP_CANCELLED, "the client has cancelled the request");
	if (limits->deadline_ns != 0 && now >= limits->deadline_ns)
		return sp_error_set(err, SP_DEADLINE, "the deadline of the request has passed");
	return SP_OK;
}

sp_status sp_infer_run(const sp_servable *servable, const sp_infer_request *request,
		       const sp_infer_limits *limits, serving_processor_result **result,
		       sp_error *err)
{
	const serving_processor_run_options options = {.size = sizeof(options),
						       .deadline_ns = limits->deadline_ns,
						       .cancelled = limits->cancelled};
	serving_processor_error *error = NULL;
	int64_t began = sp_clock_now_ns(), ended;
	serving_processor_code code;
	sp_status status;

	*result = NULL;
	SP_TRY(check_limits(limits, began, err));
	code = serving_processor_handle_run_with(
		servable->handle, request->signature->name, request->inputs, request->input_count,
		request->outputs, request->output_count, &options, result, &error);
	if (code != SERVING_PROCESSOR_OK) {
		sp_error_set(err, (sp_status)code, "%s", serving_processor_error_text(error));
		serving_processor_error_free(error);
		return (sp_status)code;
	}
	ended = sp_clock_now_ns();
	sp_histogram_add(&servable->model->counters.runtime, ended - began);
	atomic_fetch_add_explicit(&servable->served->runs, 1, memory_order_relaxed);
	if (servable->shadow != NULL && servable->shadow_version >= 0)
		servable->shadow->offer(servable->shadow->context, servable, request, *result);
	status = check_limits(limits, ended, err);
	if (status != SP_OK) {
		serving_processor_result_free(*result);
		*result = NULL;
	}
	return status;
}
