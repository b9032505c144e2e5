#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "incremental/discover.h"
#include "model_loader/checkpoint/checkpoint_name.h"
#include "processor/publish/publish.h"
#include "processor/version/version.h"
#include "tools/configuration.h"

/*
 * Copies a checkpoint's embeddings to Redis, or names the version there that is served.
 *
 * A password comes from the address, --password_file or the environment, in this order, and is
 * shown nowhere.
 */

enum { MAX_PASSWORD = 4096 };

static atomic_bool stop;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stop, true);
}

/* The first ends the publication in order, the second one the program. */
static void stop_on_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* -------------------------------------------------------------------- options */

static sp_status wrong(sp_tool *tool, sp_error *err, const char *text)
{
	tool->wrong_usage = true;
	return sp_error_set(err, SP_INVALID, "%s", text);
}

/* The file's first line. */
static sp_status read_password(sp_redis_address *address, const char *path, sp_error *err)
{
	sp_status status;
	char *text;
	size_t size;

	SP_TRY(sp_file_read(&text, &size, path, MAX_PASSWORD, err));
	text[strcspn(text, "\r\n")] = '\0';
	status = sp_redis_address_set_user(address, NULL, text, err);
	explicit_bzero(text, size);
	sp_free(text);
	return status;
}

static sp_status read_address(sp_redis_address *address, const sp_tool *tool, const char *text,
			      sp_error *err)
{
	const sp_publish_flags *flags = &tool->publish;
	const char *password = getenv("REDISCLI_AUTH");

	SP_TRY(sp_redis_address_parse(address, text, err));
	if (flags->user != NULL)
		SP_TRY(sp_redis_address_set_user(address, flags->user, NULL, err));
	if (address->password[0] != '\0')
		return SP_OK;
	if (flags->password_file != NULL)
		return read_password(address, flags->password_file, err);
	return password != NULL ? sp_redis_address_set_user(address, NULL, password, err) : SP_OK;
}

static sp_status read_options(sp_publish_options *out, sp_tool *tool,
			      const sp_redis_address *address, sp_error *err)
{
	const sp_publish_flags *flags = &tool->publish;

	*out = (sp_publish_options){.address = address,
				    .is_cluster = flags->is_cluster,
				    .model = flags->name,
				    .partitions = (size_t)flags->partitions,
				    .rows_per_second = flags->rows_per_second,
				    .keep_seconds = flags->keep_seconds,
				    .lock_seconds = flags->lock_seconds,
				    .patience_seconds = flags->patience_seconds,
				    .waits = true,
				    .stop = &stop};
	if (flags->layout != NULL && !sp_redis_layout_find(&out->layout, flags->layout))
		return wrong(tool, err, "--layout is versioned or deeprec");
	if (tool->row_format == NULL)
		return SP_OK;
	for (int f = 0; f < SP_ROW_FORMATS; f++)
		if (strcmp(tool->row_format, sp_row_format_name((sp_row_format)f)) == 0) {
			out->format = (sp_row_format)f;
			if (out->layout == SP_REDIS_DEEPREC && out->format != SP_ROW_FP32)
				return wrong(tool, err, "DeepRec's rows are fp32");
			return SP_OK;
		}
	return wrong(tool, err, "--row_format is fp32, fp16, bf16, int8 or int4");
}

/* ------------------------------------------------------------------ publishing */

static void report_version(sp_tool *tool, const sp_publish_options *options,
			   const sp_redis_version *version)
{
	char mark[SP_REDIS_MARK_SIZE + 1];

	sp_report_open(&tool->report, NULL);
	sp_report_text(&tool->report, "model", sp_bytes_of(options->model));
	sp_report_text(&tool->report, "layout", sp_bytes_of(sp_redis_layout_name(options->layout)));
	sp_report_i64(&tool->report, "full", version->full);
	if (options->layout == SP_REDIS_DEEPREC)
		return;
	sp_redis_mark(mark, version);
	sp_report_text(&tool->report, "checksum", sp_bytes_of(mark));
	sp_report_u64(&tool->report, "partitions", version->partitions);
	sp_report_text(&tool->report, "row_format",
		       sp_bytes_of(sp_row_format_name(version->format)));
}

static void report(sp_tool *tool, const sp_publish_options *options,
		   const sp_publish_result *result, int64_t took_ns)
{
	const sp_redis_publication_counts *counts = &result->counts;
	double seconds = (double)took_ns / 1e9;

	report_version(tool, options, &result->version);
	sp_report_u64(&tool->report, "tables", counts->tables);
	sp_report_u64(&tool->report, "tables_there", counts->tables_there);
	sp_report_u64(&tool->report, "rows", counts->rows);
	sp_report_u64(&tool->report, "rows_there", counts->rows_there);
	sp_report_u64(&tool->report, "rows_sent", counts->rows_sent);
	sp_report_u64(&tool->report, "rows_compared", counts->rows_compared);
	sp_report_size(&tool->report, "bytes_sent", counts->bytes_sent);
	sp_report_f32(&tool->report, "seconds", (float)seconds);
	sp_report_close(&tool->report);
}

