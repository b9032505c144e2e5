#include <stdio.h>
#include <string.h>

#include "api/host/describe/describe.h"
#include "api/host/routes/route_call.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"
#include "api/host/v2/v2_request.h"
#include "api/host/v2/v2_response.h"

enum { MAX_BYTES = 64 << 20, FIRST_ARENA = 16 << 10 };

/* ---------------------------------------------------------------------- infer */

#define LENGTH_HEADER "inference-header-content-length"

#define BAD_LENGTH INT64_MAX /* more than any body has */

/* Reads the header that says how long the JSON is. */
static int64_t read_json_size(const sp_http_request *request)
{
	sp_bytes text = sp_http_head_get(sp_http_request_head(request), LENGTH_HEADER);
	int64_t size = 0;

	if (text.data == NULL)
		return SP_V2_ALL_JSON;
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] < '0' || text.data[i] > '9' || size > INT32_MAX)
			return BAD_LENGTH;
		else
			size = size * 10 + (text.data[i] - '0');
	return text.size != 0 && size <= INT32_MAX ? size : BAD_LENGTH;
}

/* JSON, with binary data behind it where the client asks for them. */
static sp_status infer_json(sp_route_call *call, sp_error *err)
{
	sp_host_signatures set = sp_route__signatures(call);
	const sp_servable *servable = &call->servable;
	sp_infer_result result;
	sp_v2_parsed parsed;
	sp_status status;
	size_t json_size;

	if (call->json_size == BAD_LENGTH)
		return sp_error_set(err, SP_INVALID,
				    "Inference-Header-Content-Length is not a length");
	SP_TRY(sp_route__parsed(sp_v2_request_parse(&parsed, call->worker->v2, &set, call->body,
						    call->json_size, &call->memory, err)));
	sp_infer_limits_shorten(&call->run.limits, parsed.timeout_us);
	SP_TRY(sp_message_run_inputs(&call->run, &parsed.inputs, &result, err));
	status = sp_v2_response_write(&call->out, &json_size, result.tensors, result.count, &parsed,
				      servable->model->name, servable->version, err);
	sp_infer_result_fini(&result);
	if (json_size != 0) {
		snprintf(call->header_text, sizeof(call->header_text), "%zu", json_size);
		call->header = (sp_http_header){sp_bytes_of(LENGTH_HEADER),
						sp_bytes_of(call->header_text)};
		call->type = "application/octet-stream";
	}
	return status;
}

static sp_status infer_message(sp_route_call *call, sp_error *err)
{
	sp_infer_head head;

	SP_TRY(sp_infer_message_head(&head, call->body, err));
	return sp_message_answer_infer(&call->out, &call->run, &head, call->body, err);
}

static void infer(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	static const sp_route_codec json = {infer_json, SP_STICKY_V2_JSON, read_json_size},
				    message = {infer_message, SP_STICKY_V2, NULL};

	sp_route__compute(serving, worker, request, &json, &message);
}

/* --------------------------------------------------------------- descriptions */

/* Writes {"name": ..., "ready": true}. */
static void describe_ready(sp_document *d, const char *model)
{
	sp_document_mark root = sp_document_open(d, NULL, 0);

	sp_document_text(d, "name", 0, sp_bytes_of(model));
	sp_document_flag(d, "ready", 0, true);
	sp_document_close(d, root);
}

static sp_status describe_model(sp_document *d, sp_serving *serving, const sp_route_path *path,
				sp_arena *arena, sp_error *err)
{
	sp_model_selector selector = sp_route__selector(path);
	sp_servable servable;
	sp_status status = sp_models_acquire(serving->models, &selector, &servable, err);

	if (status == SP_OK && path->verb == SP_V2_MODEL_READY)
		describe_ready(d, servable.model->name);
	else if (status == SP_OK && path->verb == SP_V2_MODEL)
		status = sp_describe_metadata(d, serving->models, &servable, arena, err);
	else if (status == SP_OK)
		status = sp_describe_config(d, &servable, err);
	sp_servable_release(&servable);
	return status;
}

