#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

/*
 * /healthz/live: 200 as long as the process answers.  /healthz/ready: 200 once every
 * model has a version, 503 again when the process has been told to end.
 */

static void answer(sp_http_request *request, const char *text)
{
	sp_buffer body;

	sp_buffer_init(&body, 64);
	sp_buffer_append_text(&body, text);
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	sp_buffer_fini(&body);
}

void sp_route_health(const sp_serving *serving, sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);
	bool live = sp_bytes_equal_text(head->path, "/healthz/live");

	sp_serving_tag(request, SP_REQUEST_HEALTH, NULL);
	if (!live && !sp_bytes_equal_text(head->path, "/healthz/ready"))
		sp_http_request_fail(request, 404, "Not found");
	else if (head->method != SP_HTTP_GET && head->method != SP_HTTP_HEAD)
		sp_route__refuse_method(request, "GET, HEAD");
	else if (live)
		answer(request, "{\"live\":true}");
	else if (atomic_load(&serving->draining))
		sp_http_request_fail(request, 503, "draining");
	else if (!sp_models_are_ready(serving->models))
		sp_http_request_fail(request, 503, "the model is loading");
	else
		answer(request, "{\"ready\":true}");
}
