#include "api/host/model/model_config.h"

#include <stdlib.h>
#include <string.h>

#include "api/host/model/config_text.h"
#include "api/host/model/traffic.h"
#include "base/alloc.h"
#include "base/arena_list.h"
#include "base/file.h"
#include "base/wire.h"

enum {
	MAX_FILE_BYTES = 16 << 20,
	FIRST_ARENA = 16 << 10,
	MAX_NAME = 500,
	MAX_MODELS = 4096,
	MAX_LABELS = 1000,
	MAX_VERSIONS = 1000
};

/* --------------------------------------------------------------------- policy */

static sp_status read_version(void *out, const sp_config_field *field, sp_arena *arena,
			      sp_error *err)
{
	SP_TRY(sp_config_read_i64(out, field, arena, err));
	return *(int64_t *)out >= 0 ? SP_OK
				    : sp_config_fail(field, "a version is not negative", err);
}

static sp_status add_specific(void *out, const sp_config_field *field, sp_arena *arena,
			      sp_error *err)
{
	sp_version_policy *policy = out;
	int64_t *version;

	if (policy->specific_count == MAX_VERSIONS)
		return sp_config_fail(field, "there are too many of them", err);
	version = sp_arena_append(arena, &policy->specific, &policy->specific_count,
				  sizeof(*version));
	if (version == NULL)
		return sp_no_memory(err, "the configuration");
	return read_version(version, field, arena, err);
}

/* 0, protobuf's absence, is 1. */
static sp_status read_latest_count(void *out, const sp_config_field *field, sp_arena *arena,
				   sp_error *err)
{
	sp_version_policy *policy = out;

	SP_TRY(sp_config_read_i64(&policy->latest, field, arena, err));
	if (policy->latest < 0 || policy->latest > UINT32_MAX)
		return sp_config_fail(field, "not a number of versions", err);
	if (policy->latest == 0)
		policy->latest = 1;
	return SP_OK;
}

static sp_status read_latest(void *out, const sp_config_field *field, sp_arena *arena,
			     sp_error *err)
{
	static const sp_config_member members[] = {{"num_versions", 0, read_latest_count, false},
						   {0}};

	((sp_version_policy *)out)->kind = SP_POLICY_LATEST;
	return sp_config_read_message(out, field, "Latest", members, arena, err);
}

static sp_status read_all(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	static const sp_config_member members[] = {{0}};

	((sp_version_policy *)out)->kind = SP_POLICY_ALL;
	return sp_config_read_message(out, field, "All", members, arena, err);
}

static sp_status read_specific(void *out, const sp_config_field *field, sp_arena *arena,
			       sp_error *err)
{
	static const sp_config_member members[] = {{"versions", 0, add_specific, true}, {0}};
	sp_version_policy *policy = out;

	policy->kind = SP_POLICY_SPECIFIC;
	SP_TRY(sp_config_read_message(out, field, "Specific", members, arena, err));
	return policy->specific_count != 0
		       ? SP_OK
		       : sp_config_fail(field, "there are no versions in it", err);
}

static sp_status read_policy(void *out, const sp_config_field *field, sp_arena *arena,
			     sp_error *err)
{
	static const sp_config_member members[] = {{"latest", 0, read_latest, false},
						   {"all", 0, read_all, false},
						   {"specific", 0, read_specific, false},
						   {0}};

	if (field->first != NULL && field->first->next != NULL)
		return sp_config_fail(field, "one policy only", err);
	return sp_config_read_message(out, field, "ServableVersionPolicy", members, arena, err);
}

/* --------------------------------------------------------------------- labels */

sp_status sp_model_config_set_label(sp_model_config *config, const sp_configured_label *label,
				    sp_arena *arena, sp_error *err)
{
	sp_configured_label *labels;

	for (size_t i = 0; i < config->label_count; i++) {
		labels = (sp_configured_label *)(uintptr_t)config->labels;
		if (strcmp(labels[i].label, label->label) == 0) {
			labels[i] = *label; /* of equal keys of a map the last one counts */
			return SP_OK;
		}
	}
	if (config->label_count == MAX_LABELS)
		return sp_error_set(err, SP_INVALID, "model %s has too many labels", config->name);
	labels = sp_arena_append(arena, &config->labels, &config->label_count, sizeof(*labels));
	if (labels == NULL)
		return sp_no_memory(err, "the configuration");
	*labels = *label;
	return SP_OK;
}

