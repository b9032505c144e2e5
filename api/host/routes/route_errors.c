#include "api/host/routes/route_errors.h"

int sp_route__http_status(sp_status status)
{
	switch (status) {
	case SP_OK:
		return 200;
	case SP_NOT_FOUND:
	case SP_INVALID:
		return 400;
	case SP_UNSUPPORTED:
		return 501;
	case SP_IO:
	case SP_NO_MEMORY:
	case SP_BUSY:
		return 503;
	case SP_DEADLINE:
		return 504;
	case SP_CANCELLED:
		return 499;
	case SP_CORRUPT:
	case SP_INTERNAL:
		break;
	}
	return 500;
}

void sp_route__fail(sp_http_request *request, int status, const sp_error *err)
{
	sp_http_request_fail(request, status, err->text);
}

void sp_route__refuse_method(sp_http_request *request, const char *allowed)
{
	static const char text[] = "Method not allowed";
	const sp_http_header allow = {sp_bytes_of("allow"), sp_bytes_of(allowed)};
	sp_buffer body;

	sp_buffer_init(&body, 128);
	sp_buffer_printf(&body, "{\"error\":\"%s\"}", text);
	sp_http_request_answer(request, &(sp_http_answer){.status = 405,
							  .body = &body,
							  .headers = &allow,
							  .header_count = 1,
							  .reason = text});
	sp_buffer_fini(&body);
}

sp_model_selector sp_route__selector(const sp_model_path *path)
{
	return (sp_model_selector){
		.name = sp_bytes_of(path->name),
		.has_version = path->has_version,
		.version = path->version,
		.label = sp_bytes_of(path->has_label ? path->label : ""),
	};
}

static sp_bytes read_header(const void *context, const char *name)
{
	return sp_http_head_get(sp_http_request_head(context), name);
}

void sp_route__use_headers(sp_model_selector *selector, const sp_http_request *request)
{
	selector->header = read_header;
	selector->context = request;
}

int sp_route__selection_status(sp_status status)
{
	return status == SP_NOT_FOUND ? 404 : sp_route__http_status(status);
}

bool sp_route__find_model(const sp_serving *serving, sp_http_request *request,
			  const sp_model_path *path)
{
	sp_model_selector selector = sp_route__selector(path);
	sp_servable servable;
	sp_error err;
	sp_status status = sp_models_acquire(serving->models, &selector, &servable, &err);

	if (status != SP_OK)
		sp_route__fail(request, sp_route__selection_status(status), &err);
	sp_servable_release(&servable);
	return status == SP_OK;
}

int sp_route__hold_model(sp_serving *serving, const sp_http_request *request, sp_sticky_body *body,
			 sp_servable *out, sp_error *err)
{
	sp_model_selector selector;
	sp_model_path path;
	sp_status status = sp_model_path_parse(&path, sp_http_request_head(request), err);

	if (status != SP_OK)
		return 400;
	selector = sp_route__selector(&path);
	sp_route__use_headers(&selector, request);
	status = sp_models_acquire(serving->models, &selector, out, err);
	sp_models_follow_field(serving->models, out, sp_sticky_find, body);
	return sp_route__selection_status(status);
}

sp_host_signatures sp_route__signatures(const sp_servable *servable)
{
	sp_host_signatures set = {.fallback = serving_processor_handle_signature(
					  servable->handle, servable->served->signature_name)};

	set.signatures = serving_processor_handle_signatures(servable->handle, &set.count);
	return set;
}

sp_status sp_route__no_signature(sp_bytes name, sp_error *err)
{
	return sp_error_set(err, SP_NOT_FOUND,
			    "Serving signature name: \"%.*s\" not found in signature def",
			    name.size < 200 ? (int)name.size : 200, name.data);
}

/* Whether the model has as many requests as it may have at a time. */
static bool is_full(const sp_model *model)
{
	uint64_t most = atomic_load(&model->max_requests);
	uint64_t ended = sp_counter_get(&model->counters.ended);

	return most != 0 && sp_counter_get(&model->counters.begun) - ended >= most;
}

void sp_route__enqueue(sp_serving *serving, sp_http_request *request, sp_job *job)
{
	sp_queued item = {.request = request, .job = job};
	sp_model *model;

	sp_serving_read_tag(serving, sp_http_request_tag(request), &model);
	if (model != NULL && is_full(model)) {
		sp_http_request_fail(request, 503, "too many requests of this model are waiting");
		return;
	}
	if (sp_jobs_here_try(serving->here, serving, request, job, model))
		return;
	if (model != NULL) {
		item.counters = &model->counters;
		sp_counter_add(&model->counters.begun, 1);
	}
	if (sp_request_queue_try_push(serving->queue, &item, sp_http_request_body(request).size))
		return;
	if (model != NULL)
		sp_counter_add(&model->counters.ended, 1);
	sp_http_request_fail(request, 503, "too many requests are waiting");
}
