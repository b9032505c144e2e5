#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/message_answer.h"
#include "api/host/messages/message_fields.h"
#include "api/host/messages/message_writer.h"

/* GRPCInferenceService/ModelInfer, and the messages of ModelStreamInfer. */

void sp_grpc__follow_field(sp_grpc_call *call, sp_servable *servable, sp_sticky_form form)
{
	sp_sticky_body body = {.form = form, .bytes = call->message, .arena = call->memory.arena};

	sp_models_follow_field(call->serving->models, servable, sp_sticky_find, &body);
}

static sp_status infer(sp_grpc_call *call, const sp_servable *servable, const sp_infer_head *head,
		       sp_error *err)
{
	const serving_processor_signature *signature = sp_grpc__signature(
		servable, head->signature_name, call->memory.arena);
	const sp_message_run run = {servable, signature, sp_grpc__limits(call), &call->memory};

	if (signature == NULL)
		return sp_error_set(
			err, SP_INVALID, "the model has no signature '%.*s'",
			(int)(head->signature_name.size < 200 ? head->signature_name.size : 200),
			head->signature_name.data);
	return sp_message_answer_infer(&call->out, &run, call->message, head, err);
}

sp_status sp_grpc__model_infer(sp_grpc_call *call, sp_error *err)
{
	sp_servable servable = {0};
	sp_infer_head head;
	sp_status status = sp_infer_message_head(&head, call->message, err);

	if (status == SP_OK)
		status = sp_grpc__acquire_named(call, &servable, head.model_name,
						head.model_version, err);
	sp_grpc__follow_field(call, &servable, SP_STICKY_V2);
	if (status == SP_OK)
		status = infer(call, &servable, &head, err);
	sp_servable_release(&servable);
	return status;
}

/* ------------------------------------------------------------ ModelStreamInfer */

/* A model has one response to a request: there is no empty one behind it. */
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
