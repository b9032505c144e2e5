#include "api/host/infer/infer_run.h"

#include <string.h>

#include "api/host/infer/batcher.h"
#include "base/clock.h"

static int64_t rows_of(const sp_infer_request *request)
{
	const serving_processor_tensor *first = request->inputs;

	return request->input_count != 0 && first->rank > 0 ? first->dims[0] : -1;
}

/* If a request runs several times, the record keeps the begin of the first run. */
static void note(sp_call_record *record, const sp_servable *servable,
		 const sp_infer_request *request, int64_t now_ns)
{
	if (record->run_ns != 0)
		return;
	record->run_ns = now_ns;
	record->version = servable->version;
	record->rows = rows_of(request);
	record->profiled = atomic_load_explicit(&servable->model->profile, memory_order_relaxed) !=
			   NULL;
	(void)memccpy(record->signature, request->signature->name, '\0',
		      sizeof(record->signature) - 1);
}

sp_status sp_infer_run(const sp_servable *servable, const sp_infer_request *request,
		       const sp_infer_limits *limits, sp_infer_result *result, sp_error *err)
{
	int64_t now_ns = sp_clock_now_ns();
	sp_status status;

	*result = (sp_infer_result){0};
	SP_TRY(sp_infer_check(limits, now_ns, err));
	if (limits->record != NULL)
		note(limits->record, servable, request, now_ns);
	if (servable->batcher != NULL) {
		SP_TRY(sp_batcher_run(servable->batcher, servable, request, limits, result, err));
		now_ns = sp_clock_now_ns();
	} else {
		SP_TRY(sp_infer_call(result, servable->handle, request, limits, &now_ns, err));
	}
	if (limits->record != NULL)
		limits->record->ran_ns = now_ns;
	if (servable->batcher == NULL)
		sp_size_histogram_add(&servable->model->counters.run_rows, rows_of(request));
	sp_histogram_add(&servable->model->counters.runtime, result->run_ns);
	atomic_fetch_add_explicit(&servable->served->runs, 1, memory_order_relaxed);
	if (servable->shadow != NULL && servable->shadow_version >= 0)
		servable->shadow->offer(servable->shadow->context, servable, request, result);
	status = sp_infer_check(limits, now_ns, err);
	if (status != SP_OK)
		sp_infer_result_fini(result);
	else if (servable->sampling != NULL)
		servable->samples->offer(servable->samples->context, servable, request, result,
					 NULL);
	return status;
}