/* Which checkpoint: PATH itself, or the newest that the processor would load. */
static sp_status find_source(sp_found_version *found, sp_publish_source *source, sp_tool *tool,
			     const sp_config *config, sp_error *err)
{
	const char *slash;

	*source = (sp_publish_source){.only_finite = config->embeddings.only_finite};
	if (tool->location.path != NULL && tool->location.kind == SP_LOCATION_CHECKPOINT) {
		slash = strrchr(tool->location.full_prefix, '/');
		*found = (sp_found_version){.full_prefix = tool->location.full_prefix,
					    .delta_step = -1};
		found->full_step = sp_checkpoint_name_of(
					   sp_arena_printf(tool->arena, "%s.index",
							   slash != NULL ? slash + 1
									 : found->full_prefix))
					   .step;
	} else if (config->checkpoint_dir != NULL) {
		sp_discovery discovery;

		SP_TRY(sp_discover_version(&discovery, config->checkpoint_dir, NULL, tool->arena,
					   err));
		*found = discovery.version;
	} else {
		*found = (sp_found_version){.full_prefix = "", .delta_step = -1};
		source->is_own = true;
	}
	source->prefix = source->is_own ? sp_arena_printf(tool->arena, "%s/variables/variables",
							  config->savedmodel_dir)
					: found->full_prefix;
	source->full_step = found->full_step;
	source->delta_step = found->delta_step;
	return source->prefix != NULL ? SP_OK : sp_no_memory(err, "a path");
}

static sp_status publish(sp_tool *tool, const sp_config *config, sp_publish_options *options,
			 sp_error *err)
{
	int64_t began = sp_clock_now_ns();
	sp_publish_result result = {0};
	sp_publish_source source;
	sp_found_version found;
	sp_model *model = NULL;
	sp_status status;

	if (options->model == NULL)
		options->model = config->model_name;
	SP_TRY(find_source(&found, &source, tool, config, err));
	SP_TRY(sp_version_open_model(&model, config, source.is_own ? NULL : &found, err));
	status = sp_publish(&result, model, &source, options, err);
	sp_model_destroy(model);
	if (status == SP_OK)
		report(tool, options, &result, sp_clock_now_ns() - began);
	return status;
}

static sp_status read_and_publish(sp_tool *tool, sp_publish_options *options, sp_error *err)
{
	sp_config config = {0};
	sp_status status;

	if (tool->location.path != NULL && tool->location.kind == SP_LOCATION_IMAGE)
		return wrong(tool, err, "an image cannot be published: name its checkpoint");
	SP_TRY(sp_configuration_read(&config, tool, err));
	status = publish(tool, &config, options, err);
	sp_config_fini(&config);
	return status;
}

static sp_status go_back(sp_tool *tool, const sp_publish_options *options, sp_error *err)
{
	sp_redis_publication_options to = {.address = options->address,
					   .is_cluster = options->is_cluster,
					   .layout = options->layout,
					   .model = options->model,
					   .keep_seconds = options->keep_seconds,
					   .lock_seconds = options->lock_seconds,
					   .patience_seconds = options->patience_seconds,
					   .waits = true,
					   .stop = options->stop};
	sp_redis_version version;

	if (options->model == NULL)
		return wrong(tool, err, "--name=NAME, the model's name in Redis, is missing");
	SP_TRY(sp_redis_publication_go_back(
		&version, &to, tool->publish.is_rollback ? -1 : tool->publish.current, err));
	report_version(tool, options, &version);
	sp_report_close(&tool->report);
	return SP_OK;
}

sp_status sp_tool_publish(sp_tool *tool, sp_error *err)
{
	bool goes_back = tool->publish.is_rollback || tool->publish.current >= 0;
	sp_publish_options options;
	sp_redis_address address;
	sp_status status;

	if (tool->argument_count != (goes_back ? 0 : 1))
		return wrong(tool, err,
			     goes_back ? "publish --current and --rollback take nothing but an "
					 "address"
				       : "publish needs a PATH and the address of a Redis");
	status = read_address(&address, tool, goes_back ? tool->path : tool->arguments[0], err);
	if (status != SP_OK) {
		tool->wrong_usage = status == SP_INVALID;
		return status;
	}
	status = read_options(&options, tool, &address, err);
	stop_on_signals();
	if (status == SP_OK)
		status = goes_back ? go_back(tool, &options, err)
				   : read_and_publish(tool, &options, err);
	sp_redis_address_fini(&address);
	return status;
}