/* `key` and `value` are 0 where they are absent, as protobuf's are. */
static sp_status read_label(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	static const sp_config_member members[] = {
		{"key", offsetof(sp_configured_label, label), sp_config_read_text, false},
		{"value", offsetof(sp_configured_label, version), read_version, false},
		{0}};
	sp_configured_label label = {.label = ""};

	SP_TRY(sp_config_read_message(&label, field, "VersionLabelsEntry", members, arena, err));
	return sp_model_config_set_label(out, &label, arena, err);
}

/* ------------------------------------------------------------- sampled requests */

#define SAMPLES(member) offsetof(sp_configured_samples, member)

static sp_status read_rate(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	double *rate = out;

	SP_TRY(sp_config_read_double(out, field, arena, err));
	return *rate >= 0 && *rate <= 1 ? SP_OK
					: sp_config_fail(field, "not a rate from 0 to 1", err);
}

static sp_status read_sampling(void *out, const sp_config_field *field, sp_arena *arena,
			       sp_error *err)
{
	static const sp_config_member members[] = {
		{"sampling_rate", SAMPLES(rate), read_rate, false},
		{"attributes", 0, sp_config_skip, false},
		{0}};

	return sp_config_read_message(out, field, "tensorflow.serving.SamplingConfig", members,
				      arena, err);
}

static sp_status read_collector(void *out, const sp_config_field *field, sp_arena *arena,
				sp_error *err)
{
	static const sp_config_member members[] = {
		{"type", SAMPLES(type), sp_config_read_text, false},
		{"filename_prefix", SAMPLES(prefix), sp_config_read_text, false},
		{0}};

	return sp_config_read_message(out, field, "tensorflow.serving.LogCollectorConfig", members,
				      arena, err);
}

/* Both forms of the file have the same members. */
static sp_status read_logging(void *out, const sp_config_field *field, sp_arena *arena,
			      sp_error *err)
{
	static const sp_config_member members[] = {
		{"log_collector_config", 0, read_collector, false},
		{"sampling_config", 0, read_sampling, false},
		{0}};

	return sp_config_read_message(out, field, "tensorflow.serving.LoggingConfig", members,
				      arena, err);
}

/* ----------------------------------------------------------- the text format */

static sp_status refuse_custom(void *out, const sp_config_field *field, sp_arena *arena,
			       sp_error *err)
{
	(void)out;
	(void)arena;
	return sp_config_fail(field, "only model_config_list is supported", err);
}

#define AT(member) offsetof(sp_model_config, member)

static const sp_model_config default_model = {.name = "", .platform = "", .policy = {.latest = 1}};

sp_status sp_model_configs_add(sp_model_config **out, sp_model_configs *configs, sp_error *err)
{
	if (configs->count == MAX_MODELS)
		return sp_error_set(err, SP_INVALID, "there are more than %d models",
				    (int)MAX_MODELS);
	*out = sp_arena_append(configs->arena, &configs->items, &configs->count, sizeof(**out));
	if (*out == NULL)
		return sp_no_memory(err, "the configuration");
	**out = default_model;
	return SP_OK;
}

static sp_status read_model(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	static const sp_config_member members[] = {
		{"name", AT(name), sp_config_read_text, false},
		{"base_path", AT(base_path), sp_config_read_text, false},
		{"model_type", 0, sp_config_skip, false},
		{"model_platform", AT(platform), sp_config_read_text, false},
		{"model_version_policy", AT(policy), read_policy, false},
		{"version_labels", 0, read_label, true},
		{"logging_config", AT(samples), read_logging, false},
		{0}};
	sp_model_config *config;

	SP_TRY(sp_model_configs_add(&config, out, err));
	return sp_config_read_message(config, field, "tensorflow.serving.ModelConfig", members,
				      arena, err);
}

