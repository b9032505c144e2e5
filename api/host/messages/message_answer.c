#include "api/host/messages/message_answer.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/host/messages/eas_message.h"
#include "api/host/messages/examples_message.h"

const serving_processor_signature *sp_message_signature(const sp_servable *servable, sp_bytes name)
{
	const serving_processor_signature *all;
	size_t count;

	if (name.size == 0)
		return serving_processor_handle_signature(servable->handle,
							  servable->served->signature_name);
	all = serving_processor_handle_signatures(servable->handle, &count);
	for (size_t i = 0; i < count; i++)
		if (sp_bytes_equal_text(name, all[i].name))
			return &all[i];
	return NULL;
}

sp_status sp_message_run_inputs(const sp_message_run *run, const sp_message_inputs *inputs,
				sp_infer_result *result, sp_error *err)
{
	sp_infer_request request = {inputs->signature, inputs->tensors, inputs->given,
				    inputs->outputs, inputs->output_count};
	serving_processor_tensor *given;
	size_t kept = 0;

	if (inputs->given != inputs->signature->input_count) { /* without gaps */
		given = sp_arena_array(run->memory->arena, inputs->given, sizeof(*given));
		if (given == NULL)
			return sp_no_memory(err, "the inputs");
		for (size_t i = 0; kept < inputs->given; i++)
			if (inputs->tensors[i].dtype != 0)
				given[kept++] = inputs->tensors[i];
		request.inputs = given;
	}
	return sp_infer_run(run->servable, &request, &run->limits, result, err);
}

sp_model_spec sp_message_answered_spec(const sp_servable *servable,
				       const serving_processor_signature *signature)
{
	return (sp_model_spec){.name = sp_bytes_of(servable->model->name),
			       .signature_name = sp_bytes_of(signature->name),
			       .has_version = true,
			       .version = servable->version};
}

sp_status sp_message_answer_predict(sp_buffer *out, const sp_message_run *run,
				    const sp_model_spec *spec, sp_bytes message,
				    sp_tensor_style style, sp_error *err)
{
	const serving_processor_signature *signature = sp_message_signature(run->servable,
									    spec->signature_name);
	sp_infer_result result;
	sp_message_inputs inputs;
	sp_model_spec answered;
	sp_status status;

	if (signature == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "Serving signature key \"%.*s\" not found.",
				    sp_message_shown(spec->signature_name),
				    spec->signature_name.data);
	SP_TRY(sp_predict_message_decode(&inputs, signature, message, run->memory, err));
	status = sp_message_run_inputs(run, &inputs, &result, err);
	if (status == SP_INVALID && inputs.given != signature->input_count)
		return sp_predict_message_wrong_inputs(&inputs, message, run->memory, err);
	SP_TRY(status);
	answered = sp_message_answered_spec(run->servable, signature);
	status = sp_predict_message_encode(out, result.tensors, result.count, &answered, style,
					   err);
	sp_infer_result_fini(&result);
	return status;
}

sp_status sp_message_answer_examples(sp_buffer *out, const sp_message_run *run,
				     const sp_model_spec *spec, sp_examples_method method,
				     sp_bytes message, sp_error *err)
{
	const serving_processor_signature *signature = sp_message_signature(run->servable,
									    spec->signature_name);
	const sp_bytes *examples;
	sp_examples_result result;
	sp_model_spec answered;
	sp_status status;
	size_t count;

	if (signature == NULL)
		return sp_error_set(err, SP_INVALID, "No signature was found with the name: %.*s",
				    sp_message_shown(spec->signature_name),
				    spec->signature_name.data);
	SP_TRY(sp_examples_message_decode(&examples, &count, message, run->memory->arena, err));
	SP_TRY(sp_examples_run(&result, run->servable, signature, method, examples, count,
			       &run->limits, err));
	answered = sp_message_answered_spec(run->servable, signature);
	status = sp_examples_message_encode(out, &result, &answered, err);
	sp_examples_result_fini(&result);
	return status;
}

sp_status sp_message_answer_infer(sp_buffer *out, const sp_message_run *run,
				  const sp_infer_head *head, sp_bytes message, sp_error *err)
{
	const serving_processor_signature *signature = sp_message_signature(run->servable,
									    head->signature_name);
	sp_message_run limited = *run;
	sp_infer_result result;
	sp_infer_head answered = *head;
	sp_message_inputs inputs;
	char version[24];
	sp_status status;

	if (signature == NULL)
		return sp_error_set(err, SP_INVALID, "the model has no signature '%.*s'",
				    sp_message_shown(head->signature_name),
				    head->signature_name.data);
	sp_infer_limits_shorten(&limited.limits, head->timeout_us);
	SP_TRY(sp_infer_message_decode(&inputs, signature, message, run->memory, err));
	SP_TRY(sp_message_run_inputs(&limited, &inputs, &result, err));
	snprintf(version, sizeof(version), "%" PRId64, run->servable->version);
	answered.model_name = sp_bytes_of(run->servable->model->name);
	answered.model_version = sp_bytes_of(version);
	status = sp_infer_message_encode(out, result.tensors, result.count, &answered, err);
	sp_infer_result_fini(&result);
	return status;
}

sp_status sp_message_answer_eas(sp_buffer *out, const sp_message_run *run, sp_bytes message,
				sp_error *err)
{
	const serving_processor_signature *signature;
	sp_infer_result result;
	sp_message_inputs inputs;
	sp_status status;
	sp_bytes name;

	SP_TRY(sp_eas_message_signature(&name, message, err));
	signature = sp_message_signature(run->servable, name);
	if (signature == NULL && name.size != 0)
		signature = sp_message_signature(run->servable, (sp_bytes){"", 0});
	if (signature == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "the model has no default signature");
	SP_TRY(sp_eas_message_decode(&inputs, signature, message, run->memory, err));
	SP_TRY(sp_message_run_inputs(run, &inputs, &result, err));
	status = sp_predict_message_encode(out, result.tensors, result.count, NULL,
					   SP_TENSOR_AS_ARRAY, err);
	sp_infer_result_fini(&result);
	return status;
}
