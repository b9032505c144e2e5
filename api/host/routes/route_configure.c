#include "api/host/describe/describe.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

/* Loads and unloads models and versions, and moves labels. */

enum { MAX_BYTES = 1 << 20 };

/* The states of the versions, as GET of the model tells them. */
static sp_status write_states(sp_buffer *out, const sp_serving *serving, const char *name,
			      sp_error *err)
{
	const sp_model_selector selector = {.name = sp_bytes_of(name)};
	sp_document d = sp_document_of(out, true);
	sp_status status = sp_describe_selected(&d, serving->models, &selector, err);

	if (status != SP_NOT_FOUND)
		return status;
	sp_describe_statuses(&d, &(sp_version_statuses){.count = 0}); /* nothing is left of it */
	return SP_OK;
}

static void carry_out(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	static const sp_model_order_kind kinds[] = {
		[SP_MODEL_LOAD] = SP_MODEL_ORDER_LOAD,
		[SP_MODEL_UNLOAD] = SP_MODEL_ORDER_UNLOAD,
		[SP_MODEL_ASSIGN] = SP_MODEL_ORDER_ASSIGN,
		[SP_MODEL_REMOVE] = SP_MODEL_ORDER_REMOVE,
	};
	sp_model_order order = {.by = sp_http_request_peer(request)};
	sp_route_path path;
	sp_buffer body;
	sp_error err;
	sp_status status = sp_route_path_parse(&path, sp_http_request_head(request), &err);

	(void)worker;
	sp_buffer_init(&body, MAX_BYTES);
	order.kind = kinds[path.verb];
	order.model = sp_bytes_of(path.name);
	order.version = path.has_version ? path.version : -1;
	order.label = sp_bytes_of(path.label);
	if (path.verb == SP_MODEL_LOAD)
		order.config = sp_http_request_body(request);
	if (status == SP_OK)
		status = sp_models_order(serving->models, &order, &err);
	if (status == SP_OK)
		status = write_states(&body, serving, path.name, &err);
	sp_route__finish(request, sp_route__selection_status(status), &body, &err);
}

void sp_route_configure(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	(void)path;
	sp_route__enqueue_order(serving, request, carry_out);
}
