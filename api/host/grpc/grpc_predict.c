#include <string.h>

#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/examples_message.h"
#include "api/host/messages/message_answer.h"
#include "api/host/messages/message_fields.h"
#include "api/host/messages/message_writer.h"
#include "api/host/sticky/sticky.h"

/* PredictionService, but for GetModelMetadata; ModelInfer, and the messages of ModelStreamInfer. */

/* The version that answers a call, held, and the parameters of its run. */
typedef struct held {
	sp_servable servable;
	sp_model_spec spec; /* of the request; ModelInfer has none */
	sp_message_run run;
} held;

/* Exchanges the version for the one that an input of the message decides on, if there is one. */
static void follow_field(sp_grpc_call *call, held *h, sp_sticky_form form)
{
	sp_sticky_body body = {.form = form, .bytes = call->message, .arena = call->memory.arena};

	sp_models_follow_field(call->serving->models, &h->servable, sp_sticky_find, &body);
	h->run = (sp_message_run){&h->servable, sp_grpc__limits(call), &call->memory};
}

/* Holds the version that the message's model_spec names. */
static sp_status hold(sp_grpc_call *call, held *h, sp_sticky_form form, sp_error *err)
{
	SP_TRY(sp_model_spec_find(&h->spec, call->message, err));
	SP_TRY(sp_grpc__acquire(call, &h->servable, &h->spec, err));
	follow_field(call, h, form);
	return SP_OK;
}

/*
 * Releases the version, and returns the status.  TensorFlow Serving answers FAILED_PRECONDITION for
 * a missing signature, and for one that lacks an input or an output.
 */
static sp_status finish(sp_grpc_call *call, held *h, sp_status status)
{
	sp_servable_release(&h->servable);
	if (status == SP_NOT_FOUND)
		call->code = SP_GRPC_FAILED_PRECONDITION;
	return status;
}

/* ---------------------------------------------------------------- one signature */

sp_status sp_grpc__predict(sp_grpc_call *call, sp_error *err)
{
	bool content = call->serving->flags->enable_serialization_as_tensor_content;
	sp_tensor_style style = content ? SP_TENSOR_IN_CONTENT : SP_TENSOR_IN_FIELDS;
	held h;

	SP_TRY(hold(call, &h, SP_STICKY_PREDICT, err));
	return finish(
		call, &h,
		sp_message_answer_predict(&call->out, &h.run, &h.spec, call->message, style, err));
}

static sp_status answer_examples(sp_grpc_call *call, sp_examples_method method, sp_error *err)
{
	held h;

	SP_TRY(hold(call, &h, SP_STICKY_EXAMPLES, err));
	return finish(call, &h,
		      sp_message_answer_examples(&call->out, &h.run, &h.spec, method, call->message,
						 err));
}

sp_status sp_grpc__classify(sp_grpc_call *call, sp_error *err)
{
	return answer_examples(call, SP_EXAMPLES_CLASSIFY, err);
}

sp_status sp_grpc__regress(sp_grpc_call *call, sp_error *err)
{
	return answer_examples(call, SP_EXAMPLES_REGRESS, err);
}

sp_status sp_grpc__model_infer(sp_grpc_call *call, sp_error *err)
{
	sp_infer_head head;
	sp_status status;
	held h;

	SP_TRY(sp_infer_message_head(&head, call->message, err));
	SP_TRY(sp_grpc__acquire_named(call, &h.servable, head.model_name, head.model_version, err));
	follow_field(call, &h, SP_STICKY_V2);
	status = sp_message_answer_infer(&call->out, &h.run, &head, call->message, err);
	sp_servable_release(&h.servable);
	return status;
}

/* Marks the response as the last one of its request, which has no other. */
static void put_final(sp_buffer *out)
{
	size_t entry = sp_message_open(out, SP_INFER_PARAMETERS), value;

	sp_message_put_text(out, SP_ENTRY_KEY, sp_bytes_of("triton_final_response"));
	value = sp_message_open(out, SP_ENTRY_VALUE);
	sp_message_put_number(out, SP_PARAMETER_BOOL, true);
	sp_message_close(out, value);
	sp_message_close(out, entry);
}

sp_status sp_grpc__model_stream_infer(sp_grpc_call *call, sp_error *err)
{
	size_t response = sp_message_open(&call->out, SP_STREAMED_RESPONSE);

	SP_TRY(sp_grpc__model_infer(call, err));
	put_final(&call->out);
	sp_message_close(&call->out, response);
	return SP_OK;
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

/* Finds the signature of task i, which must not be that of an earlier task. */
static sp_status resolve(const sp_servable *servable, resolved_task *all, size_t i, sp_error *err)
{
	resolved_task *own = &all[i];
	sp_bytes name = own->task->spec.signature_name, method = own->task->method;

	own->signature = sp_message_signature(servable, name);
	if (own->signature == NULL)
		return sp_error_set(err, SP_INVALID,
				    "Requested signature not found in model graph: %.*s",
				    sp_message_shown(name), name.data);
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
				    sp_message_shown(method), method.data);
	SP_TRY(sp_examples_check(own->signature, own->method, err));
	if (strcmp(own->signature->inputs[0]->tensor_name,
		   all[0].signature->inputs[0]->tensor_name) != 0)
		return sp_error_set(err, SP_INVALID,
				    "Input tensor must be the same for all Signatures.");
	return SP_OK;
}

static sp_status run_task(sp_grpc_call *call, const held *h, const resolved_task *task,
			  const sp_bytes *examples, size_t count, sp_error *err)
{
	sp_examples_result result;
	sp_model_spec answered;
	sp_status status;

	SP_TRY(sp_examples_run(&result, &h->servable, task->signature, task->method, examples,
			       count, &h->run.limits, err));
	answered = sp_message_answered_spec(&h->servable, task->signature);
	status = sp_examples_message_add(&call->out, &result, &answered, err);
	sp_examples_result_fini(&result);
	return status;
}

static sp_status run_tasks(sp_grpc_call *call, const held *h, const sp_inference_task *tasks,
			   size_t count, sp_error *err)
{
	resolved_task *all = sp_arena_array(call->memory.arena, count, sizeof(*all));
	const sp_bytes *examples;
	size_t example_count;

	if (all == NULL)
		return sp_no_memory(err, "the tasks");
	for (size_t i = 0; i < count; i++) {
		all[i].task = &tasks[i];
		SP_TRY(resolve(&h->servable, all, i, err));
	}
	SP_TRY(sp_examples_message_decode(&examples, &example_count, call->message,
					  call->memory.arena, err));
	for (size_t i = 0; i < count; i++)
		SP_TRY(run_task(call, h, &all[i], examples, example_count, err));
	return SP_OK;
}

sp_status sp_grpc__multi_inference(sp_grpc_call *call, sp_error *err)
{
	const sp_inference_task *tasks;
	size_t count;
	held h;

	SP_TRY(sp_examples_message_tasks(&tasks, &count, call->message, call->memory.arena, err));
	SP_TRY(check_names(tasks, count, err));
	SP_TRY(sp_grpc__acquire(call, &h.servable, &tasks[0].spec, err));
	follow_field(call, &h, SP_STICKY_EXAMPLES);
	return finish(call, &h, run_tasks(call, &h, tasks, count, err));
}
