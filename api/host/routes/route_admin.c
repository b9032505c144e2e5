#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"
#include "base/alloc.h"

/* Lists the versions and carries out orders; only with --admin_routes. */

static void answer_versions(const sp_serving *serving, sp_http_request *request)
{
	char *json = serving_processor_versions(serving->model.processor);
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

void sp_route_admin(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	sp_model_path name = *path;

	/* The version in the path of :pin is the one to serve, which need not be live. */
	name.has_version = false;
	if (!serving->flags->admin_routes)
		sp_http_request_fail(request, 403, "Only with --admin_routes");
	else if (!sp_route__find_model(serving, request, &name))
		return;
	else if (path->verb == SP_MODEL_VERSIONS)
		answer_versions(serving, request);
	else {
		sp_http_request_note_peer(request); /* the log says who gave the order */
		if (!sp_queue_try_push(serving->orders, request))
			sp_http_request_fail(request, 503, "too many orders are waiting");
	}
}

/* ---------------------------------------------------- on the thread for orders */

static serving_processor_code give_order(const sp_serving *serving, const sp_model_path *path,
					 const char *by, serving_processor_error **error)
{
	static const serving_processor_order orders[] = {
		[SP_MODEL_RELOAD] = SERVING_PROCESSOR_RELOAD,
		[SP_MODEL_ROLLBACK] = SERVING_PROCESSOR_ROLLBACK,
		[SP_MODEL_PIN] = SERVING_PROCESSOR_PIN,
		[SP_MODEL_UNPIN] = SERVING_PROCESSOR_PIN,
	};
	bool pins = path->verb == SP_MODEL_PIN;

	return serving_processor_give_order(serving->model.processor, orders[path->verb],
					    pins ? path->version : -1,
					    pins && path->has_delta ? path->delta : -1, by, error);
}

void sp_route_admin_carry_out(const sp_serving *serving, sp_http_request *request)
{
	serving_processor_error *error = NULL;
	serving_processor_code code;
	sp_model_path path;
	sp_error err;

	/* Parsed again, so that the queue holds nothing but the request. */
	if (sp_model_path_parse(&path, sp_http_request_head(request), &err) != SP_OK) {
		sp_route__fail(request, 400, &err);
		return;
	}
	code = give_order(serving, &path, sp_http_request_peer(request), &error);
	if (code == SERVING_PROCESSOR_OK) {
		answer_versions(serving, request);
		return;
	}
	sp_error_set(&err, (sp_status)code, "%s", serving_processor_error_text(error));
	serving_processor_error_free(error);
	sp_route__fail(request, sp_route__http_status((sp_status)code), &err);
}
