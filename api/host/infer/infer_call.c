#include "api/host/infer/infer_call.h"

#include "api/host/infer/batch_join.h"
#include "api/host/infer/slow_steps.h"
#include "api/host/model/served_model.h"
#include "base/clock.h"

void sp_infer_limits_shorten(sp_infer_limits *limits, int64_t timeout_us)
{
	int64_t deadline_ns;

	if (timeout_us <= 0 || timeout_us > INT64_MAX / 2000)
		return;
	deadline_ns = sp_clock_now_ns() + timeout_us * 1000;
	if (limits->deadline_ns == 0 || deadline_ns < limits->deadline_ns)
		limits->deadline_ns = deadline_ns;
}

sp_status sp_infer_check(const sp_infer_limits *limits, int64_t now_ns, sp_error *err)
{
	if (limits->cancelled != NULL && atomic_load(limits->cancelled))
		return sp_error_set(err, SP_CANCELLED, "the client has cancelled the request");
	if (limits->deadline_ns != 0 && now_ns >= limits->deadline_ns)
		return sp_error_set(err, SP_DEADLINE, "the deadline of the request has passed");
	return SP_OK;
}

sp_status sp_infer_call(sp_infer_result *out, const serving_processor_handle *handle,
			const sp_infer_request *request, const sp_infer_limits *limits,
			int64_t *now_ns, sp_error *err)
{
	serving_processor_steps *steps = sp_slow_steps_begin(limits->record);
	const serving_processor_run_options options = {.size = sizeof(options),
						       .deadline_ns = limits->deadline_ns,
						       .cancelled = limits->cancelled,
						       .steps = steps};
	serving_processor_error *error = NULL;
	int64_t began = *now_ns;
	serving_processor_code code;

	*out = (sp_infer_result){0};
	code = serving_processor_handle_run_with(
		handle, request->signature->name, request->inputs, request->input_count,
		request->outputs, request->output_count, &options, &out->whole, &error);
	if (code != SERVING_PROCESSOR_OK)
		return sp_library_error(code, error, err);
	*now_ns = sp_clock_now_ns();
	sp_slow_steps_end(limits->record, steps, began, *now_ns);
	out->run_ns = *now_ns - began;
	out->count = serving_processor_result_count(out->whole);
	out->tensors = serving_processor_result_tensor(out->whole, 0);
	return SP_OK;
}

void sp_infer_result_fini(sp_infer_result *result)
{
	serving_processor_result_free(result->whole);
	sp_made_outputs_release(result->made);
	*result = (sp_infer_result){0};
}
