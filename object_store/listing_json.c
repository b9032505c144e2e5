#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "object_store/listing.h"

static const char *text_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsString(item) ? item->valuestring : "";
}

/* A number that is none, or no size or time of a file, is 0. */
static uint64_t number_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 9e15
		       ? (uint64_t)item->valuedouble
		       : 0;
}

static sp_status add(sp_listing *out, const cJSON *file, bool is_alone, sp_error *err)
{
	uint64_t traits[] = {number_of(file, "length"), number_of(file, "modificationTime"),
			     number_of(file, "fileId")};
	sp_listing_entry entry = {.is_folder = strcmp(text_of(file, "type"), "DIRECTORY") == 0,
				  .has_attributes = true,
				  .size = traits[0],
				  .modified_s = (int64_t)(traits[1] / 1000),
				  .identity = sp_fingerprint64(traits, sizeof(traits))};
	size_t before = out->count;

	SP_TRY(sp_listing_add(out, sp_bytes_of(is_alone ? "x" : text_of(file, "pathSuffix")), false,
			      &entry, err));
	if (is_alone && out->count != before)
		out->items[before].name = "";
	return SP_OK;
}

static sp_status refuse(const cJSON *exception, sp_error *err)
{
	const char *name = text_of(exception, "exception");

	if (strcmp(name, "FileNotFoundException") == 0)
		return sp_error_set(err, SP_NOT_FOUND, "there is no such file");
	return sp_error_set(err, SP_IO, "WebHDFS answers with the error '%.100s'", name);
}

static sp_status read(sp_listing *out, const cJSON *root, sp_error *err)
{
	const cJSON *exception = cJSON_GetObjectItemCaseSensitive(root, "RemoteException");
	const cJSON *alone = cJSON_GetObjectItemCaseSensitive(root, "FileStatus");
	const cJSON *statuses = cJSON_GetObjectItemCaseSensitive(root, "FileStatuses");
	const cJSON *files = cJSON_GetObjectItemCaseSensitive(statuses, "FileStatus"), *file;

	if (cJSON_IsObject(exception))
		return refuse(exception, err);
	if (cJSON_IsObject(alone))
		return add(out, alone, true, err);
	if (!cJSON_IsArray(files))
		return sp_error_set(err, SP_CORRUPT, "WebHDFS's answer is no list of files");
	cJSON_ArrayForEach (file, files)
		SP_TRY(add(out, file, false, err));
	return SP_OK;
}

sp_status sp_listing_read_json(sp_listing *out, sp_bytes document, sp_error *err)
{
	cJSON *root = cJSON_ParseWithLength(document.data, document.size);
	sp_status status = read(out, root, err);

	cJSON_Delete(root);
	return status;
}
