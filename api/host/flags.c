#include "api/host/flags.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* CHOICE: one of the words listed in `value`. */
typedef enum kind { TEXT, NUMBER, SWITCH, CHOICE } kind;

typedef struct flag {
	const char *name;
	kind kind;
	size_t offset; /* in sp_flags */
	const char *initial;
	int64_t least, most;
	const char *value, *help;
} flag;

#define AT(field) offsetof(sp_flags, field)
#define DAY_MS    86400000

/* tensorflow_model_server's, instead of ours. */
static const struct {
	const char *name, *initial;
} tfs_defaults[] = {
	{"rest_api_host", "0.0.0.0"},
	{"rest_api_port", "0"},
	{"port", "8500"},
	{"wait_for_models", "true"},
};

/*
 * Flags of tensorflow_model_server that have no effect here, and why.
 */
static const struct {
	const char *name;
	bool is_switch;
	const char *why;
} ignored[] = {
	{"enable_grpc_healthcheck_service", true, "the health service is always there"},
	{"enable_model_warmup", true, "a version is always warmed before it is served"},
	{"enable_per_model_batching_parameters", true,
	 "the JSON form of --model_config_file has batching parameters of a model"},
	{"enable_profiler", true, "there is no profiler"},
	{"enable_signature_method_name_check", true, "any signature can be asked for"},
	{"flush_filesystem_caches", true, "the system takes its page cache back as it needs it"},
	{"grpc_channel_arguments", false, "limits of connections are flags of their own"},
	{"grpc_max_threads", false, "--rest_api_num_threads is for all protocols"},
	{"mixed_precision", false, "a model is computed in its own types"},
	{"num_request_iterations_for_warmup", false, "the processor knows when it is warm"},
	{"num_tflite_interpreters", false, "there is no TensorFlow Lite"},
	{"num_tflite_interpreters_per_pool", false, "there is no TensorFlow Lite"},
	{"num_tflite_pools", false, "there is no TensorFlow Lite"},
	{"num_unload_threads", false, "one thread closes versions"},
	{"per_process_gpu_memory_fraction", false, "no GPU is used"},
	{"platform_config_file", false, "there is one platform"},
	{"prefer_tflite_model", true, "there is no TensorFlow Lite"},
	{"remove_unused_fields_from_bundle_metagraph", true, "what is not used is never kept"},
	{"skip_initialize_tpu", true, "no TPU is used"},
	{"tensorflow_inter_op_parallelism", false, "a request is computed by one thread"},
	{"tensorflow_intra_op_parallelism", false, "a request is computed by one thread"},
	{"tensorflow_session_config_file", false, "there is no TensorFlow in it"},
	{"tensorflow_session_parallelism", false, "a request is computed by one thread"},
	{"thread_pool_factory_config_file", false, "a request is computed by one thread"},
	{"use_tflite_model", true, "there is no TensorFlow Lite"},
	{"xla_cpu_compilation_enabled", true, "a model is always compiled"},
	{"xla_gpu_compilation_enabled", true, "no GPU is used"},
};

enum { IGNORED_COUNT = sizeof(ignored) / sizeof(ignored[0]) };

_Static_assert(IGNORED_COUNT <= 64, "sp_flags.ignored has a bit for each");

