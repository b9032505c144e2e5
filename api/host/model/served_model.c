#include "api/host/model/served_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/json/json_writer.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/utf8.h"
#include "object_store/object_store.h"

enum { MAX_CONFIG_BYTES = 16 << 20, MAX_PATH = 4000 };

/* ------------------------------------------------------------------ folders */

/* The number that a name consists of; -1 if it is not a number. */
static int64_t version_of_name(const char *name)
{
	char *end;
	long long value;

	if (*name < '0' || *name > '9')
		return -1;
	errno = 0;
	value = strtoll(name, &end, 10);
	return errno == 0 && *end == '\0' ? (int64_t)value : -1;
}

int64_t sp_version_of_folder(const char *base, const char *name)
{
	int64_t version = version_of_name(name);
	char path[4096];

	if (version < 0 || snprintf(path, sizeof(path), "%s/%s", base, name) >= (int)sizeof(path) ||
	    !sp_file_is_directory(path))
		return -1;
	return version;
}

static sp_status is_saved_model(bool *out, const char *folder, sp_error *err)
{
	static const char *const files[] = {"saved_model.pb", "saved_model.pbtxt"};
	char path[4096];
	struct stat info;

	*out = false;
	for (size_t i = 0; i < 2 && !*out; i++)
		if (snprintf(path, sizeof(path), "%s/%s", folder, files[i]) < (int)sizeof(path))
			SP_TRY(sp_folder_find(out, &info, path, S_IFREG, err));
	return SP_OK;
}

/* The newest of the folders in `base` whose names are numbers; -1: there is none. */
static sp_status find_newest(int64_t *out, const char *base, sp_error *err)
{
	sp_arena *arena = sp_arena_create(4096);
	sp_status status;
	sp_folder folder;

	*out = -1;
	SP_NEED_MEMORY(arena, err, "the versions");
	status = sp_folder_list(&folder, base, arena, err);
	for (size_t i = 0; status == SP_OK && i < folder.count; i++) {
		int64_t version = sp_version_of_folder(base, folder.names[i]);

		if (version > *out)
			*out = version;
	}
	sp_arena_destroy(arena);
	return status;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Without trailing slashes, so that last_name() works. */
static sp_status copy_path(char *out, size_t room, const char *path, sp_error *err)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	if (size >= room)
		return sp_error_set(err, SP_INVALID, "the path of a model is too long");
	memcpy(out, path, size);
	out[size] = '\0';
	return SP_OK;
}

sp_status sp_model_folder_find(sp_model_folder *out, const char *path, sp_error *err)
{
	char folder[MAX_PATH];
	bool is_model;

	*out = (sp_model_folder){0};
	SP_TRY(copy_path(folder, sizeof(folder), path, err));
	SP_TRY(is_saved_model(&is_model, folder, err));
	if (is_model) {
		out->version = version_of_name(last_name(folder));
		if (out->version < 0)
			out->version = 1;
		return SP_OK;
	}
	out->follows = true;
	SP_TRY(find_newest(&out->version, folder, err));
	return out->version >= 0
		       ? SP_OK
		       : sp_error_set(err, SP_NOT_FOUND,
				      "%s: neither a SavedModel nor a folder of numbered ones",
				      folder);
}

/* ------------------------------------------------------------ configuration */

static void write_text(sp_buffer *out, const char *key, const char *value)
{
	sp_json_text_append(out, sp_bytes_of(key));
	sp_buffer_append_char(out, ':');
	sp_json_text_append(out, sp_bytes_of(value));
	sp_buffer_append_char(out, ',');
}

/* The configuration for a path. */
static sp_status write_config(sp_served_model *model, const sp_served_source *source, sp_error *err)
{
	const char *signature = source->signature_name;
	char folder[MAX_PATH];
	sp_buffer out;
	size_t size;

	SP_TRY(copy_path(folder, sizeof(folder), source->path, err));
	if (!sp_utf8_valid(sp_bytes_of(folder)))
		return sp_error_set(err, SP_INVALID, "the path of a model must be UTF-8");
	sp_buffer_init(&out, MAX_CONFIG_BYTES);
	sp_buffer_append_char(&out, '{');
	write_text(&out, "savedmodel_dir", folder);
	write_text(&out, "signature_name", signature != NULL ? signature : "serving_default");
	write_text(&out, "feature_store_type", "memory");
	write_text(&out, "serialize_protocol", "protobuf");
	write_text(&out, "model_store_type", sp_object_store_type(folder));
	if (source->saved_model_tags != NULL)
		write_text(&out, "saved_model_tags", source->saved_model_tags);
	/* TensorFlow Serving also serves a model without serving_default. */
	if (signature == NULL)
		sp_buffer_append_text(&out, "\"signature_fallback\":true,");
	sp_buffer_append_text(&out, "\"session_num\":");
	sp_json_write_i64(&out, source->session_num);
	/* The HTTP server answers 504 after this time. */
	sp_buffer_append_text(&out, ",\"request_timeout_ms\":");
	sp_json_write_i64(&out, source->timeout_ms);
	sp_buffer_append_char(&out, '}');
	model->config = sp_buffer_take(&out, &size);
	sp_buffer_fini(&out);
	return model->config != NULL ? SP_OK : sp_no_memory(err, "the model");
}

