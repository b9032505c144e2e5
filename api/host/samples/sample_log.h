#ifndef SP_API_HOST_SAMPLES_SAMPLE_LOG_H
#define SP_API_HOST_SAMPLES_SAMPLE_LOG_H

#include "api/host/model/models.h"
#include "api/host/samples/record_files.h"
#include "base/status.h"

/*
 * The sampled log of requests and answers (logging_config of a model): TFRecord files of
 * PredictionLog messages, as TensorFlow Serving's warm-up reads them.
 *
 * The thread that has answered a sampled request writes its message into memory; one thread writes
 * all files.  If too many messages or bytes wait, a request is dropped and counted
 * (sp_model_counters), so that a slow disk never delays an answer.  A request that is not sampled
 * costs nothing here.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_sample_log sp_sample_log;

SP_MUST_CHECK sp_status sp_sample_log_create(sp_sample_log **out, const sp_record_limits *limits,
					     sp_error *err);

/* Writes what waits and closes the files; no request may run any more.  NULL is fine. */
void sp_sample_log_destroy(sp_sample_log *log);

/* For sp_models_set_samples(). */
const sp_sample_sink *sp_sample_log_get_sink(const sp_sample_log *log);

/* Call it every second: closes the files whose time is over. */
void sp_sample_log_tick(sp_sample_log *log);

#endif
