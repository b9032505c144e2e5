#ifndef SP_PROCESSOR_WARMUP_WARMUP_RECORDED_H
#define SP_PROCESSOR_WARMUP_WARMUP_RECORDED_H

#include <stddef.h>

#include "base/status.h"
#include "processor/version/runtime.h"
#include "processor/warmup/warmup.h"

/*
 * The warm-up that a SavedModel brings for TensorFlow Serving: a TFRecord file
 * of PredictionLog messages, each of which holds a request.  Each of the first
 * `most` is answered once on every session of the target, by the signature that
 * its model_spec names, or the configured one where it names none; the target's
 * own endpoint is not used.
 *
 * As with TensorFlow Serving a file that is damaged, that has more than
 * SP_WARMUP_MAX_RECORDS, or a request that cannot be answered is an error
 * (SP_INVALID or the request's own; never SP_NOT_FOUND but for the file itself).
 * Logs of other requests than Predict, which are not served here, are passed
 * over with a line in the log.
 *
 * Source: saved_model_warmup.md and prediction_log.proto of TensorFlow Serving;
 * the file format: record_writer.h of TensorFlow.
 */
#define SP_WARMUP_RECORDED_FILE "assets.extra/tf_serving_warmup_requests"
#define SP_WARMUP_MAX_RECORDS   1000

SP_MUST_CHECK sp_status sp_warmup_recorded(const sp_warmup_target *target,
					   const sp_runtime *runtime, const char *file, size_t most,
					   sp_error *err);

#endif
