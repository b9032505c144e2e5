#ifndef SP_API_HOST_FLAGS_H
#define SP_API_HOST_FLAGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/status.h"

/*
 * The command line of serving_host.  Texts are views of argv; NULL if the flag was not given
 * and has no default.
 *
 * Every flag of tensorflow_model_server is accepted.  By the name tensorflow_model_server, or with
 * --compat=tfs, its defaults count, too.
 */
typedef struct sp_flags {
	const char *compat; /* "tfs" or "none" */
	bool tfs;           /* TensorFlow Serving's defaults */
	int64_t port;       /* a further one for all protocols; -1: none */
	const char *grpc_socket_path;
	const char *batching_parameters_file;
	const char *monitoring_config_file;
	const char *ssl_config_file;
	bool enable_batching;
	bool use_alts_credentials;
	bool orders_by_rpc; /* TensorFlow Serving's HandleReloadConfigRequest and its like are
			       allowed */
	uint64_t ignored;   /* bits of the flags that were given and have no effect */

	const char *rest_api_host;
	int64_t rest_api_port;
	int64_t rest_api_num_threads;    /* 0: number of CPUs + 1 */
	int64_t rest_api_num_io_threads; /* 0: one per eight CPUs */
	int64_t rest_api_timeout_in_ms;
	bool rest_api_enable_cors_support;
	int64_t max_body_bytes;
	int64_t max_connections;
	int64_t max_queue;
	int64_t max_request_memory; /* bytes; 0: a quarter of the memory */
	int64_t idle_timeout_in_ms;
	bool reuse_port;
	bool enable_serialization_as_tensor_content;
	bool grpc_compress_answers;
	const char *port_file;

	const char *model_name;
	const char *model_base_path;
	const char *processor_config;
	const char *model_config_file;
	int64_t model_config_file_poll_wait_seconds; /* 0: it is read at the start only */
	int64_t file_system_poll_wait_seconds;       /* 0 or less: looked at once */
	int64_t num_load_threads;                    /* 0: one */
	int64_t max_num_load_retries;
	int64_t load_retry_interval_micros;
	bool allow_version_labels_for_unavailable_models;
	const char *traffic_split;         /* "canary=5" */
	const char *traffic_sticky_field;  /* NULL: none */
	const char *traffic_sticky_header; /* NULL: none */
	const char *traffic_shadow;        /* "candidate=10" */
	bool wait_for_models; /* a model that is not there, or fails, does not end the process */
	const char *signature_name;
	const char *saved_model_tags; /* "serve,gpu" */
	const char *version_labels;   /* "stable,canary" */
	const char *log_format;       /* NULL: as the configuration says, or text */
	const char *log_level;        /* NULL: as the configuration says, or info */
	bool admin_routes;
	const char *metrics_path; /* "": none */
	const char *eas_token;    /* comma-separated; NULL: none is needed */
	int64_t session_num;      /* 0: one per worker */

	int64_t drain_delay_in_ms;
	int64_t drain_timeout_in_ms;
	bool version;
	bool help;
} sp_flags;

/*
 * Reads "--flag=value" and "--flag value"; a switch may stand alone.
 *
 * Errors: SP_INVALID, with the flag's name, for an unknown flag, a missing or
 *         malformed value, or flags that contradict each other.
 */
SP_MUST_CHECK sp_status sp_flags_parse(sp_flags *out, int argc, char **argv, sp_error *err);

/* The text of --help. */
void sp_flags_print_help(FILE *out);

/* The flags that were given and have no effect, each with the reason; empty if there are none. */
void sp_flags_print_ignored(const sp_flags *flags, sp_buffer *out);

#endif
