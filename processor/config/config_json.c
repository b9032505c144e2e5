#include "processor/config/config_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/name_list.h"
#include "processor/config/config_keys.h"

enum { MAX_CONFIG = 1 << 20 };

/* --------------------------------------------------------------------- text */

/* Overwrites the comment at `at` with blanks; returns the text after it. */
static char *blank_comment(char *at)
{
	bool block = at[0] == '/' && at[1] == '*';
	const char *end = block ? strstr(at + 2, "*/") : strchr(at, '\n');

	end = end == NULL ? at + strlen(at) : block ? end + 2 : end;
	for (; at < end; at++)
		if (*at != '\n')
			*at = ' ';
	return at;
}

/* Comments become blanks, so that line numbers in errors stay right. */
static void blank_comments(char *json)
{
	for (char *at = json; *at != '\0';) {
		if (*at == '"') {
			for (at++; *at != '\0' && *at != '"'; at++)
				if (*at == '\\' && at[1] != '\0')
					at++;
			at += *at != '\0';
		} else if (*at == '#' || (*at == '/' && (at[1] == '/' || at[1] == '*'))) {
			at = blank_comment(at);
		} else {
			at++;
		}
	}
}

/* Parses an object; `what` names the text in errors. */
static sp_status parse_object(cJSON **out, const char *json, const char *what, sp_arena *arena,
			      sp_error *err)
{
	size_t size = strnlen(json, MAX_CONFIG + 1);
	const char *end = NULL;
	size_t line = 1;
	char *copy;

	if (size > MAX_CONFIG)
		return sp_error_set(err, SP_INVALID, "%s is longer than %d bytes", what,
				    MAX_CONFIG);
	copy = sp_arena_text(arena, (sp_bytes){json, size});
	SP_NEED_MEMORY(copy, err, "the configuration");
	blank_comments(copy);
	if (copy[strspn(copy, " \t\r\n")] == '\0')
		return sp_error_set(err, SP_INVALID, "%s is empty", what);
	*out = cJSON_ParseWithLengthOpts(copy, size + 1, &end, true);
	if (*out == NULL) {
		for (const char *at = copy; at < end; at++)
			line += *at == '\n';
		return sp_error_set(err, SP_INVALID, "%s is not JSON: line %zu", what, line);
	}
	if (cJSON_IsObject(*out))
		return SP_OK;
	cJSON_Delete(*out);
	*out = NULL;
	return sp_error_set(err, SP_INVALID, "%s is not a JSON object", what);
}

/* ------------------------------------------------------------------ services */

/* Keys that identify the JSON of a service when its "model_config" is missing. */
static const char *const service_keys[] = {
	"metadata",       "processor",  "processor_path", "processor_entry",   "processor_type",
	"processor_envs", "model_path", "model_entry",    "warm_up_data_path", "cloud",
	"containers",     "name",       "models",         "platform",          "engine",
};

const cJSON *sp_config__find(const cJSON *object, const char *name)
{
	const cJSON *item, *found = NULL;

	cJSON_ArrayForEach (item, object)
		if (strcmp(item->string, name) == 0)
			found = item;
	return found != NULL && !cJSON_IsNull(found) ? found : NULL;
}

static bool has_a_key(const cJSON *object)
{
	for (const sp_config_key *key = sp_config__keys; key->name != NULL; key++)
		if (cJSON_GetObjectItemCaseSensitive(object, key->name) != NULL)
			return true;
	return false;
}

/* Fails for an object that has none of the processor's keys but some of a service's. */
static sp_status check_is_no_service(const cJSON *root, sp_error *err)
{
	sp_name_list found = {0};

	if (has_a_key(root))
		return SP_OK;
	for (size_t i = 0; i < sizeof(service_keys) / sizeof(service_keys[0]); i++)
		if (sp_config__find(root, service_keys[i]) != NULL)
			sp_name_list_add(&found, service_keys[i]);
	if (found.used == 0)
		return SP_OK;
	return sp_error_set(
		err, SP_INVALID,
		"the configuration is the JSON of an EAS service (%s) without "
		"'model_config': the processor's keys, such as 'savedmodel_dir', belong "
		"into that object",
		sp_name_list_text(&found));
}

/* The root, or the single entry of its "models". */
static sp_status find_service(cJSON **out, cJSON *root, sp_error *err)
{
	const cJSON *models = sp_config__find(root, "models");
	int count = cJSON_IsArray(models) ? cJSON_GetArraySize(models) : 0;

	*out = root;
	if (count == 0 || sp_config__find(root, "model_config") != NULL || has_a_key(root))
		return SP_OK;
	if (count > 1)
		return sp_error_set(err, SP_INVALID,
				    "the configuration is the JSON of an EAS service with %d "
				    "'models': give the 'model_config' of one of them",
				    count);
	*out = models->child;
	return SP_OK;
}

