#ifndef SP_API_HOST_MESSAGES_MESSAGE_ANSWER_H
#define SP_API_HOST_MESSAGES_MESSAGE_ANSWER_H

#include "api/host/infer/examples.h"
#include "api/host/infer/infer_run.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/predict_message.h"

/*
 * A request's message in, the message that answers it out: decodes, runs, encodes.  The messages
 * are those of gRPC, which also come over HTTP.
 *
 * Errors of all: those of the decoder, of sp_infer_run() and of the encoder.
 *
 * Threads: those of `memory`.
 */
typedef struct sp_message_run {
	const sp_servable *servable;
	sp_infer_limits limits;
	sp_message_memory *memory;
} sp_message_run;

/* The signature of that name, or the default one if it is empty; NULL: none. */
const serving_processor_signature *sp_message_signature(const sp_servable *servable, sp_bytes name);

/* The model_spec of an answer. */
sp_model_spec sp_message_answered_spec(const sp_servable *servable,
				       const serving_processor_signature *signature);

/* Runs the version with the inputs that are given. */
SP_MUST_CHECK sp_status sp_message_run_inputs(const sp_message_run *run,
					      const sp_message_inputs *inputs,
					      sp_infer_result *result, sp_error *err);

/*
 * PredictRequest to PredictResponse; `spec` is the model_spec of the request.  An input may be left
 * out if the model has a default for it.  SP_NOT_FOUND: there is no such signature.
 */
SP_MUST_CHECK sp_status sp_message_answer_predict(sp_buffer *out, const sp_message_run *run,
						  const sp_model_spec *spec, sp_bytes message,
						  sp_tensor_style style, sp_error *err);

/* ClassificationRequest or RegressionRequest to their response. */
SP_MUST_CHECK sp_status sp_message_answer_examples(sp_buffer *out, const sp_message_run *run,
						   const sp_model_spec *spec,
						   sp_examples_method method, sp_bytes message,
						   sp_error *err);

/* ModelInferRequest to ModelInferResponse; `head` is that of the request. */
SP_MUST_CHECK sp_status sp_message_answer_infer(sp_buffer *out, const sp_message_run *run,
						const sp_infer_head *head, sp_bytes message,
						sp_error *err);

/*
 * EAS's PredictRequest to its PredictResponse.  A signature that the model lacks is the default
 * one: DeepRec's processor does not read the name, so that clients send any.
 */
SP_MUST_CHECK sp_status sp_message_answer_eas(sp_buffer *out, const sp_message_run *run,
					      sp_bytes message, sp_error *err);

#endif
