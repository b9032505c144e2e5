#include "api/host/routes/route.h"

#include <string.h>
#include <strings.h>

#include "api/host/routes/admin_token.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

static const struct {
	sp_request_kind kind; /* for the counters */
	sp_model_route *answer;
} model_routes[] = {
	[SP_MODEL_STATUS] = {SP_REQUEST_STATUS, sp_route_status},
	[SP_MODEL_METADATA] = {SP_REQUEST_METADATA, sp_route_status},
	[SP_MODEL_PREDICT] = {SP_REQUEST_PREDICT, sp_route_predict},
	[SP_MODEL_CLASSIFY] = {SP_REQUEST_EXAMPLES, sp_route_examples},
	[SP_MODEL_REGRESS] = {SP_REQUEST_EXAMPLES, sp_route_examples},
	[SP_MODEL_VERSIONS] = {SP_REQUEST_ADMIN, sp_route_admin},
	[SP_MODEL_RELOAD] = {SP_REQUEST_ADMIN, sp_route_admin},
	[SP_MODEL_ROLLBACK] = {SP_REQUEST_ADMIN, sp_route_admin},
	[SP_MODEL_PIN] = {SP_REQUEST_ADMIN, sp_route_admin},
	[SP_MODEL_UNPIN] = {SP_REQUEST_ADMIN, sp_route_admin},
	[SP_MODEL_PROFILE] = {SP_REQUEST_ADMIN, sp_route_profile},
	[SP_MODEL_LOAD] = {SP_REQUEST_ADMIN, sp_route_configure},
	[SP_MODEL_UNLOAD] = {SP_REQUEST_ADMIN, sp_route_configure},
	[SP_MODEL_ASSIGN] = {SP_REQUEST_ADMIN, sp_route_configure},
	[SP_MODEL_REMOVE] = {SP_REQUEST_ADMIN, sp_route_configure},
};

static bool is_order(sp_route_verb verb)
{
	return verb >= SP_MODEL_VERSIONS && verb <= SP_MODEL_REMOVE;
}

/* Why the main listener does not take the order; NULL: it does. */
static const char *why_no_order(const sp_serving *serving, sp_route_verb verb)
{
	if (verb >= SP_MODEL_LOAD)
		return "Only on the admin listener (--admin_port)";
	return serving->flags->admin_routes ? NULL : SP_SERVING_NO_ORDERS;
}

/* A path below /v1/models.  Requests for models that are not there are counted as others. */
static void answer_model(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	sp_model *model = sp_models_find(serving->models, sp_bytes_of(path->name));

	if (model != NULL)
		sp_serving_tag(request, model_routes[path->verb].kind, model);
	model_routes[path->verb].answer(serving, request, path);
}

static void route_model(sp_serving *serving, sp_http_request *request)
{
	sp_route_path path;
	sp_error err;
	sp_status status = sp_route_path_parse(&path, sp_http_request_head(request), &err);

	if (status != SP_OK) {
		sp_route__fail(request, status == SP_NOT_FOUND ? 404 : 400, &err);
	} else if (path.verb == SP_EAS_PREDICT) {
		sp_route_eas(serving, request, &path);
	} else if (path.verb >= SP_V2_SERVER) {
		sp_route_v2(serving, request, &path);
	} else if (is_order(path.verb) && why_no_order(serving, path.verb) != NULL) {
		sp_serving_tag(request, SP_REQUEST_ADMIN, NULL);
		sp_http_request_fail(request, 403, why_no_order(serving, path.verb));
	} else {
		answer_model(serving, request, &path);
	}
}

static void route_log_level(const sp_serving *serving, sp_http_request *request, sp_bytes rest)
{
	sp_serving_tag(request, SP_REQUEST_ADMIN, NULL);
	if (serving->flags->admin_routes)
		sp_route_log_level(request, rest);
	else
		sp_http_request_fail(request, 403, SP_SERVING_NO_ORDERS);
}

