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

/* How the members of sp_flags are set; the order is that of --help. */
static const flag flags[] = {
#define SP_FLAG_TEXT(name, initial, value, help) \
	{#name, TEXT, AT(name), initial, 0, 0, value, help},
#define SP_FLAG_CHOICE(name, initial, value, help) \
	{#name, CHOICE, AT(name), initial, 0, 0, value, help},
#define SP_FLAG_NUMBER(name, initial, least, most, value, help) \
	{#name, NUMBER, AT(name), initial, least, most, value, help},
#define SP_FLAG_SWITCH(name, help) {#name, SWITCH, AT(name), "false", 0, 0, NULL, help},
#include "api/host/flags.inc"
	{"bind", TEXT, AT(rest_api_host), NULL, 0, 0, "ADDRESS", "the same as --rest_api_host"},
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
	out->port = out->admin_port = -1;
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

/* Whether only this machine can reach an address. */
static bool is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
	       strcmp(host, "localhost") == 0;
}

static sp_status check_admin(const sp_flags *flags_read, sp_error *err)
{
	bool has_token = flags_read->admin_token_file != NULL;

	if (flags_read->admin_port < 0 && has_token)
		return sp_error_set(err, SP_INVALID, "--admin_token_file needs --admin_port");
	if (flags_read->admin_port >= 0 && !has_token && !is_loopback(flags_read->admin_host))
		return sp_error_set(err, SP_INVALID,
				    "--admin_host=%s needs --admin_token_file: others can reach it",
				    flags_read->admin_host);
	return SP_OK;
}

static sp_status check(sp_flags *flags_read, sp_error *err)
{
	if (flags_read->version || flags_read->help)
		return SP_OK;
	SP_TRY(check_source(flags_read, err));
	if (flags_read->tfs && flags_read->rest_api_port == 0 && flags_read->port == 0)
		return sp_error_set(err, SP_INVALID, "--port or --rest_api_port is needed");
	SP_TRY(check_admin(flags_read, err));
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
 * Whether RPCs may change the models, as TensorFlow Serving always allows.  This host allows it
 * with
 * --admin_routes, with TensorFlow Serving's defaults, and if its models come from
 * --model_config_file and it listens on a loopback address, which only this machine can reach.
 */
static bool may_order_by_rpc(const sp_flags *out)
{
	return out->admin_routes || out->tfs ||
	       (out->model_config_file != NULL && is_loopback(out->rest_api_host));
}

sp_status sp_flags_parse(sp_flags *out, int argc, char **argv, sp_error *err)
{
	SP_TRY(set_defaults(out, is_tfs(argc, argv), err));
	for (int i = 1; i < argc; i++)
		SP_TRY(read_flag(out, argc, argv, &i, err));
	out->orders_by_rpc = may_order_by_rpc(out);
	return check(out, err);
}
