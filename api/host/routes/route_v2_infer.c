#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/host/infer/infer_run.h"
#include "api/host/messages/message_answer.h"
#include "api/host/routes/route_body.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/route_v2.h"
#include "api/host/v2/v2_request.h"
#include "api/host/v2/v2_response.h"

/*
 * POST /v2/models/NAME/infer, with JSON and binary data or, by content type, with the protobuf
 * messages of the gRPC API.
 */

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

static sp_status run(const sp_servable *servable, const sp_message_inputs *inputs,
		     sp_infer_limits limits, int64_t timeout_us, sp_infer_result *result,
		     sp_error *err)
{
	sp_infer_request request = {inputs->signature, inputs->tensors,
				    inputs->signature->input_count, inputs->outputs,
				    inputs->output_count};

	sp_infer_limits_shorten(&limits, timeout_us);
	return sp_infer_run(servable, &request, &limits, result, err);
}

static sp_status answer_json(const sp_servable *servable, sp_worker *worker,
			     const sp_http_request *request, sp_bytes body, int64_t header,
			     sp_buffer *out, size_t *json_size, sp_error *err)
{
	sp_message_memory memory = {worker->arena, worker->input_order};
	sp_host_signatures set = sp_route__signatures(servable);
	sp_infer_result result;
	sp_v2_parsed parsed;
	sp_status status;

	if (header == BAD_LENGTH)
		return sp_error_set(err, SP_INVALID,
				    "Inference-Header-Content-Length is not a length");
	SP_TRY(sp_v2_request_parse(&parsed, worker->v2, &set, body, header, &memory, err));
	SP_TRY(run(servable, &parsed.inputs, sp_route__limits(request), parsed.timeout_us, &result,
		   err));
	status = sp_v2_response_write(out, json_size, result.tensors, result.count, &parsed,
				      servable->model->name, servable->version, err);
	sp_infer_result_fini(&result);
	return status;
}

static sp_status answer_message(const sp_servable *servable, sp_worker *worker,
				const sp_http_request *request, sp_bytes body, sp_buffer *out,
				sp_error *err)
{
	sp_message_memory memory = {worker->arena, worker->input_order};
	sp_host_signatures set = sp_route__signatures(servable);
	sp_message_run run_of = {servable, set.fallback, sp_route__limits(request), &memory};
	sp_infer_head head;

	SP_TRY(sp_infer_message_head(&head, body, err));
	if (head.signature_name.size != 0)
		run_of.signature = sp_host_signature_find(&set, head.signature_name);
	if (run_of.signature == NULL)
		return sp_route__no_signature(head.signature_name, err);
	head.model_name = sp_bytes_of(servable->model->name);
	return sp_message_answer_infer(out, &run_of, body, &head, err);
}

static int hold(sp_serving *serving, const sp_http_request *request, sp_sticky_body *body,
		sp_servable *out, sp_error *err)
{
	sp_model_selector selector;
	sp_status status;
	sp_v2_path path;

	sp_v2_path_parse(&path, sp_http_request_head(request)->path);
	selector = sp_route__v2_selector(&path);
	sp_route__use_headers(&selector, request);
	status = sp_models_acquire(serving->models, &selector, out, err);
	sp_models_follow_field(serving->models, out, sp_sticky_find, body);
	return sp_route__selection_status(status);
}

static void compute(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	bool protobuf = sp_route__is_protobuf(request);
	const char *type = protobuf ? SP_ROUTE_PROTOBUF : NULL;
	sp_servable servable = {0};
	int64_t header_size = read_json_size(request);
	size_t json_size = 0;
	sp_http_header header;
	sp_sticky_body sticky;
	sp_route_body body;
	char length[24];
	sp_buffer out;
	sp_error err;
	int status = sp_route__read_body(&body, serving, request, &err);

	sticky = (sp_sticky_body){.form = protobuf ? SP_STICKY_V2 : SP_STICKY_V2_JSON,
				  .bytes = body.bytes,
				  .json_size = header_size,
				  .arena = worker->arena};
	sp_route__init_answer(&out, serving);
	if (status == 200)
		status = hold(serving, request, &sticky, &servable, &err);
	if (status == 200) {
		sp_status result = protobuf ? answer_message(&servable, worker, request, body.bytes,
							     &out, &err)
					    : answer_json(&servable, worker, request, body.bytes,
							  header_size, &out, &json_size, &err);

		/* SP_CORRUPT: the body is not JSON, which is the client's fault. */
		status = result == SP_CORRUPT ? 400 : sp_route__http_status(result);
	}
	sp_servable_release(&servable);
	sp_v2_request_trim(worker->v2);
	sp_route__body_fini(&body);
	if (json_size != 0)
		type = "application/octet-stream";
	snprintf(length, sizeof(length), "%zu", json_size);
	header = (sp_http_header){sp_bytes_of(LENGTH_HEADER), sp_bytes_of(length)};
	sp_route__answer(serving, request, status, type, &out, &header, json_size != 0, &err);
}

void sp_route__v2_infer(sp_serving *serving, sp_http_request *request, const sp_v2_path *path)
{
	sp_model_selector selector = sp_route__v2_selector(path);
	sp_servable servable;
	sp_error err;
	sp_status status = sp_models_acquire(serving->models, &selector, &servable, &err);

	sp_servable_release(&servable);
	if (status == SP_OK)
		sp_route__enqueue(serving, request, compute);
	else
		sp_route__fail(request, sp_route__selection_status(status), &err);
}
