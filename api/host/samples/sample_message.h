#ifndef SP_API_HOST_SAMPLES_SAMPLE_MESSAGE_H
#define SP_API_HOST_SAMPLES_SAMPLE_MESSAGE_H

#include <stdint.h>

#include "api/host/infer/examples.h"
#include "api/host/infer/infer_call.h"
#include "api/host/model/models.h"
#include "base/buffer.h"
#include "base/status.h"

/*
 * An answered request as a tensorflow.serving.PredictionLog.
 *
 * Of a prediction it has a predict_log, whatever protocol the request came by: the request as a
 * PredictRequest, the answer as a PredictResponse.  Classification and regression have a
 * classify_log or regress_log.  The request's model_spec has no version, so that any version can be
 * asked the same; those of the response and of the log's metadata have the version that answered.
 *
 * Source: prediction_log.proto, logging.proto, logging_config.proto of TensorFlow Serving 2.15.
 *
 * Threads: pure.
 */
typedef struct sp_sample {
	const sp_servable *servable; /* its sampling is not NULL */
	const sp_infer_request *request;
	const sp_infer_result *result;
	const sp_examples_result *examples; /* what was made of the result; NULL: a prediction */
	int64_t unix_seconds;               /* of the answer */
} sp_sample;

/* Errors: SP_UNSUPPORTED for a tensor that a message cannot carry, SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_sample_message_encode(sp_buffer *out, const sp_sample *sample,
						 sp_error *err);

#endif
