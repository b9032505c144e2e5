#include "api/host/messages/message_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The inputs that are given, without gaps. */
static sp_status close_gaps(sp_message_inputs *out, const sp_message_inputs *inputs,
			    sp_arena *arena, sp_error *err)
{
	size_t kept = 0;

	*out = *inputs;
	if (inputs->given == inputs->signature->input_count)
		return SP_OK;
	out->tensors = sp_arena_array(arena, inputs->given, sizeof(*out->tensors));
	if (out->tensors == NULL)
		return sp_no_memory(err, "the inputs");
	for (size_t i = 0; kept < inputs->given; i++)
		if (inputs->tensors[i].dtype != 0)
			out->tensors[kept++] = inputs->tensors[i];
	return SP_OK;
}

static sp_status run_inputs(const sp_message_run *run, const sp_message_inputs *inputs,
			    sp_infer_result *result, sp_error *err)
{
	const sp_infer_request request = {run->signature, inputs->tensors, inputs->given,
					  inputs->outputs, inputs->output_count};

	return sp_infer_run(run->servable, &request, &run->limits, result, err);
}

sp_status sp_message_answer_predict(sp_buffer *out, const sp_message_run *run, sp_bytes message,
				    sp_bytes name, bool content, sp_error *err)
{
	const sp_model_spec spec = {.name = name,
				    .signature_name = sp_bytes_of(run->signature->name),
				    .has_version = true,
				    .version = run->servable->version};
	sp_infer_result result;
	sp_message_inputs inputs, given;
	sp_status status;

	SP_TRY(sp_predict_message_decode(&inputs, run->signature, message, run->memory, err));
	SP_TRY(close_gaps(&given, &inputs, run->memory->arena, err));
	status = run_inputs(run, &given, &result, err);
	if (status == SP_INVALID && inputs.given != run->signature->input_count)
		return sp_predict_message_wrong_inputs(&inputs, message, run->memory, err);
	if (status != SP_OK)
		return status;
	status = sp_predict_message_encode(out, result.tensors, result.count, &spec, content, err);
	sp_infer_result_fini(&result);
	return status;
}

sp_status sp_message_answer_infer(sp_buffer *out, const sp_message_run *run, sp_bytes message,
				  const sp_infer_head *head, sp_error *err)
{
	sp_message_run limited = *run;
	sp_infer_result result;
	sp_infer_head answered = *head;
	sp_message_inputs inputs;
	char version[24];
	sp_status status;

	sp_infer_limits_shorten(&limited.limits, head->timeout_us);
	SP_TRY(sp_infer_message_decode(&inputs, run->signature, message, run->memory, err));
	SP_TRY(run_inputs(&limited, &inputs, &result, err));
	snprintf(version, sizeof(version), "%" PRId64, run->servable->version);
	answered.model_version = sp_bytes_of(version);
	status = sp_infer_message_encode(out, result.tensors, result.count, &answered, err);
	sp_infer_result_fini(&result);
	return status;
}
