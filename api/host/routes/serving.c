#include "api/host/routes/serving.h"

#include <stdio.h>

/* A tag has the kind in its lowest bits, the model's number above. */
enum { KIND_BITS = 6, KIND_MASK = (1 << KIND_BITS) - 1 };

_Static_assert((int)SP_REQUEST_COUNT <= (int)KIND_MASK, "a kind fits a tag");

void sp_serving_tag(sp_http_request *request, sp_request_kind kind, const sp_model *model)
{
	uint32_t number = model != NULL ? model->number : 0;

	sp_http_request_set_tag(request, (int)(number << KIND_BITS | kind));
}

sp_request_kind sp_serving_read_tag(const sp_serving *serving, int tag, sp_model **model)
{
	*model = sp_models_at(serving->models, (uint32_t)tag >> KIND_BITS);
	return (sp_request_kind)(tag & KIND_MASK);
}

bool sp_serving_is_ready(const sp_serving *serving, char why[SP_UNREADY_SIZE])
{
	if (!atomic_load(&serving->draining))
		return sp_models_are_ready(serving->models, why);
	if (why != NULL)
		snprintf(why, SP_UNREADY_SIZE, "draining");
	return false;
}

sp_status sp_serving_order(const sp_serving *serving, const sp_http_request *request,
			   sp_bytes model, serving_processor_order order, int64_t full_step,
			   int64_t delta_step, sp_error *err)
{
	serving_processor_error *error = NULL;
	serving_processor_code code;
	sp_servable servable;

	SP_TRY(sp_models_acquire_processor(serving->models, model, &servable, err));
	code = serving_processor_give_order(servable.served->processor, order, full_step,
					    delta_step, sp_http_request_peer(request), &error);
	sp_servable_release(&servable);
	return code == SERVING_PROCESSOR_OK ? SP_OK : sp_library_error(code, error, err);
}

void sp_serving_begin(const sp_serving *serving, sp_http_request *request, int64_t now_ns)
{
	sp_call_record *record = sp_http_request_record(request);

	record->begun_ns = now_ns;
	record->slow_ns = serving->observer != NULL ? serving->observer->slow_ns : 0;
}
