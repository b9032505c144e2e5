#include "processor/config/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parallel.h"
#include "processor/config/config_internal.h"
#include "processor/config/config_keys.h"
#include "session_group/session_group.h"

_Static_assert(SP_SESSION_POLICY_MOD == 0 && SP_SESSION_POLICY_RR == 1,
	       "the order of the words in config_keys.c");
_Static_assert(SP_LOG_DEBUG == 0 && SP_LOG_INFO == 1 && SP_LOG_WARNING == 2 && SP_LOG_ERROR == 3 &&
		       SP_LOG_TEXT == 0 && SP_LOG_JSON == 1,
	       "the order of the words in config_keys.c");
_Static_assert(SP_OBJECT_ADDRESSING_AUTO == 0 && SP_OBJECT_ADDRESSING_PATH == 1 &&
		       SP_OBJECT_ADDRESSING_VIRTUAL == 2,
	       "the order of the words in config_keys.c");

/* The largest integer up to which JSON's doubles are exact. */
#define MAX_INTEGER 9007199254740992.0

static const char *json_type_name(const cJSON *item)
{
	if (cJSON_IsBool(item))
		return "a boolean";
	if (cJSON_IsNumber(item))
		return "a number";
	if (cJSON_IsString(item))
		return "a string";
	return cJSON_IsArray(item) ? "an array" : "an object";
}

/* -------------------------------------------------------------------- types */

static cJSON_bool is_integer(const cJSON *item)
{
	return cJSON_IsNumber(item) && fabs(item->valuedouble) <= MAX_INTEGER &&
	       item->valuedouble == floor(item->valuedouble);
}

/* Whether all members of an array or an object are right. */
static bool has_only(const cJSON *item, cJSON_bool (*is_right)(const cJSON *member))
{
	const cJSON *member;

	cJSON_ArrayForEach (member, item)
		if (!is_right(member))
			return false;
	return true;
}

static cJSON_bool is_integer_or_text(const cJSON *item)
{
	return is_integer(item) || cJSON_IsString(item);
}

static cJSON_bool is_integers(const cJSON *item)
{
	return cJSON_IsArray(item) && has_only(item, is_integer);
}

static cJSON_bool is_integer_rules(const cJSON *item)
{
	return cJSON_IsObject(item) ? has_only(item, is_integer) : is_integer(item);
}

static cJSON_bool is_text_rules(const cJSON *item)
{
	return cJSON_IsObject(item) ? has_only(item, cJSON_IsString) : cJSON_IsString(item);
}

/* ------------------------------------------------------------------- values */

/* The index of `word` in a list of words separated by single spaces; -1: not in the list. */
static int find_word(const char *words, const char *word)
{
	size_t size = strlen(word);
	int number = 0;

	for (const char *at = words; at != NULL; number++) {
		const char *space = strchr(at, ' ');
		size_t length = space != NULL ? (size_t)(space - at) : strlen(at);

		if (length == size && memcmp(at, word, size) == 0)
			return number;
		at = space != NULL ? space + 1 : NULL;
	}
	return -1;
}

static sp_status check_word(const sp_config_key *key, const char *word, sp_error *err)
{
	if (key->allowed == NULL || find_word(key->allowed, word) >= 0)
		return SP_OK;
	if (find_word(key->unsupported, word) >= 0)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "configuration key '%s': '%s' is not supported; use one of: %s",
				    key->name, word, key->allowed);
	return sp_error_set(err, SP_INVALID,
			    "configuration key '%s': unknown value '%.40s'; use one of: %s",
			    key->name, word, key->allowed);
}

static sp_status find_integer(const sp_config_key *key, const cJSON *item, int64_t *out,
			      sp_error *err)
{
	int64_t value = *out = (int64_t)item->valuedouble;
	char word[24];

	if (key->max != 0 && (value < key->min || value > key->max))
		return sp_error_set(err, SP_INVALID,
				    "configuration key '%s' must be from %" PRId64 " to %" PRId64
				    "; it is %" PRId64,
				    key->name, key->min, key->max, value);
	snprintf(word, sizeof(word), "%" PRId64, value);
	return check_word(key, word, err);
}

static sp_status take_integer(const sp_config_key *key, const cJSON *item, void *field,
			      sp_arena *arena, sp_error *err)
{
	(void)arena;
	return find_integer(key, item, field, err);
}

/* Only the first two are used. */
static sp_status take_integers(const sp_config_key *key, const cJSON *item, void *field,
			       sp_arena *arena, sp_error *err)
{
	const cJSON *element;
	int64_t *out = field, unused;
	size_t count = 0;

	(void)arena;
	cJSON_ArrayForEach (element, item) {
		SP_TRY(find_integer(key, element, count < 2 ? &out[count] : &unused, err));
		count++;
	}
	return SP_OK;
}

