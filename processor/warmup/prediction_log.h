#ifndef SP_PROCESSOR_WARMUP_PREDICTION_LOG_H
#define SP_PROCESSOR_WARMUP_PREDICTION_LOG_H

#include "base/wire.h"

/*
 * tensorflow.serving.PredictionLog, as far as Predict requests use it.
 *
 * Source: prediction_log.proto, predict.proto, model.proto of TensorFlow Serving 2.15; tensor.proto
 * and resource_handle.proto of TensorFlow 2.15.
 */
enum {
	/* A oneof: of the fields from the first to the last only the last one given is set. */
	SP_LOG_FIRST_KIND = 2,
	SP_LOG_PREDICT = 6,
	SP_LOG_LAST_KIND = 7,

	SP_PREDICT_LOG_REQUEST = 1,

	SP_SERVING_REQUEST_MODEL_SPEC = 1,
	SP_SERVING_REQUEST_INPUTS = 2,
	SP_SERVING_REQUEST_OUTPUT_FILTER = 3,

	SP_MODEL_SPEC_SIGNATURE = 3,

	SP_INPUT_KEY = 1, /* of the map */
	SP_INPUT_VALUE = 2,
};

/* Logs of requests other than Predict are not validated inside. */
extern const sp_wire_schema sp_prediction_log_schema;

#endif
