#include <string.h>

#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/examples_message.h"
#include "api/host/messages/message_answer.h"

/* PredictionService, but for GetModelMetadata. */

static int shown(sp_bytes name)
{
	return (int)(name.size < 256 ? name.size : 256);
}

/* ------------------------------------------------------------------- Predict */

static sp_status predict(sp_grpc_call *call, const sp_servable *servable, const sp_model_spec *spec,
			 sp_error *err)
{
	const serving_processor_signature *signature = sp_grpc__signature(
		servable, spec->signature_name, call->memory.arena);
	const sp_message_run run = {servable, signature, sp_grpc__limits(call), &call->memory};

	if (signature == NULL)
		return sp_grpc__error(call, SP_GRPC_FAILED_PRECONDITION, SP_NOT_FOUND, err,
				      "Serving signature key \"%.*s\" not found.",
				      shown(spec->signature_name), spec->signature_name.data);
	return sp_message_answer_predict(
		&call->out, &run, call->message, spec->name,
		call->serving->flags->enable_serialization_as_tensor_content, err);
}

sp_status sp_grpc__predict(sp_grpc_call *call, sp_error *err)
{
	sp_servable servable = {0};
	sp_model_spec spec;
	sp_status status = sp_model_spec_find(&spec, call->message, err);

	if (status == SP_OK)
		status = sp_grpc__acquire(call, &servable, &spec, err);
	sp_grpc__follow_field(call, &servable, SP_STICKY_PREDICT);
	if (status == SP_OK)
		status = predict(call, &servable, &spec, err);
	sp_servable_release(&servable);
	return status;
}

/* --------------------------------------------------------- Classify, Regress */

/* SP_NOT_FOUND of the signature's tensors is TensorFlow Serving's FAILED_PRECONDITION. */
static sp_status run_examples(sp_grpc_call *call, sp_examples_result *result,
			      const sp_servable *servable,
			      const serving_processor_signature *signature,
			      sp_examples_method method, const sp_bytes *examples, size_t count,
			      sp_error *err)
{
	const sp_infer_limits limits = sp_grpc__limits(call);
	sp_status status = sp_examples_run(result, servable, signature, method, examples, count,
					   &limits, err);

	if (status == SP_NOT_FOUND)
		call->code = SP_GRPC_FAILED_PRECONDITION;
	return status;
}

static sp_status answer_examples(sp_grpc_call *call, const sp_servable *servable,
				 const sp_model_spec *spec, sp_examples_method method,
				 sp_error *err)
{
	const serving_processor_signature *signature = sp_grpc__signature(
		servable, spec->signature_name, call->memory.arena);
	const sp_bytes *examples;
	sp_examples_result result;
	sp_model_spec answered;
	sp_status status;
	size_t count;

	if (signature == NULL)
		return sp_error_set(err, SP_INVALID, "No signature was found with the name: %.*s",
				    shown(spec->signature_name), spec->signature_name.data);
	SP_TRY(sp_examples_message_decode(&examples, &count, call->message, call->memory.arena,
					  err));
	SP_TRY(run_examples(call, &result, servable, signature, method, examples, count, err));
	answered = sp_grpc__answer_spec(spec, servable, signature);
	status = sp_examples_message_encode(&call->out, &result, &answered, err);
	sp_examples_result_fini(&result);
	return status;
}

static sp_status serve_examples(sp_grpc_call *call, sp_examples_method method, sp_error *err)
{
	sp_servable servable = {0};
	sp_model_spec spec;
	sp_status status = sp_model_spec_find(&spec, call->message, err);

	if (status == SP_OK)
		status = sp_grpc__acquire(call, &servable, &spec, err);
	sp_grpc__follow_field(call, &servable, SP_STICKY_EXAMPLES);
	if (status == SP_OK)
		status = answer_examples(call, &servable, &spec, method, err);
	sp_servable_release(&servable);
	return status;
}

sp_status sp_grpc__classify(sp_grpc_call *call, sp_error *err)
{
	return serve_examples(call, SP_EXAMPLES_CLASSIFY, err);
}

sp_status sp_grpc__regress(sp_grpc_call *call, sp_error *err)
{
	return serve_examples(call, SP_EXAMPLES_REGRESS, err);
}

/* ------------------------------------------------------------ MultiInference */

/* A task with what is found for it. */
typedef struct resolved_task {
	const sp_inference_task *task;
	const serving_processor_signature *signature;
	sp_examples_method method;
} resolved_task;

