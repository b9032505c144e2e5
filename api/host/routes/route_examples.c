#include "api/host/infer/examples.h"
#include "api/host/messages/examples_message.h"
#include "api/host/predict/json_examples.h"
#include "api/host/predict/json_response.h"
#include "api/host/routes/route_body.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

/*
 * POST :classify and :regress, with TensorFlow Serving's JSON or, by content type, with the
 * protobuf messages of its gRPC API.
 */
typedef struct examples_call {
	const sp_servable *servable;
	sp_worker *worker;
	sp_examples_method method;
	sp_infer_limits limits;
} examples_call;

/* The signature of that name, or the default one. */
static sp_status find_signature(const sp_host_signature **out, const examples_call *call,
				sp_bytes name, sp_error *err)
{
	sp_host_signatures set = sp_route__signatures(call->servable);

	*out = name.size == 0 ? set.fallback : sp_host_signature_find(&set, name);
	return *out != NULL ? SP_OK : sp_route__no_signature(name, err);
}

static sp_status answer_json(const examples_call *call, sp_bytes body, sp_buffer *out,
			     sp_error *err)
{
	const sp_host_signature *signature;
	sp_known_features known;
	sp_examples_result result;
	sp_examples parsed;
	sp_bytes name;

	SP_TRY(sp_json_examples_begin(&name, call->worker->examples, body, err));
	SP_TRY(find_signature(&signature, call, name, err));
	SP_TRY(sp_examples_check(signature, call->method, err));
	known.items = serving_processor_handle_example_features(
		call->servable->handle, signature->name, signature->inputs[0]->alias, &known.count);
	SP_TRY(sp_json_examples_read(&parsed, call->worker->examples, &known, err));
	SP_TRY(sp_examples_run(&result, call->servable, signature, call->method, parsed.items,
			       parsed.count, &call->limits, err));
	if (call->method == SP_EXAMPLES_REGRESS)
		sp_json_response_write_scores(out, result.scores, result.example_count);
	else
		sp_json_response_write_classes(out, result.classes, result.scores,
					       result.example_count, result.class_count);
	sp_examples_result_fini(&result);
	return SP_OK;
}

static sp_status answer_message(const examples_call *call, sp_bytes body, sp_buffer *out,
				sp_error *err)
{
	const sp_host_signature *signature;
	sp_examples_result result;
	const sp_bytes *examples;
	sp_model_spec spec;
	sp_status status;
	size_t count;

	SP_TRY(sp_model_spec_find(&spec, body, err));
	SP_TRY(find_signature(&signature, call, spec.signature_name, err));
	SP_TRY(sp_examples_message_decode(&examples, &count, body, call->worker->arena, err));
	SP_TRY(sp_examples_run(&result, call->servable, signature, call->method, examples, count,
			       &call->limits, err));
	spec = (sp_model_spec){.name = sp_bytes_of(call->servable->model->name),
			       .signature_name = sp_bytes_of(signature->name),
			       .has_version = true,
			       .version = call->servable->version};
	status = sp_examples_message_encode(out, &result, &spec, err);
	sp_examples_result_fini(&result);
	return status;
}

static void compute(sp_serving *serving, sp_worker *worker, sp_http_request *request,
		    sp_examples_method method)
{
	bool protobuf = sp_route__is_protobuf(request);
	sp_servable servable = {0};
	sp_sticky_body sticky;
	examples_call call = {&servable, worker, method, sp_route__limits(request)};
	sp_route_body body;
	sp_buffer out;
	sp_error err;
	int status = sp_route__read_body(&body, serving, request, &err);

	sp_route__init_answer(&out, serving);
	sticky = (sp_sticky_body){.form = protobuf ? SP_STICKY_EXAMPLES : SP_STICKY_EXAMPLES_JSON,
				  .bytes = body.bytes,
				  .arena = worker->arena};
	if (status == 200)
		status = sp_route__hold_model(serving, request, &sticky, &servable, &err);
	if (status == 200) {
		sp_status result = protobuf ? answer_message(&call, body.bytes, &out, &err)
					    : answer_json(&call, body.bytes, &out, &err);

		/* SP_CORRUPT: the body is not JSON, which is the client's fault. */
		status = result == SP_CORRUPT ? 400 : sp_route__http_status(result);
	}
	sp_servable_release(&servable);
	sp_json_examples_trim(worker->examples);
	sp_route__body_fini(&body);
	sp_route__answer(serving, request, status, protobuf ? SP_ROUTE_PROTOBUF : NULL, &out, NULL,
			 0, &err);
}

static void classify(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	compute(serving, worker, request, SP_EXAMPLES_CLASSIFY);
}

static void regress(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	compute(serving, worker, request, SP_EXAMPLES_REGRESS);
}

void sp_route_examples(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	if (sp_route__find_model(serving, request, path))
		sp_route__enqueue(serving, request,
				  path->verb == SP_MODEL_CLASSIFY ? classify : regress);
}
