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

void sp_route__answer(sp_http_request *request, sp_buffer *body)
{
	if (body->failed)
		sp_http_request_fail(request, 503, "no memory for the answer");
	else
		sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = body});
	sp_buffer_fini(body);
}

void sp_route__finish(sp_http_request *request, int status, sp_buffer *body, const sp_error *err)
{
	if (status == 200)
		sp_route__answer(request, body);
	else
		sp_route__fail(request, status, err);
	sp_buffer_fini(body);
}

void sp_route__answer_text(sp_http_request *request, const char *json)
{
	sp_buffer body;

	sp_buffer_init(&body, 256);
	sp_buffer_append_text(&body, json);
	sp_route__answer(request, &body);
}

bool sp_route__is_get(const sp_http_request *request)
{
	sp_http_method method = sp_http_request_head(request)->method;

	return method == SP_HTTP_GET || method == SP_HTTP_HEAD;
}

void sp_route__refuse(sp_http_request *request, int status, const char *text, const char *header,
		      const char *value)
{
	const sp_http_header field = {sp_bytes_of(header), sp_bytes_of(value)};
	sp_buffer body;

	sp_buffer_init(&body, 256);
	sp_buffer_printf(&body, "{\"error\":\"%s\"}", text);
	sp_http_request_answer(request, &(sp_http_answer){.status = status,
							  .body = &body,
							  .headers = &field,
							  .header_count = 1,
							  .reason = text});
	sp_buffer_fini(&body);
}

void sp_route__refuse_method(sp_http_request *request, const char *allowed)
{
	sp_route__refuse(request, 405, "Method not allowed", "allow", allowed);
}

sp_model_selector sp_route__selector(const sp_route_path *path)
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
			  const sp_route_path *path)
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
		sp_http_request_record(request)->rejection = SP_REJECTED_MODEL_FULL;
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
	sp_http_request_record(request)->rejection = SP_REJECTED_QUEUE_FULL;
	sp_http_request_fail(request, 503, "too many requests are waiting");
}

void sp_route__enqueue_for(sp_serving *serving, sp_http_request *request, const sp_route_path *path,
			   sp_job *job)
{
	if (sp_route__find_model(serving, request, path))
		sp_route__enqueue(serving, request, job);
}

void sp_route__enqueue_scrape(sp_serving *serving, sp_http_request *request, sp_job *job)
{
	sp_queued item = {.request = request, .job = job};

	if (!sp_route__is_get(request))
		sp_route__refuse_method(request, "GET, HEAD");
	else if (!sp_request_queue_try_push(serving->scrapes, &item, 0))
		sp_http_request_fail(request, 503, "too many scrapes are waiting");
}

void sp_route__enqueue_order(sp_serving *serving, sp_http_request *request, sp_job *job)
{
	sp_queued item = {.request = request, .job = job};

	sp_http_request_note_peer(request); /* the log says who gave the order */
	if (!sp_request_queue_try_push(serving->orders, &item, 0))
		sp_http_request_fail(request, 503, "too many orders are waiting");
}