static sp_status check_names(const sp_inference_task *tasks, size_t count, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (tasks[i].spec.name.size == 0)
			return sp_error_set(err, SP_INVALID,
					    "Found ModelSpec with an empty model name.");
		if (!sp_bytes_equal(tasks[i].spec.name, tasks[0].spec.name))
			return sp_error_set(err, SP_INVALID,
					    "All ModelSpecs in a MultiInferenceRequest must "
					    "access the same model name.");
	}
	if (count == 0)
		return sp_error_set(err, SP_INVALID, "The request has no tasks");
	return SP_OK;
}

/* Resolves task i of all; those before it are resolved. */
static sp_status resolve(sp_grpc_call *call, const sp_servable *servable, resolved_task *all,
			 size_t i, sp_error *err)
{
	resolved_task *own = &all[i];
	sp_bytes name = own->task->spec.signature_name, method = own->task->method;

	own->signature = sp_grpc__signature(servable, name, call->memory.arena);
	if (own->signature == NULL)
		return sp_error_set(err, SP_INVALID,
				    "Requested signature not found in model graph: %.*s",
				    shown(name), name.data);
	for (size_t k = 0; k < i; k++)
		if (all[k].signature == own->signature)
			return sp_error_set(err, SP_INVALID,
					    "Duplicate evaluation of signature: %s",
					    own->signature->name);
	if (sp_bytes_equal_text(method, sp_examples_method_name(SP_EXAMPLES_CLASSIFY)))
		own->method = SP_EXAMPLES_CLASSIFY;
	else if (sp_bytes_equal_text(method, sp_examples_method_name(SP_EXAMPLES_REGRESS)))
		own->method = SP_EXAMPLES_REGRESS;
	else
		return sp_error_set(err, SP_UNSUPPORTED, "Unsupported signature method_name: %.*s",
				    shown(method), method.data);
	SP_TRY(sp_examples_check(own->signature, own->method, err));
	if (strcmp(own->signature->inputs[0]->tensor_name,
		   all[0].signature->inputs[0]->tensor_name) != 0)
		return sp_error_set(err, SP_INVALID,
				    "Input tensor must be the same for all Signatures.");
	return SP_OK;
}

static sp_status run_task(sp_grpc_call *call, const sp_servable *servable,
			  const resolved_task *task, const sp_bytes *examples, size_t count,
			  sp_error *err)
{
	sp_examples_result result;
	sp_model_spec answered;
	sp_status status;

	SP_TRY(run_examples(call, &result, servable, task->signature, task->method, examples, count,
			    err));
	answered = sp_grpc__answer_spec(&task->task->spec, servable, task->signature);
	status = sp_examples_message_add(&call->out, &result, &answered, err);
	sp_examples_result_fini(&result);
	return status;
}

static sp_status run_tasks(sp_grpc_call *call, const sp_servable *servable,
			   const sp_inference_task *tasks, size_t count, sp_error *err)
{
	resolved_task *all = sp_arena_array(call->memory.arena, count, sizeof(*all));
	const sp_bytes *examples;
	size_t example_count;
	sp_status status;

	if (all == NULL)
		return sp_no_memory(err, "the tasks");
	for (size_t i = 0; i < count; i++) {
		all[i].task = &tasks[i];
		status = resolve(call, servable, all, i, err);
		if (status == SP_NOT_FOUND)
			call->code = SP_GRPC_FAILED_PRECONDITION;
		if (status != SP_OK)
			return status;
	}
	SP_TRY(sp_examples_message_decode(&examples, &example_count, call->message,
					  call->memory.arena, err));
	for (size_t i = 0; i < count; i++)
		SP_TRY(run_task(call, servable, &all[i], examples, example_count, err));
	return SP_OK;
}

sp_status sp_grpc__multi_inference(sp_grpc_call *call, sp_error *err)
{
	const sp_inference_task *tasks;
	sp_servable servable = {0};
	sp_status status;
	size_t count;

	SP_TRY(sp_examples_message_tasks(&tasks, &count, call->message, call->memory.arena, err));
	SP_TRY(check_names(tasks, count, err));
	status = sp_grpc__acquire(call, &servable, &tasks[0].spec, err);
	sp_grpc__follow_field(call, &servable, SP_STICKY_EXAMPLES);
	if (status == SP_OK)
		status = run_tasks(call, &servable, tasks, count, err);
	sp_servable_release(&servable);
	return status;
}
