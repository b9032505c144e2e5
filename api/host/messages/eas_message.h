#ifndef SP_API_HOST_MESSAGES_EAS_MESSAGE_H
#define SP_API_HOST_MESSAGES_EAS_MESSAGE_H

#include "api/host/messages/message.h"

/*
 * tensorflow.eas.PredictRequest (api/predict.proto): bytes to typed tensors.  The response is made
 * by sp_predict_message_encode(), from which it differs in its tensors only.
 *
 * A client names a tensor by its alias in the signature ("x"), by the tensor's name ("x:0"), or by
 * that name without ":0"; the response names an output as the request does.
 *
 * Threads: pure but for `memory`.
 */

/* The signature that the message names; empty if it names none. */
SP_MUST_CHECK sp_status sp_eas_message_signature(sp_bytes *out, sp_bytes message, sp_error *err);

/*
 * Reads inputs and output_filter.  Of two entries with one name the last counts.  Inputs of the
 * signature may be missing.
 *
 * Errors: SP_INVALID, SP_UNSUPPORTED, SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_eas_message_decode(sp_message_inputs *out,
					      const serving_processor_signature *signature,
					      sp_bytes message, sp_message_memory *memory,
					      sp_error *err);

#endif