static const flag flags[] = {
	{"model_base_path", TEXT, AT(model_base_path), NULL, 0, 0, "FOLDER",
	 "a SavedModel, or a folder of numbered ones: the highest is served"},
	{"processor_config", TEXT, AT(processor_config), NULL, 0, 0, "FILE",
	 "the processor's configuration (JSON), instead of --model_base_path"},
	{"model_config_file", TEXT, AT(model_config_file), NULL, 0, 0, "FILE",
	 "the models to serve, in TensorFlow Serving's text format or JSON (docs/models.md)"},
	{"model_config_file_poll_wait_seconds", NUMBER, AT(model_config_file_poll_wait_seconds),
	 "0", 0, DAY_MS, "S", "how often to look whether that file has changed; 0: on SIGHUP only"},
	{"file_system_poll_wait_seconds", NUMBER, AT(file_system_poll_wait_seconds), "1", -1,
	 DAY_MS, "S", "how often to look for versions of models; 0: once"},
	{"num_load_threads", NUMBER, AT(num_load_threads), "0", 0, 256, "N",
	 "models that are loaded at a time; 0: one"},
	{"max_num_load_retries", NUMBER, AT(max_num_load_retries), "5", 0, INT64_C(2147483647), "N",
	 "how often a version that cannot be loaded is tried again"},
	{"load_retry_interval_micros", NUMBER, AT(load_retry_interval_micros), "60000000", 0,
	 DAY_MS *INT64_C(1000), "US", "time between two such attempts"},
	{"allow_version_labels_for_unavailable_models", SWITCH,
	 AT(allow_version_labels_for_unavailable_models), "false", 0, 0, NULL,
	 "new labels may be given to versions that are not available"},
	{"traffic_split", TEXT, AT(traffic_split), NULL, 0, 0, "LIST",
	 "LABEL=PERCENT,...: so many of the requests that name no version go to that one"},
	{"traffic_sticky_field", TEXT, AT(traffic_sticky_field), NULL, 0, 0, "NAME",
	 "requests with equal first values of this input go to the same version"},
	{"traffic_sticky_header", TEXT, AT(traffic_sticky_header), NULL, 0, 0, "NAME",
	 "requests with equal values of this header go to the same version"},
	{"traffic_shadow", TEXT, AT(traffic_shadow), NULL, 0, 0, "LIST",
	 "LABEL=PERCENT,...: so many are also computed by that version, and compared"},
	{"wait_for_models", SWITCH, AT(wait_for_models), "false", 0, 0, NULL,
	 "a model that is not there yet, or cannot be loaded, does not end the process"},
	{"model_name", TEXT, AT(model_name), "default", 0, 0, "NAME", "the model's name in URLs"},
	{"signature_name", TEXT, AT(signature_name), NULL, 0, 0, "NAME",
	 "for requests that name none; default serving_default, or what the configuration says"},
	{"saved_model_tags", TEXT, AT(saved_model_tags), NULL, 0, 0, "LIST",
	 "comma-separated tags of the metagraph to serve; default serve, or the only one there is"},
	{"version_labels", TEXT, AT(version_labels), "", 0, 0, "LIST",
	 "comma-separated labels of the served version, for /labels/ in URLs"},
	{"admin_routes", SWITCH, AT(admin_routes), "false", 0, 0, NULL,
	 "versions and orders about them over HTTP, for whoever can connect"},
	{"log_format", CHOICE, AT(log_format), NULL, 0, 0, "text|json",
	 "form of log lines; default what the configuration says, or text"},
	{"log_level", CHOICE, AT(log_level), NULL, 0, 0, "debug|info|warning|error",
	 "lower log lines are dropped; default what the configuration says, or info"},
	{"eas_token", TEXT, AT(eas_token), NULL, 0, 0, "LIST",
	 "comma-separated tokens of which requests to /api/predict/ need one; default none"},
	{"metrics_path", TEXT, AT(metrics_path), "/monitoring/prometheus/metrics", 0, 0, "PATH",
	 "where Prometheus finds metrics; empty: nowhere"},
	{"monitoring_config_file", TEXT, AT(monitoring_config_file), NULL, 0, 0, "FILE",
	 "TensorFlow Serving's MonitoringConfig, instead of --metrics_path"},
	{"enable_batching", SWITCH, AT(enable_batching), "false", 0, 0, NULL,
	 "run requests that wait at the same time together"},
	{"batching_parameters_file", TEXT, AT(batching_parameters_file), NULL, 0, 0, "FILE",
	 "TensorFlow Serving's BatchingParameters, with --enable_batching"},
	{"session_num", NUMBER, AT(session_num), "0", 0, 1024, "N",
	 "sessions of the model; 0: as many as --rest_api_num_threads"},

	{"compat", CHOICE, AT(compat), "none", 0, 0, "tfs|none",
	 "tfs: the defaults of tensorflow_model_server, as by that name"},
	{"rest_api_port", NUMBER, AT(rest_api_port), "8501", 0, 65535, "PORT",
	 "where to listen; 0: any free port, with --compat=tfs none"},
	{"port", NUMBER, AT(port), NULL, 0, 65535, "PORT",
	 "a further port; every port answers all protocols; 0: any free one"},
	{"grpc_socket_path", TEXT, AT(grpc_socket_path), NULL, 0, 0, "PATH",
	 "a further socket of the file system"},
	{"ssl_config_file", TEXT, AT(ssl_config_file), NULL, 0, 0, "FILE",
	 "TLS on --port, as TensorFlow Serving's SSLConfig says"},
	{"use_alts_credentials", SWITCH, AT(use_alts_credentials), "false", 0, 0, NULL,
	 "not supported: an error if it is true"},
	{"rest_api_host", TEXT, AT(rest_api_host), "127.0.0.1", 0, 0, "ADDRESS",
	 "address to listen on; 0.0.0.0 for all"},
	{"bind", TEXT, AT(rest_api_host), NULL, 0, 0, "ADDRESS", "the same as --rest_api_host"},
	{"port_file", TEXT, AT(port_file), NULL, 0, 0, "FILE",
	 "where to write the port, once the model is served"},
	{"reuse_port", SWITCH, AT(reuse_port), "false", 0, 0, NULL,
	 "share the port with other processes that say so, too"},
	{"rest_api_num_threads", NUMBER, AT(rest_api_num_threads), "0", 0, 1024, "N",
	 "threads that compute; 0: one per CPU and one more"},
	{"rest_api_num_io_threads", NUMBER, AT(rest_api_num_io_threads), "0", 0, 256, "N",
	 "threads that talk to clients; 0: one per eight CPUs"},
	{"rest_api_timeout_in_ms", NUMBER, AT(rest_api_timeout_in_ms), "30000", 1, DAY_MS, "MS",
	 "time for a request, from its first byte until it is computed"},
	{"rest_api_enable_cors_support", SWITCH, AT(rest_api_enable_cors_support), "false", 0, 0,
	 NULL, "let any web page call"},
	{"enable_serialization_as_tensor_content", SWITCH,
	 AT(enable_serialization_as_tensor_content), "false", 0, 0, NULL,
	 "gRPC: answers have the values of tensors in tensor_content"},
	{"grpc_compress_answers", SWITCH, AT(grpc_compress_answers), "false", 0, 0, NULL,
	 "gRPC: compress answers for clients that accept it"},
	{"idle_timeout_in_ms", NUMBER, AT(idle_timeout_in_ms), "60000", 1, DAY_MS, "MS",
	 "how long a connection may be silent"},
	{"max_body_bytes", NUMBER, AT(max_body_bytes), "2147483647", 1, INT64_C(2147483647),
	 "BYTES", "larger requests are refused"},
	{"max_connections", NUMBER, AT(max_connections), "10000", 1, 1000000, "N",
	 "connections open at a time"},
	{"max_queue", NUMBER, AT(max_queue), "1024", 1, 1000000, "N",
	 "requests that may wait; beyond, 503 at once"},
	{"max_request_memory", NUMBER, AT(max_request_memory), "0", 0, INT64_MAX, "BYTES",
	 "for all requests and answers together; beyond, 503 at once; 0: a quarter of the "
	 "machine's"},

	{"drain_delay_in_ms", NUMBER, AT(drain_delay_in_ms), "5000", 0, DAY_MS, "MS",
	 "after SIGTERM: serve on for so long, not ready"},
	{"drain_timeout_in_ms", NUMBER, AT(drain_timeout_in_ms), "20000", 0, DAY_MS, "MS",
	 "after that: wait at most so long for requests to end"},
	{"version", SWITCH, AT(version), "false", 0, 0, NULL, "print the version"},
	{"help", SWITCH, AT(help), "false", 0, 0, NULL, "print this"},
};

