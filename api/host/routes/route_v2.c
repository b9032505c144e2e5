#include "api/host/routes/route_v2.h"

#include "api/host/routes/route_errors.h"
#include "api/host/v2/v2_describe.h"

static void answer_text(sp_http_request *request, const char *text)
{
	sp_buffer body;

	sp_buffer_init(&body, 64);
	sp_buffer_append_text(&body, text);
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	sp_buffer_fini(&body);
}

static void answer_ready(const sp_serving *serving, sp_http_request *request)
{
	if (atomic_load(&serving->draining))
		sp_http_request_fail(request, 503, "draining");
	else if (!sp_models_are_ready(serving->models))
		sp_http_request_fail(request, 503, "a model is loading");
	else
		answer_text(request, "{\"ready\":true}");
}

static void answer_server(sp_http_request *request)
{
	sp_buffer body;

	sp_buffer_init(&body, 4096);
	sp_v2_write_server(&body);
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	sp_buffer_fini(&body);
}

sp_model_selector sp_route__v2_selector(const sp_v2_path *path)
{
	return (sp_model_selector){.name = sp_bytes_of(path->name),
				   .has_version = path->has_version,
				   .version = path->version,
				   .label = {"", 0}};
}

/* Tags the request for the counters. */
static void tag(const sp_serving *serving, sp_http_request *request, const sp_v2_path *path)
{
	sp_model *model = sp_models_find(serving->models, sp_bytes_of(path->name));

	if (path->verb == SP_V2_LIVE || path->verb == SP_V2_READY)
		sp_serving_tag(request, SP_REQUEST_HEALTH, NULL);
	else if (model != NULL)
		sp_serving_tag(request,
			       path->verb == SP_V2_INFER ? SP_REQUEST_PREDICT : SP_REQUEST_METADATA,
			       model);
}

void sp_route_v2(sp_serving *serving, sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);
	bool get = head->method == SP_HTTP_GET || head->method == SP_HTTP_HEAD;
	sp_v2_path path;

	sp_v2_path_parse(&path, head->path);
	if (path.verb == SP_V2_NONE) {
		sp_http_request_fail(request, 404, "Not found");
		return;
	}
	if (path.verb >= SP_V2_INFER ? head->method != SP_HTTP_POST : !get) {
		sp_route__refuse_method(request, path.verb >= SP_V2_INFER ? "POST" : "GET, HEAD");
		return;
	}
	tag(serving, request, &path);
	switch (path.verb) {
	case SP_V2_LIVE:
		answer_text(request, "{\"live\":true}");
		break;
	case SP_V2_READY:
		answer_ready(serving, request);
		break;
	case SP_V2_SERVER:
		answer_server(request);
		break;
	case SP_V2_INFER:
		sp_route__v2_infer(serving, request, &path);
		break;
	default:
		sp_route__v2_describe(serving, request, &path);
		break;
	}
}