static sp_status read_list(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	static const sp_config_member members[] = {{"config", 0, read_model, true}, {0}};

	return sp_config_read_message(out, field, "tensorflow.serving.ModelConfigList", members,
				      arena, err);
}

static sp_status read_server(sp_model_configs *configs, const sp_config_field *first, sp_error *err)
{
	static const sp_config_member members[] = {{"model_config_list", 0, read_list, false},
						   {"custom_model_config", 0, refuse_custom, false},
						   {0}};

	return sp_config_read_members(configs, first, "tensorflow.serving.ModelServerConfig",
				      members, configs->arena, err);
}

static sp_status read_text(sp_model_configs *configs, sp_bytes text, sp_error *err)
{
	const sp_config_field *first;
	sp_status status = sp_config_text_parse(&first, text, configs->arena, err);

	if (status == SP_OK)
		status = read_server(configs, first, err);
	if (status == SP_INVALID)
		sp_error_prefix(err, status,
				"Error parsing text-format tensorflow.serving.ModelServerConfig");
	return status;
}

static sp_status read_message(sp_model_configs *configs, sp_bytes request, sp_error *err)
{
	enum { CONFIG = 1, LIST = 1, CUSTOM = 2 };
	sp_bytes config = {NULL, 0}, list = {NULL, 0}, custom = {NULL, 0};
	const sp_wire_place kinds[] = {{LIST, SP_WIRE_BYTES, &list},
				       {CUSTOM, SP_WIRE_BYTES, &custom}};
	const sp_config_field *first;

	if (!sp_wire_read(request, &(sp_wire_place){CONFIG, SP_WIRE_BYTES, &config}, 1) ||
	    !sp_wire_read(config, kinds, 2))
		return sp_error_set(err, SP_INVALID, "the message cannot be parsed");
	if (custom.data != NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "custom_model_config is not supported");
	if (list.data == NULL)
		return sp_error_set(err, SP_INVALID,
				    "ServerConfig type not supported by HandleReloadConfigRequest."
				    " Only ModelConfigList is currently supported");
	SP_TRY(sp_config_wire_parse(&first, config, configs->arena, err));
	SP_TRY(read_server(configs, first, err));
	/* Who sends messages does not say where files are written. */
	for (size_t i = 0; i < configs->count; i++)
		configs->items[i].samples.stays = true;
	return SP_OK;
}

/* ------------------------------------------------------------------------ JSON */

/* "all", "latest", or an object as in the text format: {"latest": 2}, {"specific": [1, 2]}. */
static sp_status read_json_policy(void *out, const sp_config_field *field, sp_arena *arena,
				  sp_error *err)
{
	static const sp_config_member members[] = {
		{"latest", 0, read_latest_count, false}, {"specific", 0, add_specific, true}, {0}};
	sp_version_policy *policy = out;

	if (field->kind == SP_CONFIG_STRING) {
		bool all = sp_bytes_equal_text(field->text, "all");

		policy->kind = all ? SP_POLICY_ALL : SP_POLICY_LATEST;
		return all || sp_bytes_equal_text(field->text, "latest")
			       ? SP_OK
			       : sp_config_fail(field, "expected \"all\" or \"latest\"", err);
	}
	SP_TRY(sp_config_read_message(out, field, "version_policy", members, arena, err));
	policy->kind = policy->specific_count != 0 ? SP_POLICY_SPECIFIC : SP_POLICY_LATEST;
	return SP_OK;
}

/* {"stable": 1}, or {"stable": "newest"}. */
static sp_status read_json_labels(void *out, const sp_config_field *field, sp_arena *arena,
				  sp_error *err)
{
	if (field->kind != SP_CONFIG_MESSAGE)
		return sp_config_fail(field, "expected an object", err);
	for (const sp_config_field *f = field->first; f != NULL; f = f->next) {
		sp_configured_label label = {sp_arena_text(arena, f->name), -1};

		if (label.label == NULL)
			return sp_no_memory(err, "a label");
		if (f->kind != SP_CONFIG_STRING || !sp_bytes_equal_text(f->text, "newest"))
			SP_TRY(read_version(&label.version, f, arena, err));
		SP_TRY(sp_model_config_set_label(out, &label, arena, err));
	}
	return SP_OK;
}

