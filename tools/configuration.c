#include "tools/configuration.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/store.h"
#include "object_store/object_store.h"

enum { MAX_CONFIGURATION = 16 << 20 };

static void append_member(sp_buffer *json, const char *key, const char *text)
{
	sp_buffer_printf(json, ", \"%s\": ", key);
	sp_json_text_append(json, sp_bytes_of(text));
}

/* A configuration with the processor's defaults for embeddings. */
static sp_status make(sp_tool *tool, sp_buffer *json, sp_error *err)
{
	bool checkpoints = tool->location.kind != SP_LOCATION_SAVED_MODEL;
	const char *where = tool->path;

	if (checkpoints && tool->model == NULL) {
		tool->wrong_usage = true;
		return sp_error_set(err, SP_INVALID,
				    "--model=DIR, the SavedModel of the checkpoints, is missing");
	}
	sp_buffer_append_text(json, "{\"signature_name\": \"serving_default\", "
				    "\"signature_fallback\": true, "
				    "\"feature_store_type\": \"memory\", "
				    "\"serialize_protocol\": \"protobuf\"");
	if (checkpoints && !sp_store_is_remote(where))
		where = tool->model;
	append_member(json, "model_store_type", sp_object_store_type(where));
	append_member(json, "savedmodel_dir", checkpoints ? tool->model : tool->path);
	if (tool->location.kind == SP_LOCATION_CHECKPOINT_DIR)
		append_member(json, "checkpoint_dir", tool->path);
	sp_buffer_append_char(json, '}');
	return SP_OK;
}

static sp_status make_text(char **out, sp_tool *tool, sp_error *err)
{
	sp_status status;
	sp_buffer json;
	size_t size;

	sp_buffer_init(&json, MAX_CONFIGURATION);
	status = make(tool, &json, err);
	if (status == SP_OK && (json.failed || (*out = sp_buffer_take(&json, &size)) == NULL))
		status = sp_no_memory(err, "a configuration");
	sp_buffer_fini(&json);
	return status;
}

sp_status sp_configuration_row_format(sp_row_format *out, sp_tool *tool, sp_error *err)
{
	if (tool->row_format == NULL)
		return SP_OK;
	for (int f = 0; f < SP_ROW_FORMATS; f++) {
		if (strcmp(tool->row_format, sp_row_format_name((sp_row_format)f)) == 0) {
			*out = (sp_row_format)f;
			return SP_OK;
		}
	}
	tool->wrong_usage = true;
	return sp_error_set(err, SP_INVALID,
			    "--row_format is fp32, fp16, bf16, int8 or int4, not '%s'",
			    tool->row_format);
}

/* Replaces *text by itself with the flags' members. */
static sp_status override(char **text, sp_tool *tool, sp_error *err)
{
	const char *first = "", *second = "";
	sp_row_format format;
	char *replaced;

	if (tool->row_format == NULL && tool->sessions == 0)
		return SP_OK;
	SP_TRY(sp_configuration_row_format(&format, tool, err));
	if (tool->row_format != NULL)
		first = sp_arena_printf(tool->arena, "\"ev_row_format\": \"%s\"", tool->row_format);
	if (tool->sessions != 0)
		second = sp_arena_printf(tool->arena, "%s\"session_num\": %zu",
					 tool->row_format != NULL ? ", " : "", tool->sessions);
	if (first != NULL && second != NULL)
		first = sp_arena_printf(tool->arena, "{%s%s}", first, second);
	SP_NEED_MEMORY(first != NULL && second != NULL, err, "a configuration");
	SP_TRY(sp_config_override(&replaced, *text, first, err));
	sp_free(*text);
	*text = replaced;
	return SP_OK;
}

sp_status sp_configuration_read(sp_config *out, sp_tool *tool, sp_error *err)
{
	bool is_file = tool->location.path == NULL;
	sp_status status;
	char *text = NULL;
	size_t size;

	status = is_file ? sp_file_read(&text, &size, tool->path, MAX_CONFIGURATION, err)
			 : make_text(&text, tool, err);
	if (status == SP_OK)
		status = override(&text, tool, err);
	if (status == SP_OK)
		status = sp_config_parse(out, text, err);
	if (status == SP_OK && is_file)
		sp_config_log_remarks(out);
	if (status == SP_OK)
		status = sp_config_set_store(out, err);
	sp_free(text);
	return status;
}
