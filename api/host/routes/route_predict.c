#include "api/host/predict/json_response.h"
#include "api/host/routes/route_call.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

/*
 * POST :predict, :classify and :regress, with TensorFlow Serving's JSON or, by content type, with
 * the protobuf messages of its gRPC API.
 */

/* ------------------------------------------------------------------- :predict */

static sp_status predict_json(sp_route_call *call, sp_error *err)
{
	sp_host_signatures set = sp_route__signatures(call);
	const sp_json_parsed *parsed;
	sp_infer_request request;
	sp_infer_result result;
	sp_status status;

	SP_TRY(sp_route__parsed(sp_json_request_parse(call->worker->json, &set, call->body, err)));
	parsed = sp_json_request_parsed(call->worker->json);
	request = (sp_infer_request){.signature = parsed->signature,
				     .inputs = parsed->tensors,
				     .input_count = parsed->count};
	SP_TRY(sp_infer_run(&call->servable, &request, &call->run.limits, &result, err));
	status = sp_json_response_write(&call->out, result.tensors, result.count, parsed->row, err);
	sp_infer_result_fini(&result);
	return status;
}

/* The URL says which model and version; the message, which signature. */
static sp_status predict_message(sp_route_call *call, sp_error *err)
{
	bool content = call->serving->flags->enable_serialization_as_tensor_content;
	sp_model_spec spec;

	SP_TRY(sp_model_spec_find(&spec, call->body, err));
	return sp_message_answer_predict(&call->out, &call->run, &spec, call->body,
					 content ? SP_TENSOR_IN_CONTENT : SP_TENSOR_IN_FIELDS, err);
}

static void predict(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	static const sp_route_codec json = {predict_json, SP_STICKY_PREDICT_JSON, NULL},
				    message = {predict_message, SP_STICKY_PREDICT, NULL};

	sp_route__compute(serving, worker, request, &json, &message);
}

void sp_route_predict(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	sp_route__enqueue_for(serving, request, path, predict);
}

/* ------------------------------------------------------- :classify and :regress */

static sp_examples_method method_of(const sp_route_call *call)
{
	return call->verb == SP_MODEL_CLASSIFY ? SP_EXAMPLES_CLASSIFY : SP_EXAMPLES_REGRESS;
}

static sp_status examples_json(sp_route_call *call, sp_error *err)
{
	sp_host_signatures set = sp_route__signatures(call);
	const sp_host_signature *signature;
	sp_examples_result result;
	sp_known_features known;
	sp_examples parsed;
	sp_bytes name;

	SP_TRY(sp_route__parsed(
		sp_json_examples_begin(&name, call->worker->examples, call->body, err)));
	SP_TRY(sp_host_signature_get(&signature, &set, name, err));
	SP_TRY(sp_examples_check(signature, method_of(call), err));
	known.items = serving_processor_handle_example_features(
		call->servable.handle, signature->name, signature->inputs[0]->alias, &known.count);
	SP_TRY(sp_route__parsed(
		sp_json_examples_read(&parsed, call->worker->examples, &known, err)));
	SP_TRY(sp_examples_run(&result, &call->servable, signature, method_of(call), parsed.items,
			       parsed.count, &call->run.limits, err));
	if (result.method == SP_EXAMPLES_REGRESS)
		sp_json_response_write_scores(&call->out, result.scores, result.example_count);
	else
		sp_json_response_write_classes(&call->out, result.classes, result.scores,
					       result.example_count, result.class_count);
	sp_examples_result_fini(&result);
	return SP_OK;
}

static sp_status examples_message(sp_route_call *call, sp_error *err)
{
	sp_model_spec spec;

	SP_TRY(sp_model_spec_find(&spec, call->body, err));
	return sp_message_answer_examples(&call->out, &call->run, &spec, method_of(call),
					  call->body, err);
}

static void compute_examples(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	static const sp_route_codec json = {examples_json, SP_STICKY_EXAMPLES_JSON, NULL},
				    message = {examples_message, SP_STICKY_EXAMPLES, NULL};

	sp_route__compute(serving, worker, request, &json, &message);
}

void sp_route_examples(sp_serving *serving, sp_http_request *request, const sp_route_path *path)
{
	sp_route__enqueue_for(serving, request, path, compute_examples);
}