sp_status sp_model_config_read_processor(const char **out, const char *path, sp_arena *arena,
					 sp_error *err)
{
	char *content;
	size_t size;
	bool text;

	SP_TRY(sp_file_read(&content, &size, path, MAX_FILE_BYTES, err));
	text = memchr(content, '\0', size) == NULL;
	*out = sp_arena_text(arena, (sp_bytes){content, size});
	sp_free(content);
	if (!text)
		return sp_error_set(err, SP_INVALID, "%s: not a text", path);
	return *out != NULL ? SP_OK : sp_no_memory(err, "the configuration");
}

/* An object, or the name of a file with one. */
static sp_status read_processor_config(void *out, const sp_config_field *field, sp_arena *arena,
				       sp_error *err)
{
	const char *path;

	if (field->kind == SP_CONFIG_MESSAGE) {
		*(const char **)out = field->text.data;
		return SP_OK;
	}
	SP_TRY(sp_config_read_text(&path, field, arena, err));
	return sp_model_config_read_processor(out, path, arena, err);
}

static sp_status read_percent(void *out, const sp_config_field *field, sp_arena *arena,
			      sp_error *err)
{
	double *percent = out;

	SP_TRY(sp_config_read_double(out, field, arena, err));
	return *percent >= 0 && *percent <= 100
		       ? SP_OK
		       : sp_config_fail(field, "not a percentage from 0 to 100", err);
}

#define SHARE(member) offsetof(sp_configured_share, member)

static sp_status check_share(const sp_configured_share *share, const sp_config_field *field,
			     sp_error *err)
{
	return (share->label == NULL) != (share->version < 0)
		       ? SP_OK
		       : sp_config_fail(field, "either a label or a version is needed", err);
}

static sp_status add_share(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	static const sp_config_member members[] = {
		{"label", SHARE(label), sp_config_read_text, false},
		{"version", SHARE(version), read_version, false},
		{"percent", SHARE(percent), read_percent, false},
		{0}};
	sp_configured_traffic *traffic = out;
	sp_configured_share *share = &traffic->shares[traffic->share_count];

	if (traffic->share_count == sizeof(traffic->shares) / sizeof(traffic->shares[0]))
		return sp_config_fail(field, "too many shares", err);
	traffic->share_count++;
	*share = (sp_configured_share){.version = -1};
	SP_TRY(sp_config_read_message(share, field, "share", members, arena, err));
	return check_share(share, field, err);
}

#define TRAFFIC(member) offsetof(sp_configured_traffic, member)

/* {"shares": [{"label": "canary", "percent": 5}], "sticky_field": "user_id"} */
static sp_status read_split(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	static const sp_config_member members[] = {
		{"shares", 0, add_share, true},
		{"sticky_field", TRAFFIC(field), sp_config_read_text, false},
		{"sticky_header", TRAFFIC(header), sp_config_read_text, false},
		{0}};

	return sp_config_read_message(out, field, "split", members, arena, err);
}

/* {"label": "candidate", "percent": 10, "tolerance": 1e-4} */
static sp_status read_shadow(void *out, const sp_config_field *field, sp_arena *arena,
			     sp_error *err)
{
	static const sp_config_member members[] = {
		{"label", TRAFFIC(shadow) + SHARE(label), sp_config_read_text, false},
		{"version", TRAFFIC(shadow) + SHARE(version), read_version, false},
		{"percent", TRAFFIC(shadow) + SHARE(percent), read_percent, false},
		{"tolerance", TRAFFIC(tolerance), sp_config_read_double, false},
		{0}};
	sp_configured_traffic *traffic = out;

	traffic->shadow = (sp_configured_share){.version = -1};
	SP_TRY(sp_config_read_message(out, field, "shadow", members, arena, err));
	if (traffic->tolerance < 0)
		return sp_config_fail(field, "the tolerance is negative", err);
	return check_share(&traffic->shadow, field, err);
}