/* Replaces a "model_config" string by the object that it contains. */
static sp_status open_string(cJSON *service, const cJSON *item, cJSON **out, sp_arena *arena,
			     sp_error *err)
{
	SP_TRY(parse_object(out, item->valuestring, "configuration key 'model_config'", arena,
			    err));
	cJSON_DeleteItemFromObjectCaseSensitive(service, "model_config");
	if (cJSON_AddItemToObject(service, "model_config", *out))
		return SP_OK;
	cJSON_Delete(*out);
	return sp_no_memory(err, "the configuration");
}

static sp_status find_keys(sp_config_document *document, sp_arena *arena, sp_error *err)
{
	cJSON *service;
	const cJSON *item;

	SP_TRY(find_service(&service, document->root, err));
	item = sp_config__find(service, "model_config");
	document->keys = service;
	if (item == NULL)
		return check_is_no_service(document->root, err);
	document->service = service;
	if (cJSON_IsString(item))
		return open_string(service, item, &document->keys, arena, err);
	document->keys = (cJSON *)(uintptr_t)item;
	if (cJSON_IsObject(item))
		return SP_OK;
	return sp_error_set(err, SP_INVALID,
			    "configuration key 'model_config' must be an object with the "
			    "processor's keys, or a string that holds one");
}

sp_status sp_config__read(sp_config_document *out, const char *json, sp_arena *arena, sp_error *err)
{
	sp_status status;

	memset(out, 0, sizeof(*out));
	SP_TRY(parse_object(&out->root, json, "the configuration", arena, err));
	status = find_keys(out, arena, err);
	if (status != SP_OK)
		sp_config__drop(out);
	return status;
}

void sp_config__drop(sp_config_document *document)
{
	cJSON_Delete(document->root);
	memset(document, 0, sizeof(*document));
}

/* ------------------------------------------------------------------- merging */

/* Appends all members of `from` to `object`: of a repeated key the last one counts. */
static bool append_all(cJSON *object, cJSON *from)
{
	cJSON *item;

	while ((item = from->child) != NULL) {
		cJSON_DetachItemViaPointer(from, item);
		if (!cJSON_AddItemToObject(object, item->string, item)) {
			cJSON_Delete(item);
			return false;
		}
	}
	return true;
}

static sp_status print(char **out, const cJSON *root, sp_error *err)
{
	char *text = cJSON_PrintUnformatted(root);

	*out = text != NULL ? sp_alloc_text(text) : NULL;
	cJSON_free(text);
	return *out != NULL ? SP_OK : sp_no_memory(err, "the configuration");
}

/*
 * Where model_name is overridden, the name that it gave the model in Redis and in topics stays: it
 * is what publishers use, whatever a host calls the model.
 */
static bool keep_names(cJSON *keys, const cJSON *others)
{
	static const char *const names[] = {"redis_model", "row_stream_model"};
	const cJSON *own = sp_config__find(keys, "model_name");

	if (!cJSON_IsString(own) || own->valuestring[0] == '\0' ||
	    sp_config__find(others, "model_name") == NULL)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (sp_config__find(keys, names[i]) == NULL &&
		    cJSON_AddStringToObject(keys, names[i], own->valuestring) == NULL)
			return false;
	return true;
}

static sp_status override(char **out, const char *json, const char *overrides, sp_arena *arena,
			  sp_error *err)
{
	sp_config_document document;
	cJSON *others = NULL;
	sp_status status;

	SP_TRY(sp_config__read(&document, json, arena, err));
	status = parse_object(&others, overrides, "what overrides the configuration", arena, err);
	if (status == SP_OK &&
	    (!keep_names(document.keys, others) || !append_all(document.keys, others)))
		status = sp_no_memory(err, "the configuration");
	cJSON_Delete(others);
	if (status == SP_OK)
		status = print(out, document.root, err);
	sp_config__drop(&document);
	return status;
}

sp_status sp_config_override(char **out, const char *json, const char *overrides, sp_error *err)
{
	sp_arena *arena = sp_arena_create(4096);
	sp_status status;

	SP_NEED_MEMORY(arena, err, "the configuration");
	status = override(out, json, overrides, arena, err);
	sp_arena_destroy(arena);
	return status;
}
