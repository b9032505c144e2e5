#include "api/host/eas/eas_token.h"
#include "api/host/routes/route_call.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

/*
 * POST /api/predict/NAME takes a serialized tensorflow.eas.PredictRequest and answers a
 * PredictResponse; an empty message, and GET, ask for the signature as JSON.
 */

static sp_status describe(sp_route_call *call, sp_error *err)
{
	serving_processor_error *error = NULL;
	void *data = NULL;
	size_t size = 0;
	serving_processor_code code = serving_processor_handle_process(
		call->servable.handle, call->servable.served->signature_name, NULL, 0, NULL, &data,
		&size, &error);

	if (code != SERVING_PROCESSOR_OK)
		return sp_library_error(code, error, err);
	sp_buffer_append(&call->out, data, size);
	serving_processor_free(data);
	return call->out.failed ? sp_no_memory(err, "the answer") : SP_OK;
}

static sp_status answer(sp_route_call *call, sp_error *err)
{
	bool post = sp_http_request_head(call->request)->method == SP_HTTP_POST;

	call->type = post ? "application/octet-stream" : NULL;
	if (!post || call->body.size == 0)
		return describe(call, err);
	return sp_message_answer_eas(&call->out, &call->run, call->body, err);
}

static void compute(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	static const sp_route_codec codec = {answer, SP_STICKY_EAS, NULL};

	sp_route__compute(serving, worker, request, &codec, NULL);
}

static bool is_allowed(const sp_serving *serving, const sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);
	sp_eas_request signed_parts = {.method = head->method_name,
				       .authorization = sp_http_head_get(head, "authorization"),
				       .content_md5 = sp_http_head_get(head, "content-md5"),
				       .content_type = sp_http_head_get(head, "content-type"),
				       .date = sp_http_head_get(head, "date"),
				       .path = head->path,
				       .body = sp_http_request_body(request)};

	return serving->flags->eas_token == NULL ||
	       sp_eas_token_check(&signed_parts, serving->flags->eas_token);
}

void sp_route_eas(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	bool post = sp_http_request_head(request)->method == SP_HTTP_POST;
	sp_model *model = sp_models_find(serving->models, sp_bytes_of(path->name));

	if (!post && !sp_route__is_get(request))
		sp_route__refuse_method(request, "GET, HEAD, POST");
	else if (!is_allowed(serving, request))
		sp_http_request_fail(request, 401, "Invalid token");
	else if (model == NULL)
		sp_http_request_fail(request, 404, "no such service");
	else {
		sp_serving_tag(request, SP_REQUEST_PREDICT, model);
		sp_route__enqueue(serving, request, compute);
	}
}