static sp_status read_batching(void *out, const sp_config_field *field, sp_arena *arena,
			       sp_error *err)
{
	sp_batching_config *config = sp_arena_alloc(arena, sizeof(*config));

	if (config == NULL)
		return sp_no_memory(err, "the batching parameters");
	*(const sp_batching_config **)out = config;
	return sp_batching_config_read_json(config, field, arena, err);
}

static const sp_config_member json_members[] = {
	{"name", AT(name), sp_config_read_text, false},
	{"base_path", AT(base_path), sp_config_read_text, false},
	{"processor_config", AT(processor_config), read_processor_config, false},
	{"version_policy", AT(policy), read_json_policy, false},
	{"version_labels", 0, read_json_labels, false},
	{"split", AT(traffic), read_split, false},
	{"shadow", AT(traffic), read_shadow, false},
	{"signature_name", AT(signature_name), sp_config_read_text, false},
	{"saved_model_tags", AT(saved_model_tags), sp_config_read_text, false},
	{"session_num", AT(session_num), sp_config_read_i64, false},
	{"batching", AT(batching), read_batching, false},
	{"max_requests", AT(max_requests), sp_config_read_i64, false},
	{"logging_config", AT(samples), read_logging, false},
	{0}};

static sp_status read_json_model(void *out, const sp_config_field *field, sp_arena *arena,
				 sp_error *err)
{
	sp_model_config *config;

	SP_TRY(sp_model_configs_add(&config, out, err));
	return sp_config_read_message(config, field, "model", json_members, arena, err);
}

static sp_status refuse_logging(const sp_config_field *first, sp_error *err)
{
	for (const sp_config_field *field = first; field != NULL; field = field->next)
		if (sp_bytes_equal_text(field->name, "logging_config"))
			return sp_config_fail(field, "an order cannot say where files are written",
					      err);
	return SP_OK;
}

sp_status sp_model_config_parse(sp_model_config *out, const char *name, sp_bytes text,
				sp_arena *arena, sp_error *err)
{
	const sp_config_field *first;
	sp_status status = sp_config_json_parse(&first, text, arena, err);

	*out = default_model;
	out->name = name;
	out->samples.stays = true;
	if (status == SP_OK)
		status = refuse_logging(first, err);
	if (status == SP_OK)
		status = sp_config_read_members(out, first, "model", json_members, arena, err);
	if (status == SP_OK && strcmp(out->name, name) != 0)
		status = sp_error_set(err, SP_INVALID, "it is that of model %s", out->name);
	if (status == SP_INVALID)
		sp_error_prefix(err, status, "Error parsing the JSON configuration of model %s",
				name);
	return status;
}

static sp_status read_json(sp_model_configs *configs, sp_bytes text, sp_error *err)
{
	static const sp_config_member members[] = {{"models", 0, read_json_model, true}, {0}};
	const sp_config_field *first;
	sp_status status = sp_config_json_parse(&first, text, configs->arena, err);

	if (status == SP_OK)
		status = sp_config_read_members(configs, first, "models", members, configs->arena,
						err);
	if (status == SP_INVALID)
		sp_error_prefix(err, status, "Error parsing the JSON configuration of models");
	return status;
}

/* ----------------------------------------------------------------------- rules */

static double sum_of_shares(const sp_configured_traffic *traffic)
{
	double sum = 0;

	for (size_t i = 0; i < traffic->share_count; i++)
		sum += traffic->shares[i].percent;
	return sum;
}