/* The body of "index" may be {"ready": true}. */
static bool asks_for_ready(const sp_http_request *request)
{
	sp_bytes body = sp_http_request_body(request);
	const char *key = memmem(body.data, body.size, "\"ready\"", 7);

	return key != NULL && memmem(key, body.size - (size_t)(key - body.data), "true", 4) != NULL;
}

static sp_status describe(sp_document *d, sp_serving *serving, const sp_http_request *request,
			  const sp_route_path *path, sp_arena *arena, sp_error *err)
{
	if (arena == NULL)
		return sp_no_memory(err, "the answer");
	switch (path->verb) {
	case SP_V2_SERVER:
		sp_describe_server(d);
		return SP_OK;
	case SP_V2_INDEX:
		return sp_describe_index(d, serving->models, asks_for_ready(request), arena, err);
	case SP_V2_ALL_STATS:
	case SP_V2_MODEL_STATS:
		return sp_describe_statistics(d, serving->models, sp_bytes_of(path->name), arena,
					      err);
	default:
		return describe_model(d, serving, path, arena, err);
	}
}

static void answer_description(sp_serving *serving, sp_http_request *request,
			       const sp_route_path *path)
{
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_document d;
	sp_status status;
	sp_buffer body;
	sp_error err;

	sp_buffer_init(&body, MAX_BYTES);
	d = sp_document_of(&body, true);
	status = describe(&d, serving, request, path, arena, &err);
	sp_arena_destroy(arena);
	sp_route__finish(request, sp_route__selection_status(status), &body, &err);
}

/* ---------------------------------------------------------------------- orders */

/* On the thread for orders: the model's processor looks for a newer version now. */
static void load(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	sp_route_path path;
	sp_error err;
	sp_status status = sp_route_path_parse(&path, sp_http_request_head(request), &err);

	(void)worker;
	if (status == SP_OK)
		status = sp_serving_order(serving, request, sp_bytes_of(path.name),
					  SERVING_PROCESSOR_RELOAD, -1, -1, &err);
	if (status == SP_OK)
		sp_http_request_answer(request, &(sp_http_answer){.status = 200});
	else
		sp_route__fail(request, sp_route__selection_status(status), &err);
}

/* Tags the request for the counters. */
static void tag(const sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	sp_model *model = sp_models_find(serving->models, sp_bytes_of(path->name));

	if (path->verb == SP_V2_LIVE || path->verb == SP_V2_READY)
		sp_serving_tag(request, SP_REQUEST_HEALTH, NULL);
	else if (model != NULL)
		sp_serving_tag(request,
			       path->verb == SP_V2_INFER ? SP_REQUEST_PREDICT : SP_REQUEST_METADATA,
			       model);
}

void sp_route_v2(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	bool posted = path->verb >= SP_V2_INFER;
	char why[SP_UNREADY_SIZE];

	if (posted ? sp_http_request_head(request)->method != SP_HTTP_POST
		   : !sp_route__is_get(request)) {
		sp_route__refuse_method(request, posted ? "POST" : "GET, HEAD");
		return;
	}
	tag(serving, request, path);
	switch (path->verb) {
	case SP_V2_LIVE:
		sp_route__answer_text(request, "{\"live\":true}");
		break;
	case SP_V2_READY:
		if (sp_serving_is_ready(serving, why))
			sp_route__answer_text(request, "{\"ready\":true}");
		else
			sp_http_request_fail(request, 503, why);
		break;
	case SP_V2_INFER:
		sp_route__enqueue_for(serving, request, path, infer);
		break;
	case SP_V2_LOAD:
		if (serving->flags->orders_by_rpc)
			sp_route__enqueue_order(serving, request, load);
		else
			sp_http_request_fail(request, 403, SP_SERVING_NO_ORDERS);
		break;
	case SP_V2_UNLOAD:
		sp_http_request_fail(request, 501, SP_SERVING_NO_UNLOAD);
		break;
	default:
		answer_description(serving, request, path);
		break;
	}
}
