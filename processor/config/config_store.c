#include <string.h>

#include "base/store.h"
#include "processor/config/config_internal.h"

/* The words of model_store_type, in its order. */
static const char *const words[] = {
	[SP_CONFIG_STORE_LOCAL] = "local", [SP_CONFIG_STORE_OSS] = "oss",
	[SP_CONFIG_STORE_HDFS] = "hdfs",   [SP_CONFIG_STORE_S3] = "s3",
	[SP_CONFIG_STORE_HTTP] = "http",   [SP_CONFIG_STORE_HTTPS] = "https",
};

enum { PATHS = 4 };

typedef struct named_path {
	const char *key, *path; /* NULL: not given */
} named_path;

/* The paths that are read; the first two are the model's. */
static void list_paths(named_path out[PATHS], const sp_config *config)
{
	out[0] = (named_path){"savedmodel_dir", config->savedmodel_dir};
	out[1] = (named_path){"checkpoint_dir", config->checkpoint_dir};
	out[2] = (named_path){"warmup_file_name", config->warmup_file_name};
	out[3] = (named_path){"update_replay_file", config->update_replay_file};
}

static bool is_remote(const char *path)
{
	return path != NULL && sp_store_is_remote(path);
}

/* The model is in the store that model_store_type names; a part of it may be local. */
static sp_status check_type(const sp_config *config, const named_path *paths, sp_error *err)
{
	const char *wanted = words[config->model_store_type];
	bool is_there = config->model_store_type == SP_CONFIG_STORE_LOCAL;

	for (size_t i = 0; i < 2; i++) {
		const char *type;

		if (!is_remote(paths[i].path))
			continue;
		type = sp_object_store_type(paths[i].path);
		if (strcmp(type, wanted) != 0)
			return sp_error_set(
				err, SP_INVALID,
				"configuration key 'model_store_type' is '%s', but '%s' "
				"leads into a store of type '%s'",
				wanted, paths[i].key, type);
		is_there = true;
	}
	if (!is_there)
		return sp_error_set(err, SP_INVALID,
				    "configuration key 'model_store_type' is '%s', but neither "
				    "'savedmodel_dir' nor 'checkpoint_dir' leads into such a store",
				    wanted);
	return SP_OK;
}

static sp_status check_written(const sp_config *config, sp_error *err)
{
	const named_path paths[] = {{"pin_file", config->pin_file},
				    {"ev_image_path", config->embeddings.image_folder},
				    {"ev_storage_path", config->ev_storage_path}};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (is_remote(paths[i].path))
			return sp_error_set(
				err, SP_UNSUPPORTED,
				"configuration key '%s': nothing is written into object "
				"stores; use a local path",
				paths[i].key);
	return SP_OK;
}

sp_status sp_config__settle_store(sp_config *config, sp_error *err)
{
	sp_object_settings *store = &config->store;
	named_path paths[PATHS];
	sp_status status;

	list_paths(paths, config);
	for (size_t i = 0; i < PATHS; i++) {
		status = paths[i].path != NULL ? sp_object_store_check(paths[i].path, err) : SP_OK;
		if (status != SP_OK)
			return sp_error_prefix(err, status, "configuration key '%s'", paths[i].key);
	}
	SP_TRY(check_type(config, paths, err));
	SP_TRY(check_written(config, err));
	store->addressing = (sp_object_addressing)config->store_addressing;
	if (config->model_store_type != SP_CONFIG_STORE_OSS)
		return SP_OK;
	if (store->endpoint == NULL)
		store->endpoint = config->oss_endpoint;
	if (store->access_id == NULL) {
		store->access_id = config->oss_access_id;
		store->access_key = config->oss_access_key;
	}
	return SP_OK;
}

bool sp_config_uses_store(const sp_config *config)
{
	named_path paths[PATHS];

	list_paths(paths, config);
	for (size_t i = 0; i < PATHS; i++)
		if (is_remote(paths[i].path))
			return true;
	return false;
}

sp_status sp_config_set_store(const sp_config *config, sp_error *err)
{
	named_path paths[PATHS];
	sp_status status;

	list_paths(paths, config);
	for (size_t i = 0; i < PATHS; i++) {
		if (!is_remote(paths[i].path) || strcmp(sp_object_store_type(paths[i].path),
							words[config->model_store_type]) != 0)
			continue;
		status = sp_object_store_set(paths[i].path, &config->store, err);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "configuration key '%s'", paths[i].key);
	}
	return SP_OK;
}