static sp_status check_model(const sp_model_config *config, sp_error *err)
{
	bool has_path = config->base_path != NULL && *config->base_path != '\0';

	if (*config->name == '\0')
		return sp_error_set(err, SP_INVALID, "a model has no name");
	if (strlen(config->name) > MAX_NAME)
		return sp_error_set(err, SP_INVALID, "the name of a model is longer than %d bytes",
				    (int)MAX_NAME);
	if (!has_path && config->processor_config == NULL)
		return sp_error_set(err, SP_INVALID, "model %s has no base_path", config->name);
	if (has_path && config->processor_config != NULL)
		return sp_error_set(err, SP_INVALID,
				    "model %s: base_path and processor_config exclude each other",
				    config->name);
	if (*config->platform != '\0' && strcmp(config->platform, "tensorflow") != 0)
		return sp_error_set(err, SP_INVALID,
				    "model %s has the unsupported model_platform \"%s\"; "
				    "\"tensorflow\" is supported",
				    config->name, config->platform);
	if (config->processor_config != NULL &&
	    (config->policy.kind != SP_POLICY_LATEST || config->policy.latest != 1))
		return sp_error_set(err, SP_INVALID,
				    "model %s: a model with a processor_config has one version at "
				    "a time",
				    config->name);
	if (sum_of_shares(&config->traffic) > 100)
		return sp_error_set(err, SP_INVALID, "model %s: the shares are more than 100 %%",
				    config->name);
	if (config->traffic.field != NULL && strlen(config->traffic.field) > SP_MAX_FIELD)
		return sp_error_set(err, SP_INVALID,
				    "model %s: sticky_field is longer than %d bytes", config->name,
				    (int)SP_MAX_FIELD);
	if (config->max_requests < 0)
		return sp_error_set(err, SP_INVALID, "model %s: max_requests is negative",
				    config->name);
	if (config->session_num < 0 || config->session_num > 1024)
		return sp_error_set(err, SP_INVALID, "model %s: session_num is not from 0 to 1024",
				    config->name);
	return SP_OK;
}

sp_status sp_model_configs_check(const sp_model_configs *configs, sp_error *err)
{
	for (size_t i = 0; i < configs->count; i++) {
		SP_TRY(check_model(&configs->items[i], err));
		for (size_t k = 0; k < i; k++)
			if (strcmp(configs->items[i].name, configs->items[k].name) == 0)
				return sp_error_set(err, SP_INVALID,
						    "Illegal to list model %s multiple times in "
						    "config list",
						    configs->items[i].name);
	}
	return SP_OK;
}

/* --------------------------------------------------------------- traffic by flags */

/* The next "LABEL=PERCENT" of a list; its label is in the arena. */
static sp_status next_share(sp_configured_share *out, const char **list, sp_arena *arena,
			    sp_error *err)
{
	size_t size = strcspn(*list, ","), label = strcspn(*list, "=,");
	char *end = NULL;

	*out = (sp_configured_share){.version = -1};
	if (label < size)
		out->percent = strtod(*list + label + 1, &end);
	if (label == 0 || end != *list + size || !(out->percent >= 0 && out->percent <= 100))
		return sp_error_set(err, SP_INVALID,
				    "\"%.*s\" is not LABEL=PERCENT with a number from 0 to 100",
				    (int)(size < 200 ? size : 200), *list);
	out->label = sp_arena_text(arena, (sp_bytes){*list, label});
	*list += size + ((*list)[size] == ',');
	return out->label != NULL ? SP_OK : sp_no_memory(err, "a label");
}

static bool has_label(const sp_model_config *config, const char *label)
{
	for (size_t i = 0; i < config->label_count; i++)
		if (strcmp(config->labels[i].label, label) == 0)
			return true;
	return false;
}

static sp_status add_traffic(sp_model_config *config, const char *split, const char *shadow,
			     sp_arena *arena, sp_error *err)
{
	sp_configured_traffic *traffic = &config->traffic;
	sp_configured_share share;

	while (split != NULL && *split != '\0') {
		SP_TRY(next_share(&share, &split, arena, err));
		if (!has_label(config, share.label))
			continue;
		if (traffic->share_count == sizeof(traffic->shares) / sizeof(traffic->shares[0]))
			return sp_error_set(err, SP_INVALID, "there are too many shares");
		traffic->shares[traffic->share_count++] = share;
	}
	while (shadow != NULL && *shadow != '\0') {
		SP_TRY(next_share(&share, &shadow, arena, err));
		if (has_label(config, share.label))
			traffic->shadow = share;
	}
	return SP_OK;
}

