#include "api/host/infer/infer_run.h"
#include "api/host/messages/message_answer.h"
#include "api/host/predict/json_response.h"
#include "api/host/routes/route_body.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"
#include "base/alloc.h"

/*
 * POST :predict, with TensorFlow Serving's JSON or, by content type, with the protobuf messages of
 * its gRPC API.
 */

static sp_status write_result(sp_buffer *out, const sp_infer_result *result, bool row,
			      sp_error *err)
{
	const serving_processor_tensor **tensors = sp_alloc_zero(result->count, sizeof(*tensors));
	sp_status status;

	if (tensors == NULL && result->count != 0)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu outputs", result->count);
	for (size_t i = 0; i < result->count; i++)
		tensors[i] = &result->tensors[i];
	status = sp_json_response_write(out, tensors, result->count, row, err);
	sp_free(tensors);
	return status;
}

static int answer_json(const sp_servable *servable, sp_worker *worker, sp_bytes body,
		       const sp_infer_limits *limits, sp_buffer *out, sp_error *err)
{
	sp_host_signatures set = sp_route__signatures(servable);
	sp_infer_result result;
	const sp_json_parsed *parsed;
	sp_infer_request run;
	sp_status status = sp_json_request_parse(worker->json, &set, body, err);

	if (status != SP_OK) /* SP_CORRUPT: the body is not JSON, which is the client's fault */
		return status == SP_CORRUPT ? 400 : sp_route__http_status(status);
	parsed = sp_json_request_parsed(worker->json);
	run = (sp_infer_request){.signature = parsed->signature,
				 .inputs = parsed->tensors,
				 .input_count = parsed->count};
	status = sp_infer_run(servable, &run, limits, &result, err);
	if (status != SP_OK)
		return sp_route__http_status(status);
	status = write_result(out, &result, parsed->row, err);
	sp_infer_result_fini(&result);
	return sp_route__http_status(status);
}

/* The URL says which model and version; the message, which signature. */
static sp_status predict_message(const sp_servable *servable, sp_worker *worker, sp_bytes body,
				 const sp_infer_limits *limits, bool content, sp_buffer *out,
				 sp_error *err)
{
	sp_message_memory memory = {worker->arena, worker->input_order};
	sp_host_signatures set = sp_route__signatures(servable);
	sp_message_run run = {servable, set.fallback, *limits, &memory};
	sp_model_spec spec;

	SP_TRY(sp_model_spec_find(&spec, body, err));
	if (spec.signature_name.size != 0)
		run.signature = sp_host_signature_find(&set, spec.signature_name);
	if (run.signature == NULL)
		return sp_route__no_signature(spec.signature_name, err);
	return sp_message_answer_predict(out, &run, body, sp_bytes_of(servable->model->name),
					 content, err);
}

static void compute(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	bool content = serving->flags->enable_serialization_as_tensor_content;
	bool protobuf = sp_route__is_protobuf(request);
	sp_infer_limits limits = sp_route__limits(request);
	sp_servable servable = {0};
	sp_sticky_body sticky;
	sp_route_body body;
	sp_buffer out;
	sp_error err;
	int status = sp_route__read_body(&body, serving, request, &err);

	sp_route__init_answer(&out, serving);
	sticky = (sp_sticky_body){.form = protobuf ? SP_STICKY_PREDICT : SP_STICKY_PREDICT_JSON,
				  .bytes = body.bytes,
				  .arena = worker->arena};
	if (status == 200)
		status = sp_route__hold_model(serving, request, &sticky, &servable, &err);
	if (status == 200 && protobuf)
		status = sp_route__http_status(predict_message(&servable, worker, body.bytes,
							       &limits, content, &out, &err));
	else if (status == 200)
		status = answer_json(&servable, worker, body.bytes, &limits, &out, &err);
	sp_servable_release(&servable);
	sp_json_request_trim(worker->json); /* before sending the answer, which may take long */
	sp_route__body_fini(&body);
	sp_route__answer(serving, request, status, protobuf ? SP_ROUTE_PROTOBUF : NULL, &out, NULL,
			 0, &err);
}

void sp_route_predict(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	if (sp_route__find_model(serving, request, path))
		sp_route__enqueue(serving, request, compute);
}