static sp_status take_rule(const sp_config_key *key, const cJSON *item, const char *pattern,
			   sp_name_rule *out, sp_arena *arena, sp_error *err)
{
	out->pattern = sp_arena_text(arena, sp_bytes_of(pattern));
	SP_NEED_MEMORY(out->pattern, err, "the configuration");
	if (key->type == SP_CONFIG_INTEGER_RULES)
		return find_integer(key, item, &out->value, err);
	SP_TRY(check_word(key, item->valuestring, err));
	out->value = find_word(key->allowed, item->valuestring);
	return SP_OK;
}

static sp_status take_rules(const sp_config_key *key, const cJSON *item, void *field,
			    sp_arena *arena, sp_error *err)
{
	bool many = cJSON_IsObject(item);
	size_t count = many ? (size_t)cJSON_GetArraySize(item) : 1;
	sp_name_rule *items = sp_arena_array(arena, count, sizeof(*items));
	sp_name_rules *rules = field;
	const cJSON *member;

	SP_NEED_MEMORY(items, err, "the configuration");
	*rules = (sp_name_rules){.items = items};
	if (!many)
		return take_rule(key, item, "*", &items[rules->count++], arena, err);
	cJSON_ArrayForEach (member, item)
		SP_TRY(take_rule(key, member, member->string, &items[rules->count++], arena, err));
	return SP_OK;
}

static sp_status take_number(const sp_config_key *key, const cJSON *item, void *field,
			     sp_arena *arena, sp_error *err)
{
	double value = *(double *)field = item->valuedouble;

	(void)arena;
	if (value >= (double)key->min && value <= (double)key->max)
		return SP_OK;
	return sp_error_set(err, SP_INVALID,
			    "configuration key '%s' must be from %" PRId64 " to %" PRId64,
			    key->name, key->min, key->max);
}

static sp_status take_text(const sp_config_key *key, const cJSON *item, void *field,
			   sp_arena *arena, sp_error *err)
{
	const char **text = field;

	if (key->not_empty && item->valuestring[0] == '\0')
		return sp_error_set(err, SP_INVALID, "configuration key '%s' must not be empty",
				    key->name);
	SP_TRY(check_word(key, item->valuestring, err));
	if (key->allowed != NULL) {
		*(int64_t *)field = find_word(key->allowed, item->valuestring);
		return SP_OK;
	}
	*text = sp_arena_text(arena, sp_bytes_of(item->valuestring));
	return *text != NULL ? SP_OK : sp_no_memory(err, "the configuration");
}

static sp_status take_boolean(const sp_config_key *key, const cJSON *item, void *field,
			      sp_arena *arena, sp_error *err)
{
	(void)arena;
	*(bool *)field = cJSON_IsTrue(item);
	return check_word(key, cJSON_IsTrue(item) ? "true" : "false", err);
}

static const struct {
	const char *expected;
	cJSON_bool (*is_right)(const cJSON *item);
	sp_status (*take)(const sp_config_key *key, const cJSON *item, void *field, sp_arena *arena,
			  sp_error *err); /* NULL: no value is needed */
} types[] = {
	[SP_CONFIG_INTEGER] = {"an integer", is_integer, take_integer},
	[SP_CONFIG_TEXT] = {"a string", cJSON_IsString, take_text},
	[SP_CONFIG_BOOLEAN] = {"true or false", cJSON_IsBool, take_boolean},
	[SP_CONFIG_NUMBER] = {"a number", cJSON_IsNumber, take_number},
	[SP_CONFIG_INTEGER_OR_TEXT] = {"an integer or a string", is_integer_or_text, NULL},
	[SP_CONFIG_INTEGERS] = {"an array of integers", is_integers, take_integers},
	[SP_CONFIG_INTEGER_RULES] = {"an integer or an object of patterns with integers",
				     is_integer_rules, take_rules},
	[SP_CONFIG_TEXT_RULES] = {"a string or an object of patterns with strings", is_text_rules,
				  take_rules},
};

static sp_status take(sp_config *config, const sp_config_key *key, const cJSON *item, sp_error *err)
{
	union {
		int64_t integer;
		sp_name_rules rules;
	} unused; /* large enough for any value */
	void *field = key->has_field ? (char *)config + key->field : (char *)&unused;

	if (!types[key->type].is_right(item))
		return sp_error_set(err, SP_INVALID, "configuration key '%s' must be %s, not %s",
				    key->name, types[key->type].expected, json_type_name(item));
	if (types[key->type].take == NULL)
		return SP_OK;
	return types[key->type].take(key, item, field, config->arena, err);
}

/* --------------------------------------------------------------------- keys */

static sp_status missing(const sp_config_key *key, const sp_config_document *document,
			 sp_error *err)
{
	const char *misspelt = sp_config__misspelt(document, key->name);

	if (misspelt == NULL)
		return sp_error_set(err, SP_INVALID, "configuration key '%s' is missing",
				    key->name);
	return sp_error_set(err, SP_INVALID,
			    "configuration key '%s' is missing, and '%.64s' is not known",
			    key->name, misspelt);
}