/* Unless the model has its own. */
static sp_status add_text(const char **to, const char *text, sp_arena *arena, sp_error *err)
{
	if (text == NULL || *to != NULL)
		return SP_OK;
	*to = sp_arena_text(arena, sp_bytes_of(text));
	return *to != NULL ? SP_OK : sp_no_memory(err, "the split");
}

sp_status sp_model_configs_add_traffic(sp_model_configs *configs, const char *split,
				       const char *field, const char *header, const char *shadow,
				       sp_error *err)
{
	for (size_t i = 0; i < configs->count; i++) {
		sp_model_config *config = &configs->items[i];
		bool own_shadow = config->traffic.shadow.percent > 0;

		config->own_traffic = config->traffic;
		SP_TRY(add_text(&config->traffic.field, field, configs->arena, err));
		SP_TRY(add_text(&config->traffic.header, header, configs->arena, err));
		SP_TRY(add_traffic(config, config->traffic.share_count == 0 ? split : NULL,
				   own_shadow ? NULL : shadow, configs->arena, err));
	}
	return SP_OK;
}

/* ------------------------------------------------------------------- the whole */

sp_model_configs *sp_model_configs_create(size_t count)
{
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_model_configs *configs = NULL;
	sp_model_config *added;

	if (arena != NULL)
		configs = sp_arena_zeros(arena, 1, sizeof(*configs));
	if (configs == NULL) {
		sp_arena_destroy(arena);
		return NULL;
	}
	configs->arena = arena;
	for (size_t i = 0; i < count; i++)
		if (sp_model_configs_add(&added, configs, NULL) != SP_OK) {
			sp_arena_destroy(arena);
			return NULL;
		}
	return configs;
}

sp_model_config *sp_model_configs_find(const sp_model_configs *configs, sp_bytes name)
{
	for (size_t i = 0; i < configs->count; i++)
		if (sp_bytes_equal_text(name, configs->items[i].name))
			return &configs->items[i];
	return NULL;
}

void sp_model_configs_destroy(sp_model_configs *configs)
{
	if (configs != NULL)
		sp_arena_destroy(configs->arena);
}

static size_t skip_space(sp_bytes text, size_t at)
{
	while (at < text.size && (text.data[at] == ' ' || text.data[at] == '\t' ||
				  text.data[at] == '\r' || text.data[at] == '\n'))
		at++;
	return at;
}

/* A message of the text format does not begin with a brace, still less with one and a quote. */
static bool is_json(sp_bytes text)
{
	size_t at = skip_space(text, 0);

	if (at == text.size || text.data[at] != '{')
		return false;
	at = skip_space(text, at + 1);
	return at < text.size && (text.data[at] == '"' || text.data[at] == '}');
}

typedef sp_status read_form(sp_model_configs *configs, sp_bytes bytes, sp_error *err);

/* Reads and checks models in one of the forms. */
static sp_status make(sp_model_configs **out, sp_bytes bytes, read_form *read, sp_error *err)
{
	sp_model_configs *configs = sp_model_configs_create(0);
	sp_status status;

	if (configs == NULL)
		return sp_no_memory(err, "the configuration of models");
	status = read(configs, bytes, err);
	if (status == SP_OK)
		status = sp_model_configs_check(configs, err);
	if (status != SP_OK) {
		sp_model_configs_destroy(configs);
		return status;
	}
	*out = configs;
	return SP_OK;
}

sp_status sp_model_configs_parse(sp_model_configs **out, sp_bytes text, sp_error *err)
{
	return make(out, text, is_json(text) ? read_json : read_text, err);
}

sp_status sp_model_configs_decode(sp_model_configs **out, sp_bytes request, sp_error *err)
{
	return make(out, request, read_message, err);
}

sp_status sp_model_configs_read(sp_model_configs **out, char **text, const char *path,
				sp_error *err)
{
	sp_status status;
	size_t size;

	SP_TRY(sp_file_read(text, &size, path, MAX_FILE_BYTES, err));
	status = sp_model_configs_parse(out, (sp_bytes){*text, size}, err);
	if (status == SP_OK)
		return SP_OK;
	sp_free(*text);
	*text = NULL;
	return sp_error_prefix(err, status, "%s", path);
}
