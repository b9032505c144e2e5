#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

/* Lists the versions and carries out orders. */

static sp_status write_versions(sp_buffer *out, sp_serving *serving, const sp_route_path *path,
				sp_error *err)
{
	sp_servable servable;
	char *json;

	SP_TRY(sp_models_acquire_processor(serving->models, sp_bytes_of(path->name), &servable,
					   err));
	json = serving_processor_versions(servable.served->processor);
	sp_servable_release(&servable);
	sp_buffer_append_text(out, json != NULL ? json : "");
	out->failed |= json == NULL;
	serving_processor_free(json);
	return SP_OK;
}

static sp_status give_order(const sp_serving *serving, const sp_http_request *request,
			    const sp_route_path *path, sp_error *err)
{
	static const serving_processor_order orders[] = {
		[SP_MODEL_RELOAD] = SERVING_PROCESSOR_RELOAD,
		[SP_MODEL_ROLLBACK] = SERVING_PROCESSOR_ROLLBACK,
		[SP_MODEL_PIN] = SERVING_PROCESSOR_PIN,
		[SP_MODEL_UNPIN] = SERVING_PROCESSOR_PIN,
	};
	bool pins = path->verb == SP_MODEL_PIN;

	return sp_serving_order(serving, request, sp_bytes_of(path->name), orders[path->verb],
				pins ? path->version : -1,
				pins && path->has_delta ? path->delta : -1, err);
}

/* Answers a list of versions at once; orders are carried out by the thread for them. */
static void carry_out(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	sp_route_path path;
	sp_buffer body;
	sp_error err;
	sp_status status = sp_route_path_parse(&path, sp_http_request_head(request), &err);

	(void)worker;
	sp_buffer_init(&body, 64 << 20);
	if (status == SP_OK && path.verb != SP_MODEL_VERSIONS)
		status = give_order(serving, request, &path, &err);
	if (status == SP_OK)
		status = write_versions(&body, serving, &path, &err);
	sp_route__finish(request, sp_route__http_status(status), &body, &err);
}

void sp_route_admin(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	sp_route_path name = *path;

	/* The version in the path of :pin is the one to serve, which need not be live. */
	name.has_version = false;
	if (!sp_route__find_model(serving, request, &name))
		return;
	if (path->verb == SP_MODEL_VERSIONS)
		carry_out(serving, NULL, request);
	else
		sp_route__enqueue_order(serving, request, carry_out);
}
