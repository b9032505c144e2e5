#ifndef SP_PROCESSOR_WARMUP_WARMUP_RECORDED_H
#define SP_PROCESSOR_WARMUP_WARMUP_RECORDED_H

#include <stddef.h>

#include "base/status.h"
#include "processor/version/runtime.h"
#include "processor/warmup/warmup.h"

/*
 * The warm-up of a SavedModel for TensorFlow Serving: a TFRecord file of PredictionLog messages,
 * each with a request.  Each of the first `most` is answered once on every session of the target,
 * by the signature that its model_spec names, or the configured one if it names none; the target's
 * own endpoint is not used.
 *
 * As in TensorFlow Serving, a damaged file, a file with more than SP_WARMUP_MAX_RECORDS, or a
 * request that cannot be answered is an error (SP_INVALID or the request's own; SP_NOT_FOUND only
 * for a missing file).  Logs of requests other than Predict, which are not served here, are skipped
 * with a log line.
 *
 * Source: saved_model_warmup.md of TensorFlow Serving.
 */
#define SP_WARMUP_RECORDED_FILE "assets.extra/tf_serving_warmup_requests"
#define SP_WARMUP_MAX_RECORDS   1000

SP_MUST_CHECK sp_status sp_warmup_recorded(const sp_warmup_target *target,
					   const sp_runtime *runtime, const char *file, size_t most,
					   sp_error *err);

#endif