enum { FLAG_COUNT = sizeof(flags) / sizeof(flags[0]) };

void sp_flags_print_help(FILE *out)
{
	fprintf(out, "usage: serving_host --model_base_path=FOLDER [--flag=value ...]\n\n");
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		const flag *f = &flags[i];

		fprintf(out, "  --%s%s%s\n        %s", f->name, f->value != NULL ? "=" : "",
			f->value != NULL ? f->value : "", f->help);
		if (f->kind != SWITCH && f->initial != NULL && *f->initial != '\0')
			fprintf(out, " (default %s)", f->initial);
		fprintf(out, "\n");
	}
	fprintf(out,
		"\nOther flags of tensorflow_model_server are accepted, too, without effect:\n");
	for (size_t i = 0; i < IGNORED_COUNT; i++)
		fprintf(out, "    %s\n", ignored[i].name);
}

void sp_flags_print_ignored(const sp_flags *out, sp_buffer *text)
{
	for (size_t i = 0; i < IGNORED_COUNT; i++)
		if ((out->ignored >> i & 1) != 0)
			sp_buffer_printf(text, "%s--%s (%s)", text->size != 0 ? ", " : "",
					 ignored[i].name, ignored[i].why);
}

static sp_status set_number(sp_flags *out, const flag *f, const char *text, sp_error *err)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < f->least || value > f->most)
		return sp_error_set(err, SP_INVALID,
				    "--%s: \"%s\" is not a number from %lld to %lld", f->name, text,
				    (long long)f->least, (long long)f->most);
	*(int64_t *)((char *)out + f->offset) = value;
	return SP_OK;
}

