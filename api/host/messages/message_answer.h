#ifndef SP_API_HOST_MESSAGES_MESSAGE_ANSWER_H
#define SP_API_HOST_MESSAGES_MESSAGE_ANSWER_H

#include "api/host/infer/infer_run.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/predict_message.h"

/*
 * A request's message in, the message that answers it out: decodes, runs, encodes.
 *
 * Threads: those of `memory`.
 */
typedef struct sp_message_run {
	const sp_servable *servable;
	const serving_processor_signature *signature;
	sp_infer_limits limits;
	sp_message_memory *memory;
} sp_message_run;

/*
 * PredictRequest to PredictResponse.  An input may be left out if the model has a default for it.
 *
 * name     of the model, for the answer's model_spec
 * content  as for sp_predict_message_encode()
 */
SP_MUST_CHECK sp_status sp_message_answer_predict(sp_buffer *out, const sp_message_run *run,
						  sp_bytes message, sp_bytes name, bool content,
						  sp_error *err);

/* ModelInferRequest to ModelInferResponse; `head` is that of the request. */
SP_MUST_CHECK sp_status sp_message_answer_infer(sp_buffer *out, const sp_message_run *run,
						sp_bytes message, const sp_infer_head *head,
						sp_error *err);

#endif
