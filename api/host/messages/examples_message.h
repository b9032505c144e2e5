#ifndef SP_API_HOST_MESSAGES_EXAMPLES_MESSAGE_H
#define SP_API_HOST_MESSAGES_EXAMPLES_MESSAGE_H

#include <stddef.h>

#include "api/host/infer/examples.h"
#include "api/host/messages/predict_message.h"
#include "base/arena.h"
#include "base/buffer.h"

/*
 * tensorflow.serving.ClassificationRequest, RegressionRequest and MultiInferenceRequest
 * (proto/serving.proto), and their responses.
 *
 * Threads: pure but for the arena.
 */

/*
 * Reads `input`, field 2: the examples as serialized records, views into the message; those with a
 * context are copies in the arena, the context before the example.  None if there is no input.
 */
SP_MUST_CHECK sp_status sp_examples_message_decode(const sp_bytes **out, size_t *count,
						   sp_bytes message, sp_arena *arena,
						   sp_error *err);

/*
 * The first example and the context, as views like those of decode; {NULL, 0} for one that the
 * message lacks.
 */
SP_MUST_CHECK sp_status sp_examples_message_first(sp_bytes *example, sp_bytes *context,
						  sp_bytes message, sp_arena *arena, sp_error *err);

/* An InferenceTask; views into the message. */
typedef struct sp_inference_task {
	sp_model_spec spec;
	sp_bytes method;
} sp_inference_task;

/* Reads the tasks of a MultiInferenceRequest into the arena. */
SP_MUST_CHECK sp_status sp_examples_message_tasks(const sp_inference_task **out, size_t *count,
						  sp_bytes message, sp_arena *arena, sp_error *err);

/* The model's name in the first task; empty if there is none. */
sp_bytes sp_examples_message_model(sp_bytes message);

/* Appends a ClassificationResponse or RegressionResponse. */
SP_MUST_CHECK sp_status sp_examples_message_encode(sp_buffer *out, const sp_examples_result *result,
						   const sp_model_spec *spec, sp_error *err);

/* Appends one result of a MultiInferenceResponse. */
SP_MUST_CHECK sp_status sp_examples_message_add(sp_buffer *out, const sp_examples_result *result,
						const sp_model_spec *spec, sp_error *err);

#endif