static sp_status set_switch(sp_flags *out, const flag *f, const char *text, sp_error *err)
{
	bool on = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

	if (!on && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return sp_error_set(err, SP_INVALID, "--%s: \"%s\" is neither true nor false",
				    f->name, text);
	*(bool *)((char *)out + f->offset) = on;
	return SP_OK;
}

static sp_status set_choice(sp_flags *out, const flag *f, const char *text, sp_error *err)
{
	size_t size = strlen(text);

	for (const char *word = f->value; *word != '\0'; word += strspn(word, "|")) {
		size_t n = strcspn(word, "|");

		if (n == size && memcmp(word, text, n) == 0) {
			*(const char **)((char *)out + f->offset) = text;
			return SP_OK;
		}
		word += n;
	}
	return sp_error_set(err, SP_INVALID, "--%s: \"%s\" is none of %s", f->name, text, f->value);
}

static sp_status set(sp_flags *out, const flag *f, const char *text, sp_error *err)
{
	switch (f->kind) {
	case NUMBER:
		return set_number(out, f, text, err);
	case SWITCH:
		return set_switch(out, f, text, err);
	case CHOICE:
		return set_choice(out, f, text, err);
	case TEXT:
		break;
	}
	*(const char **)((char *)out + f->offset) = text;
	return SP_OK;
}

/* `name` may be followed by "=value". */
static const flag *find(const char *name)
{
	size_t size = strcspn(name, "=");

	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (strlen(flags[i].name) == size && memcmp(flags[i].name, name, size) == 0)
			return &flags[i];
	return NULL;
}

static sp_status set_defaults(sp_flags *out, bool tfs, sp_error *err)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (flags[i].initial != NULL)
			SP_TRY(set(out, &flags[i], flags[i].initial, err));
	out->port = -1;
	out->tfs = tfs;
	for (size_t i = 0; tfs && i < sizeof(tfs_defaults) / sizeof(tfs_defaults[0]); i++)
		SP_TRY(set(out, find(tfs_defaults[i].name), tfs_defaults[i].initial, err));
	return SP_OK;
}

/* Finds `word` among the flags without effect; IGNORED_COUNT if it is not one of them. */
static size_t find_ignored(const char *word)
{
	size_t size = strcspn(word, "="), i = 0;

	while (i < IGNORED_COUNT &&
	       (strlen(ignored[i].name) != size || memcmp(ignored[i].name, word, size) != 0))
		i++;
	return i;
}