/* A default is parsed and checked like a given value. */
static sp_status take_fallback(sp_config *config, const sp_config_key *key, sp_error *err)
{
	cJSON *item;
	sp_status status;

	if (key->fallback == NULL)
		return SP_OK;
	item = cJSON_Parse(key->fallback);
	SP_NEED_MEMORY(item, err, "the configuration");
	status = take(config, key, item, err);
	cJSON_Delete(item);
	return status;
}

static sp_status take_all(sp_config *config, const sp_config_document *document, sp_error *err)
{
	for (const sp_config_key *key = sp_config__keys; key->name != NULL; key++) {
		const cJSON *item = sp_config__find(document->keys, key->name);

		if (item != NULL)
			SP_TRY(take(config, key, item, err));
		else if (key->required)
			return missing(key, document, err);
		else
			SP_TRY(take_fallback(config, key, err));
	}
	return SP_OK;
}

/* The default name: the last part of savedmodel_dir that is not a version number. */
static sp_status name_by_folder(sp_config *config, sp_error *err)
{
	const char *path = config->savedmodel_dir;
	size_t end = strlen(path);
	sp_bytes name = {"default", strlen("default")};

	while (end != 0) {
		size_t start = end;

		while (start != 0 && path[start - 1] != '/')
			start--;
		if (end - start > strspn(path + start, "0123456789.")) {
			name = (sp_bytes){path + start, end - start};
			break;
		}
		end = start != 0 ? start - 1 : 0;
	}
	config->model_name = sp_arena_text(config->arena, name);
	return config->model_name != NULL ? SP_OK : sp_no_memory(err, "the configuration");
}

/* Without a number of sessions there is one per set of cpusets, or one per processor. */
static sp_status settle_sessions(sp_config *config, sp_error *err)
{
	size_t count;
	sp_numa numa;

	if (config->session_num == 0) {
		count = config->cpusets != NULL && *config->cpusets != '\0'
				? sp_session_homes_count_sets(config->cpusets)
				: sp_parallel_processors();
		config->session_num = count < SP_MAX_SESSIONS ? (int64_t)count : SP_MAX_SESSIONS;
	}
	sp_numa_read(&numa, NULL);
	return sp_session_homes_create(&config->homes, (size_t)config->session_num, config->cpusets,
				       &numa, err);
}

static sp_status take_document(sp_config *config, const sp_config_document *document, sp_error *err)
{
	SP_TRY(take_all(config, document, err));
	if (config->model_name == NULL)
		SP_TRY(name_by_folder(config, err));
	SP_TRY(settle_sessions(config, err));
	return sp_config__remark(config, document, err);
}

static sp_status parse(sp_config *config, const char *json, sp_error *err)
{
	const char *reference = getenv("SP_REFERENCE_KERNELS");
	sp_config_document document;
	sp_status status;

	SP_TRY(sp_config__read(&document, json, config->arena, err));
	status = take_document(config, &document, err);
	sp_config__drop(&document);
	if (status == SP_OK)
		status = sp_config__settle_embeddings(config, err);
	if (config->warmup_file_name != NULL && config->warmup_file_name[0] == '\0')
		config->warmup_file_name = NULL;
	if (status == SP_OK)
		status = sp_config__settle_store(config, err);
	if (reference != NULL && strcmp(reference, "1") == 0)
		config->reference_kernels = true;
	return status;
}

static sp_status begin(sp_config *out, sp_error *err)
{
	*out = (sp_config){.log_level = -1, .log_format = -1, .arena = sp_arena_create(4096)};
	return out->arena != NULL ? SP_OK : sp_no_memory(err, "the configuration");
}

sp_status sp_config_parse(sp_config *out, const char *json, sp_error *err)
{
	sp_status status;

	SP_TRY(begin(out, err));
	status = parse(out, json, err);
	if (status != SP_OK)
		sp_config_fini(out);
	return status;
}

/* ---------------------------------------------------------------- log lines */

static void take_known(sp_config *config, const sp_config_document *document, const char *name)
{
	const cJSON *item = sp_config__find(document->keys, name);

	for (const sp_config_key *key = sp_config__keys; item != NULL && key->name != NULL; key++)
		if (strcmp(key->name, name) == 0)
			(void)take(config, key, item, NULL);
}

void sp_config_read_log_keys(sp_config *out, const char *json)
{
	sp_config_document document;

	if (begin(out, NULL) != SP_OK ||
	    sp_config__read(&document, json, out->arena, NULL) != SP_OK)
		return;
	take_known(out, &document, "log_level");
	take_known(out, &document, "log_format");
	take_known(out, &document, "model_name");
	take_known(out, &document, "savedmodel_dir");
	sp_config__drop(&document);
	if (out->model_name == NULL && out->savedmodel_dir != NULL)
		(void)name_by_folder(out, NULL);
}

void sp_config_set_log(const sp_config *config)
{
	if (config->log_level >= 0)
		sp_log_set_level((sp_log_level)config->log_level);
	if (config->log_format >= 0)
		sp_log_set_format((sp_log_format)config->log_format);
}

void sp_config_fini(sp_config *config)
{
	sp_session_homes_destroy(config->homes);
	sp_arena_destroy(config->arena);
	memset(config, 0, sizeof(*config));
}
