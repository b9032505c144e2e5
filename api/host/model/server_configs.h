#ifndef SP_API_HOST_MODEL_SERVER_CONFIGS_H
#define SP_API_HOST_MODEL_SERVER_CONFIGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

struct sp_config_field; /* config_text.h */

/*
 * TensorFlow Serving's configuration files beside that of models, in protobuf's text format.
 *
 * Errors of all: SP_NOT_FOUND, SP_IO or SP_INVALID, with the path and the place in the file.  Texts
 * are in the arena.
 *
 * Threads: pure.
 */

enum { SP_MAX_BATCH_SIZES = 64 };

/* --batching_parameters_file: tensorflow.serving.BatchingParameters. */
typedef struct sp_batching_config {
	bool enabled;                 /* true; only the JSON form of a model can say otherwise */
	int64_t max_batch_size;       /* 1000 */
	int64_t batch_timeout_micros; /* 0 */
	int64_t max_enqueued_batches; /* 10 */
	int64_t num_batch_threads;    /* 0: one per CPU */
	const char *thread_pool_name; /* "batch_threads" */
	/* [allowed_count], ascending; the last is the largest batch */
	int64_t allowed_batch_sizes[SP_MAX_BATCH_SIZES];
	size_t allowed_count;
	bool pad_variable_length_inputs;
	bool enable_large_batch_splitting;
	int64_t max_execution_batch_size; /* 0: max_batch_size */
} sp_batching_config;

/* The defaults. */
void sp_batching_config_init(sp_batching_config *out);

SP_MUST_CHECK sp_status sp_batching_config_read(sp_batching_config *out, const char *path,
						sp_arena *arena, sp_error *err);

/* The same for an object of JSON, without the two members about threads: a read function. */
SP_MUST_CHECK sp_status sp_batching_config_read_json(void *out, const struct sp_config_field *field,
						     sp_arena *arena, sp_error *err);

/* Whether a model is batched alike by both. */
bool sp_batching_configs_are_same(const sp_batching_config *a, const sp_batching_config *b);

/* --ssl_config_file: tensorflow.serving.SSLConfig.  The texts are PEM, not names of files. */
typedef struct sp_ssl_config {
	const char *server_key, *server_cert;
	const char *custom_ca; /* "": none */
	bool client_verify;
} sp_ssl_config;

SP_MUST_CHECK sp_status sp_ssl_config_read(sp_ssl_config *out, const char *path, sp_arena *arena,
					   sp_error *err);

/* --monitoring_config_file: tensorflow.serving.MonitoringConfig. */
typedef struct sp_monitoring_config {
	bool enable;
	const char *path; /* "/monitoring/prometheus/metrics" unless the file has another */
} sp_monitoring_config;

SP_MUST_CHECK sp_status sp_monitoring_config_read(sp_monitoring_config *out, const char *path,
						  sp_arena *arena, sp_error *err);

#endif