/* Whether the path is /v1/log_level or below it; *rest is what follows. */
static bool is_log_level(sp_bytes path, sp_bytes *rest)
{
	static const char root[] = "/v1/log_level";
	size_t size = sizeof(root) - 1;

	if (!sp_bytes_starts_with(path, root))
		return false;
	*rest = (sp_bytes){path.data + size, path.size - size};
	return rest->size == 0 || *rest->data == '/';
}

/* Answers a CORS preflight request of a browser. */
static void answer_options(sp_http_request *request)
{
	sp_bytes origin = sp_http_head_get(sp_http_request_head(request), "origin");

	if (origin.data != NULL && (memmem(origin.data, origin.size, "http://", 7) != NULL ||
				    memmem(origin.data, origin.size, "https://", 8) != NULL))
		sp_http_request_answer(request, &(sp_http_answer){.status = 200});
	else
		sp_http_request_fail(request, 400, "OPTIONS needs an Origin header");
}

void sp_route(sp_serving *serving, sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);
	const char *metrics_path = serving->metrics_path;
	sp_bytes path = head->path, rest;

	if (*metrics_path != '\0' && sp_bytes_equal_text(path, metrics_path))
		sp_route_metrics(serving, request);
	else if (sp_bytes_starts_with(path, "/healthz/"))
		sp_route_health(serving, request);
	else if (head->method == SP_HTTP_OPTIONS && path.size >= 4 &&
		 strncasecmp(path.data, "/v1/", 4) == 0)
		answer_options(request);
	else if (is_log_level(path, &rest))
		route_log_level(serving, request, rest);
	else if (serving->flags->status_page && sp_bytes_equal_text(path, "/"))
		sp_route_page(request);
	else if (serving->flags->status_page && sp_bytes_equal_text(path, "/status.json"))
		sp_route_status_document(serving, request);
	else
		route_model(serving, request);
}

/* ------------------------------------------------------------- admin listener */

/* The status of a model, or an order. */
static void route_order(sp_serving *serving, sp_http_request *request)
{
	sp_route_path path;
	sp_error err;
	sp_status status = sp_route_path_parse(&path, sp_http_request_head(request), &err);

	if (status != SP_OK)
		sp_route__fail(request, status == SP_NOT_FOUND ? 404 : 400, &err);
	else if (is_order(path.verb) || path.verb == SP_MODEL_STATUS)
		answer_model(serving, request, &path);
	else
		sp_http_request_fail(request, 404, "Not on the admin listener");
}

/*
 * The page has no data, and a browser can ask for it without a token.  Other sites' pages may make
 * a browser on this machine send orders; it then says where they come from.
 */
void sp_route_admin_listener(sp_serving *serving, sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);
	sp_bytes path = head->path, rest;

	sp_serving_tag(request, SP_REQUEST_ADMIN, NULL);
	if (sp_bytes_equal_text(path, "/"))
		sp_route_page(request);
	else if (sp_bytes_starts_with(path, "/healthz/"))
		sp_route_health(serving, request);
	else if (serving->admin_token != NULL && !sp_admin_token_check(serving->admin_token, head))
		sp_route__refuse(request, 401,
				 "The admin listener needs Authorization: Bearer TOKEN",
				 "www-authenticate", "Bearer realm=\"serving_host\"");
	else if (head->method == SP_HTTP_POST && sp_http_head_get(head, "origin").data != NULL)
		sp_http_request_fail(request, 403, "No orders from web pages");
	else if (sp_bytes_equal_text(path, "/status.json"))
		sp_route_status_document(serving, request);
	else if (sp_bytes_equal_text(path, "/heap"))
		sp_route_heap(serving, request);
	else if (*serving->metrics_path != '\0' && sp_bytes_equal_text(path, serving->metrics_path))
		sp_route_metrics(serving, request);
	else if (is_log_level(path, &rest))
		sp_route_log_level(request, rest);
	else
		route_order(serving, request);
}
