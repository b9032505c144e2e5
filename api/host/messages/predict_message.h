#ifndef SP_API_HOST_MESSAGES_PREDICT_MESSAGE_H
#define SP_API_HOST_MESSAGES_PREDICT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/infer/infer_call.h"
#include "api/host/messages/message.h"
#include "api/host/messages/tensor_message.h"
#include "base/buffer.h"

/*
 * tensorflow.serving.PredictRequest and PredictResponse (proto/serving.proto): bytes to typed
 * tensors and back, with the rules and error texts of TensorFlow Serving.
 *
 * Threads: pure but for `memory`.
 */

/* tensorflow.serving.ModelSpec; views into the message. */
typedef struct sp_model_spec {
	sp_bytes name;
	sp_bytes signature_name;
	bool has_version, has_label; /* at most one of them */
	int64_t version;
	sp_bytes label;
} sp_model_spec;

/* Reads a ModelSpec, adding to what *out has. */
SP_MUST_CHECK sp_status sp_model_spec_decode(sp_model_spec *out, sp_bytes message, sp_error *err);

/* Reads the model_spec, field 1, of a request; the rest is looked at by its decoder. */
SP_MUST_CHECK sp_status sp_model_spec_find(sp_model_spec *out, sp_bytes request, sp_error *err);

/* Appends a ModelSpec as field `number`, which is below 16; a failure is remembered in `out`. */
void sp_model_spec_append(sp_buffer *out, uint32_t number, const sp_model_spec *spec);

/*
 * Reads inputs and output_filter.  Inputs of the signature may be missing: out->given says how many
 * there are.
 *
 * Errors: SP_INVALID, SP_UNSUPPORTED, SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_predict_message_decode(sp_message_inputs *out,
						  const serving_processor_signature *signature,
						  sp_bytes message, sp_message_memory *memory,
						  sp_error *err);

/* An entry of the map of inputs.  A value given in several parts is joined in the arena. */
typedef struct sp_predict_entry {
	sp_bytes key, value;
} sp_predict_entry;
SP_MUST_CHECK sp_status sp_predict__entry(sp_predict_entry *out, sp_bytes message, sp_arena *arena,
					  sp_error *err);

/*
 * The tensor of that name, whatever the signature; SP_NOT_FOUND if the request has none.
 *
 * arrays  the request is EAS's: tensors are ArrayProtos
 */
SP_MUST_CHECK sp_status sp_predict_message_find(serving_processor_tensor *out, sp_bytes name,
						sp_bytes message, bool arrays, sp_arena *arena,
						sp_error *err);

/* Returns SP_INVALID with the names that the request lacks, and those that the signature lacks. */
sp_status sp_predict_message_wrong_inputs(const sp_message_inputs *inputs, sp_bytes message,
					  sp_message_memory *memory, sp_error *err);

/*
 * Appends a PredictRequest for the same as `request`.  Errors: as of sp_predict_message_encode().
 */
SP_MUST_CHECK sp_status sp_predict_message_encode_request(sp_buffer *out,
							  const sp_infer_request *request,
							  const sp_model_spec *spec, sp_error *err);

/*
 * Appends a PredictResponse; without a model_spec and with arrays it is EAS's.
 *
 * outputs  [count]
 * spec     NULL: none
 *
 * Errors: SP_UNSUPPORTED for a type that the message cannot carry, SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_predict_message_encode(sp_buffer *out,
						  const serving_processor_tensor *outputs,
						  size_t count, const sp_model_spec *spec,
						  sp_tensor_style style, sp_error *err);

#endif
