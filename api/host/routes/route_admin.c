#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"
#include "base/alloc.h"

/* Lists the versions and carries out orders; only with --admin_routes. */

static void answer_versions(const sp_servable *servable, sp_http_request *request)
{
	char *json = serving_processor_versions(servable->served->processor);
	sp_buffer body;

	sp_buffer_init(&body, 64 << 20);
	sp_buffer_append_text(&body, json != NULL ? json : "");
	if (json == NULL || body.failed)
		sp_http_request_fail(request, 503, "no memory for the versions");
	else
		sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	sp_buffer_fini(&body);
	serving_processor_free(json);
}

static serving_processor_code give_order(void *processor, const sp_model_path *path, const char *by,
					 serving_processor_error **error)
{
	static const serving_processor_order orders[] = {
		[SP_MODEL_RELOAD] = SERVING_PROCESSOR_RELOAD,
		[SP_MODEL_ROLLBACK] = SERVING_PROCESSOR_ROLLBACK,
		[SP_MODEL_PIN] = SERVING_PROCESSOR_PIN,
		[SP_MODEL_UNPIN] = SERVING_PROCESSOR_PIN,
	};
	bool pins = path->verb == SP_MODEL_PIN;

	return serving_processor_give_order(processor, orders[path->verb],
					    pins ? path->version : -1,
					    pins && path->has_delta ? path->delta : -1, by, error);
}

static void answer_order(const sp_servable *servable, const sp_model_path *path,
			 sp_http_request *request)
{
	serving_processor_error *error = NULL;
	serving_processor_code code = give_order(servable->served->processor, path,
						 sp_http_request_peer(request), &error);
	sp_error err;

	if (code == SERVING_PROCESSOR_OK) {
		answer_versions(servable, request);
		return;
	}
	sp_error_set(&err, (sp_status)code, "%s", serving_processor_error_text(error));
	serving_processor_error_free(error);
	sp_route__fail(request, sp_route__http_status((sp_status)code), &err);
}

/* Answers a list of versions at once; orders are carried out by the thread for them. */
static void carry_out(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	sp_servable servable = {0};
	sp_model_path path;
	sp_error err;
	sp_status status = sp_model_path_parse(&path, sp_http_request_head(request), &err);

	(void)worker;
	if (status == SP_OK)
		status = sp_models_acquire_processor(serving->models, sp_bytes_of(path.name),
						     &servable, &err);
	if (status != SP_OK)
		sp_route__fail(request, sp_route__selection_status(status), &err);
	else if (path.verb == SP_MODEL_VERSIONS)
		answer_versions(&servable, request);
	else
		answer_order(&servable, &path, request);
	sp_servable_release(&servable);
}

void sp_route_admin(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	sp_queued item = {.request = request, .job = carry_out};
	sp_model_path name = *path;

	/* The version in the path of :pin is the one to serve, which need not be live. */
	name.has_version = false;
	if (!serving->flags->admin_routes)
		sp_http_request_fail(request, 403, "Only with --admin_routes");
	else if (!sp_route__find_model(serving, request, &name))
		return;
	else if (path->verb == SP_MODEL_VERSIONS)
		carry_out(serving, NULL, request);
	else {
		sp_http_request_note_peer(request); /* the log says who gave the order */
		if (!sp_request_queue_try_push(serving->orders, &item, 0))
			sp_http_request_fail(request, 503, "too many orders are waiting");
	}
}
