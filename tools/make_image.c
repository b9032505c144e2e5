#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "incremental/discover.h"
#include "processor/config/config.h"
#include "base/json_text.h"
#include "processor/version/version.h"
#include "tools/tool.h"

/*
 * Loading a version writes its image.  This command loads as the processor does, so that a
 * processor with the same configuration finds the image.
 */

enum { MAX_CONFIGURATION = 16 << 20 };

static void append_member(sp_buffer *json, const char *key, const char *text)
{
	sp_buffer_printf(json, ", \"%s\": ", key);
	sp_json_text_append(json, sp_bytes_of(text));
}

/* A configuration with the processor's defaults for embeddings. */
static sp_status make_configuration(sp_tool *tool, sp_buffer *json, sp_error *err)
{
	bool checkpoints = tool->location.kind == SP_LOCATION_CHECKPOINT_DIR;

	tool->wrong_usage = true;
	if (!checkpoints && tool->location.kind != SP_LOCATION_SAVED_MODEL)
		return sp_error_set(err, SP_INVALID,
				    "image needs a configuration file, a SavedModel, or a folder "
				    "of checkpoints with --model");
	if (checkpoints && tool->model == NULL)
		return sp_error_set(err, SP_INVALID,
				    "--model=DIR, the SavedModel of the checkpoints, is missing");
	tool->wrong_usage = false;
	sp_buffer_append_text(json, "{\"signature_name\": \"serving_default\", "
				    "\"signature_fallback\": true, "
				    "\"model_store_type\": \"local\", "
				    "\"feature_store_type\": \"memory\", "
				    "\"serialize_protocol\": \"protobuf\"");
	append_member(json, "savedmodel_dir", checkpoints ? tool->model : tool->path);
	if (checkpoints)
		append_member(json, "checkpoint_dir", tool->path);
	sp_buffer_append_char(json, '}');
	return SP_OK;
}

static sp_status read_configuration(sp_tool *tool, sp_config *config, sp_error *err)
{
	sp_buffer json;
	sp_status status;
	char *text;
	size_t size;

	if (!sp_file_is_directory(tool->path)) {
		SP_TRY(sp_file_read(&text, &size, tool->path, MAX_CONFIGURATION, err));
		status = sp_config_parse(config, text, err);
		sp_free(text);
		if (status == SP_OK)
			sp_config_log_remarks(config);
		return status;
	}
	sp_buffer_init(&json, MAX_CONFIGURATION);
	status = make_configuration(tool, &json, err);
	if (status == SP_OK && json.failed)
		status = sp_no_memory(err, "a configuration");
	if (status == SP_OK)
		status = sp_config_parse(config, json.data, err);
	sp_buffer_fini(&json);
	return status;
}

static sp_status load_and_report(sp_tool *tool, const sp_config *config, sp_version **version,
				 sp_error *err)
{
	sp_discovery found;
	const char *path;

	if (config->checkpoint_dir != NULL)
		SP_TRY(sp_discover_version(&found, config->checkpoint_dir, NULL, tool->arena, err));
	SP_TRY(sp_version_open(version, NULL, config,
			       config->checkpoint_dir != NULL ? &found.version : NULL, 0, err));
	path = sp_weights_image((*version)->weights);
	if (path == NULL)
		return sp_error_set(err, SP_IO, "no image was made in %s: %s",
				    config->embeddings.image_folder,
				    "the log says why, or the model has no embeddings");
	sp_report_open(&tool->report, NULL);
	sp_report_text(&tool->report, "image", sp_bytes_of(path));
	sp_report_close(&tool->report);
	return SP_OK;
}

sp_status sp_tool_image(sp_tool *tool, sp_error *err)
{
	sp_config config = {0};
	sp_version *version = NULL;
	sp_status status;

	SP_TRY(read_configuration(tool, &config, err));
	if (tool->out != NULL)
		config.embeddings.image_folder = tool->out;
	if (config.embeddings.image_folder == NULL) {
		tool->wrong_usage = true;
		status = sp_error_set(err, SP_INVALID, "--out=FOLDER is missing");
	} else {
		status = load_and_report(tool, &config, &version, err);
	}
	sp_version_close(version);
	sp_config_fini(&config);
	return status;
}