/* What overrides members of the configuration, as JSON; NULL when out of memory. */
static char *write_overrides(const sp_served_source *source)
{
	sp_buffer out;
	size_t size;
	char *text;

	sp_buffer_init(&out, MAX_CONFIG_BYTES);
	sp_buffer_append_char(&out, '{');
	if (source->log_format != NULL)
		write_text(&out, "log_format", source->log_format);
	if (source->log_level != NULL)
		write_text(&out, "log_level", source->log_level);
	sp_buffer_append_text(&out, "\"model_name\":");
	sp_json_text_append(&out, sp_bytes_of(source->model_name));
	sp_buffer_append_char(&out, '}');
	text = sp_buffer_take(&out, &size);
	sp_buffer_fini(&out);
	return text;
}

static sp_status override(sp_served_model *model, const char *overrides, sp_error *err)
{
	serving_processor_error *error = NULL;
	char *config = serving_processor_override_config(model->config, overrides, &error);
	sp_status status = SP_OK;

	if (config == NULL)
		return sp_library_error(serving_processor_error_code(error), error, err);
	sp_free(model->config);
	model->config = sp_alloc_text(config);
	if (model->config == NULL)
		status = sp_no_memory(err, "the configuration");
	serving_processor_free(config);
	return status;
}

static sp_status configure(sp_served_model *model, const sp_served_source *source, sp_error *err)
{
	char *overrides = write_overrides(source);
	sp_status status = SP_OK;

	if (overrides == NULL)
		return sp_no_memory(err, "the configuration");
	if (source->processor_config == NULL)
		status = write_config(model, source, err);
	else if ((model->config = sp_alloc_text(source->processor_config)) == NULL)
		status = sp_no_memory(err, "the configuration");
	if (status == SP_OK)
		status = override(model, overrides, err);
	sp_free(overrides);
	return status;
}

void sp_served_model_configure_log(const sp_served_source *source)
{
	sp_served_model model = {0};
	char *overrides = write_overrides(source);
	sp_error ignored; /* the load will say it */

	if (overrides != NULL)
		serving_processor_configure_log(overrides);
	if (source->processor_config != NULL && configure(&model, source, &ignored) == SP_OK)
		serving_processor_configure_log(model.config);
	sp_free(model.config);
	sp_free(overrides);
}

sp_status sp_served_model_create(sp_served_model **out, const sp_served_source *source,
				 int64_t version, sp_error *err)
{
	static atomic_uint_least64_t created;
	sp_served_model *model = sp_alloc_zero(1, sizeof(*model));
	sp_status status;

	if (model == NULL)
		return sp_no_memory(err, "the model");
	atomic_init(&model->users, 0);
	model->version = version;
	model->number = atomic_fetch_add(&created, 1);
	if (source->batching != NULL)
		model->batching = *source->batching;
	status = configure(model, source, err);
	if (status == SP_OK && source->signature_name != NULL) {
		model->signature_name = sp_alloc_text(source->signature_name);
		if (model->signature_name == NULL)
			status = sp_no_memory(err, "the model");
	}
	if (status != SP_OK) {
		sp_served_model_destroy(model);
		return status;
	}
	*out = model;
	return SP_OK;
}

/* --------------------------------------------------------------------- open */

/* The first version must have the default signature. */
static sp_status check_signature(const sp_served_model *model, const char *name, sp_error *err)
{
	serving_processor_handle *version = serving_processor_acquire(model->processor);
	bool found = serving_processor_handle_signature(version, name) != NULL;

	serving_processor_release(version);
	return found ? SP_OK
		     : sp_error_set(err, SP_NOT_FOUND, "the model has no signature \"%s\"", name);
}

sp_status sp_served_model_open(sp_served_model *model, sp_error *err)
{
	serving_processor_error *error = NULL;

	model->processor = serving_processor_create(model->config, &error);
	if (model->processor == NULL)
		return sp_library_error(serving_processor_error_code(error), error, err);
	return check_signature(model, model->signature_name, err);
}

void sp_served_model_destroy(sp_served_model *model)
{
	if (model == NULL)
		return;
	serving_processor_destroy(model->processor);
	sp_free(model->config);
	sp_free(model->signature_name);
	sp_free(model);
}

bool sp_served_model_follows(const sp_served_model *model)
{
	return model->version < 0;
}

int64_t sp_served_model_version_of(const sp_served_model *model,
				   const serving_processor_handle *version)
{
	int64_t full_step = -1;

	if (!sp_served_model_follows(model))
		return model->version;
	if (serving_processor_handle_version(version, &full_step, NULL) != 0 || full_step < 0)
		return 1;
	return full_step;
}
