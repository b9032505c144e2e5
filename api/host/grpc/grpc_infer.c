#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/infer_message.h"

/* GRPCInferenceService/ModelInfer. */

static sp_status infer(sp_grpc_call *call, const sp_servable *servable, const sp_infer_head *head,
		       sp_error *err)
{
	const serving_processor_signature *signature = sp_grpc__signature(
		servable, (sp_bytes){NULL, 0}, call->memory.arena);
	const sp_infer_limits limits = sp_grpc__limits(call);
	serving_processor_result *result;
	sp_infer_head answered = *head;
	sp_message_inputs inputs;
	sp_infer_request request;
	sp_status status;
	char version[24];

	if (signature == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "the model has no default signature");
	SP_TRY(sp_infer_message_decode(&inputs, signature, call->message, &call->memory, err));
	request = (sp_infer_request){signature, inputs.tensors, signature->input_count,
				     inputs.outputs, inputs.output_count};
	SP_TRY(sp_infer_run(servable, &request, &limits, &result, err));
	snprintf(version, sizeof(version), "%" PRId64, servable->version);
	answered.model_version = sp_bytes_of(version);
	status = sp_infer_message_encode(&call->out, result, &answered, err);
	serving_processor_result_free(result);
	return status;
}

sp_status sp_grpc__model_infer(sp_grpc_call *call, sp_error *err)
{
	sp_servable servable = {0};
	sp_infer_head head;
	sp_status status = sp_infer_message_head(&head, call->message, err);

	if (status == SP_OK)
		status = sp_grpc__acquire_named(call, &servable, head.model_name,
						head.model_version, err);
	if (status == SP_OK)
		status = infer(call, &servable, &head, err);
	sp_servable_release(&servable);
	return status;
}