/* Reads the flag at argv[*i]; advances *i if its value is the next word. */
static sp_status read_flag(sp_flags *out, int argc, char **argv, int *i, sp_error *err)
{
	const char *word = argv[*i], *equals = strchr(word, '=');
	bool is_switch;
	size_t without_effect;
	const flag *f;

	if (strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
		word = "--help";
	if (strncmp(word, "--", 2) != 0)
		return sp_error_set(err, SP_INVALID, "\"%s\" is not a flag", word);
	f = find(word + 2);
	without_effect = find_ignored(word + 2);
	if (f == NULL && without_effect == IGNORED_COUNT)
		return sp_error_set(err, SP_INVALID, "unknown flag %.*s", (int)strcspn(word, "="),
				    word);
	is_switch = f != NULL ? f->kind == SWITCH : ignored[without_effect].is_switch;
	if (equals == NULL && !is_switch && *i + 1 == argc)
		return sp_error_set(err, SP_INVALID, "%s needs a value", word);
	if (equals == NULL && !is_switch)
		equals = argv[++*i] - 1;
	if (f != NULL)
		return set(out, f, equals != NULL ? equals + 1 : "true", err);
	out->ignored |= UINT64_C(1) << without_effect;
	return SP_OK;
}

/*
 * Exactly one flag says what to serve.  But TensorFlow Serving's file replaces a folder: the
 * command of its container image always has one.
 */
static sp_status check_source(sp_flags *flags_read, sp_error *err)
{
	const char *given[3];
	size_t count = 0;

	if (flags_read->tfs && flags_read->model_config_file != NULL)
		flags_read->model_base_path = NULL;
	if (flags_read->model_base_path != NULL)
		given[count++] = "--model_base_path";
	if (flags_read->processor_config != NULL)
		given[count++] = "--processor_config";
	if (flags_read->model_config_file != NULL)
		given[count++] = "--model_config_file";
	if (count == 0)
		return sp_error_set(err, SP_INVALID,
				    "--model_base_path or --processor_config is needed, or "
				    "--model_config_file");
	if (count > 1)
		return sp_error_set(err, SP_INVALID, "%s and %s exclude each other", given[0],
				    given[1]);
	return SP_OK;
}

static sp_status check_ports(const sp_flags *flags_read, sp_error *err)
{
	if (flags_read->tfs && flags_read->rest_api_port == 0 && flags_read->port == 0)
		return sp_error_set(err, SP_INVALID, "--port or --rest_api_port is needed");
	return SP_OK;
}

static sp_status check(sp_flags *flags_read, sp_error *err)
{
	if (flags_read->version || flags_read->help)
		return SP_OK;
	SP_TRY(check_source(flags_read, err));
	SP_TRY(check_ports(flags_read, err));
	if (flags_read->use_alts_credentials)
		return sp_error_set(err, SP_INVALID, "--use_alts_credentials is not supported");
	if (flags_read->processor_config != NULL && flags_read->session_num != 0)
		return sp_error_set(err, SP_INVALID,
				    "--session_num has no effect with --processor_config: its file "
				    "says session_num");
	if (flags_read->processor_config != NULL && flags_read->saved_model_tags != NULL)
		return sp_error_set(err, SP_INVALID,
				    "--saved_model_tags has no effect with --processor_config: its "
				    "file says saved_model_tags");
	if (*flags_read->model_name == '\0')
		return sp_error_set(err, SP_INVALID, "--model_name must not be empty");
	if (*flags_read->metrics_path != '\0' && *flags_read->metrics_path != '/')
		return sp_error_set(err, SP_INVALID, "--metrics_path must begin with a slash");
	return SP_OK;
}

/* Whether the program has TensorFlow Serving's name, or is told to have its defaults. */
static bool is_tfs(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = argc > 0 ? (slash != NULL ? slash + 1 : argv[0]) : "";
	bool tfs = strcmp(name, "tensorflow_model_server") == 0;

	for (int i = 1; i < argc; i++) {
		const char *value = NULL;

		if (strncmp(argv[i], "--compat=", 9) == 0)
			value = argv[i] + 9;
		else if (strcmp(argv[i], "--compat") == 0 && i + 1 < argc)
			value = argv[i + 1];
		if (value != NULL)
			tfs = strcmp(value, "tfs") == 0;
	}
	return tfs;
}

/*
 * TensorFlow Serving lets whoever connects change its models.  Here that is so with its defaults,
 * and where only this machine can connect to a host whose models come from a file.
 */
static bool may_order_by_rpc(const sp_flags *out)
{
	const char *host = out->rest_api_host;
	bool loopback = strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
			strcmp(host, "localhost") == 0;

	return out->admin_routes || out->tfs || (out->model_config_file != NULL && loopback);
}

sp_status sp_flags_parse(sp_flags *out, int argc, char **argv, sp_error *err)
{
	SP_TRY(set_defaults(out, is_tfs(argc, argv), err));
	for (int i = 1; i < argc; i++)
		SP_TRY(read_flag(out, argc, argv, &i, err));
	out->orders_by_rpc = may_order_by_rpc(out);
	return check(out, err);
}
