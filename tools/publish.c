#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "incremental/discover.h"
#include "incremental/identity.h"
#include "model_loader/checkpoint/checkpoint_name.h"
#include "processor/publish/publish.h"
#include "processor/version/version.h"
#include "tools/configuration.h"
#include "tools/progress.h"

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

/* What others see in the list of processes. */
static void hide(const char *address)
{
	char *text = (char *)(uintptr_t)address; /* of main()'s arguments */

	if (strchr(text, '@') != NULL)
		memset(text, '*', strlen(text));
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

/* `config` NULL: there is none.  The command line says more than it does. */
static sp_status read_address(sp_redis_address *address, const sp_tool *tool,
			      const sp_config *config, const char *text, sp_error *err)
{
	const sp_publish_flags *flags = &tool->publish;
	const char *password = getenv("REDISCLI_AUTH");

	if (text != NULL)
		SP_TRY(sp_redis_address_parse(address, text, err));
	else
		SP_TRY(sp_config_redis_address(address, config, err));
	if (flags->user != NULL)
		SP_TRY(sp_redis_address_set_user(address, flags->user, NULL, err));
	if (flags->password_file != NULL)
		return read_password(address, flags->password_file, err);
	if (password == NULL || address->password[0] != '\0')
		return SP_OK;
	return sp_redis_address_set_user(address, NULL, password, err);
}

static int64_t first_of(int64_t flag, int64_t otherwise)
{
	return flag != 0 ? flag : otherwise;
}

static sp_status read_layout(sp_publish_options *out, sp_tool *tool, sp_error *err)
{
	const char *layout = tool->publish.layout;

	if (layout != NULL && !sp_redis_layout_find(&out->layout, layout))
		return wrong(tool, err, "--layout is versioned or deeprec");
	SP_TRY(sp_configuration_row_format(&out->format, tool, err));
	if (out->layout != SP_REDIS_DEEPREC)
		return SP_OK;
	if (tool->row_format != NULL && out->format != SP_ROW_FP32)
		return wrong(tool, err, "DeepRec's rows are fp32");
	out->format = SP_ROW_FP32;
	return SP_OK;
}

static sp_status read_options(sp_publish_options *out, sp_tool *tool,
			      const sp_redis_address *address, const sp_config *config,
			      sp_error *err)
{
	static const sp_config none;
	const sp_publish_flags *flags = &tool->publish;

	if (config == NULL)
		config = &none;
	*out = (sp_publish_options){
		.address = address,
		.is_cluster = flags->is_cluster ||
			      config->feature_store_type == SP_FEATURES_IN_REDIS_CLUSTER,
		.layout = (sp_redis_layout)config->redis_layout,
		.model = flags->name != NULL ? flags->name : config->redis_model,
		.format = (sp_row_format)config->redis_row_format,
		.partitions = (size_t)flags->partitions,
		.rows_per_second = first_of(flags->rows_per_second, config->redis_rows_per_second),
		.keep_seconds = first_of(flags->keep_seconds, config->redis_keep_seconds),
		.lock_seconds = first_of(flags->lock_seconds, config->lock_timeout),
		.patience_seconds = flags->patience_seconds,
		.waits = true,
		.stop = &stop};
	if (out->model == NULL)
		return wrong(tool, err, "--name=NAME, the model's name in Redis, is missing");
	return read_layout(out, tool, err);
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
	if (source->prefix != NULL)
		source->content = sp_identity_of_rows(source->prefix, tool->arena);
	source->full_step = found->full_step;
	source->delta_step = found->delta_step;
	return source->prefix != NULL ? SP_OK : sp_no_memory(err, "a path");
}

static void show_progress(void *context, const char *table, uint64_t bytes, uint64_t total)
{
	sp_progress *progress = context;

	if (table == NULL) {
		sp_progress_add(progress, bytes);
		return;
	}
	sp_progress_end(progress);
	sp_progress_start(progress, "publishing", total);
}

static sp_status publish(sp_tool *tool, const sp_config *config, const sp_publish_options *options,
			 sp_error *err)
{
	int64_t began = sp_clock_now_ns();
	sp_publish_options with_progress = *options;
	sp_progress progress = {.silent = true};
	sp_publish_result result = {0};
	sp_publish_source source;
	sp_found_version found;
	sp_model *model = NULL;
	sp_status status;

	with_progress.on_bytes = show_progress;
	with_progress.context = &progress;
	SP_TRY(find_source(&found, &source, tool, config, err));
	SP_TRY(sp_version_open_model(&model, config, source.is_own ? NULL : &found, err));
	status = sp_publish(&result, model, &source, &with_progress, err);
	sp_progress_end(&progress);
	sp_model_destroy(model);
	if (status == SP_OK)
		report(tool, options, &result, sp_clock_now_ns() - began);
	return status;
}

static sp_status go_back(sp_tool *tool, const sp_config *config, const sp_publish_options *options,
			 sp_error *err)
{
	const sp_redis_publication_options to = {.address = options->address,
						 .is_cluster = options->is_cluster,
						 .layout = options->layout,
						 .model = options->model,
						 .lock_seconds = options->lock_seconds,
						 .patience_seconds = options->patience_seconds,
						 .waits = true,
						 .stop = &stop};
	const sp_publish_flags *flags = &tool->publish;
	sp_redis_version version;

	(void)config;
	SP_TRY(sp_redis_publication_rollback(&version, &to,
					     flags->is_rollback ? -1 : flags->current, err));
	report_version(tool, options, &version);
	sp_report_close(&tool->report);
	return SP_OK;
}

/* ------------------------------------------------------------------- what to do */

typedef sp_status task(sp_tool *tool, const sp_config *config, const sp_publish_options *options,
		       sp_error *err);

/* `text`: the address; NULL: the configuration's.  `config` NULL: there is none. */
static sp_status run(sp_tool *tool, const sp_config *config, const char *text, task *work,
		     sp_error *err)
{
	sp_publish_options options;
	sp_redis_address address;
	sp_status status;

	if (text == NULL && config->redis_url == NULL)
		return wrong(tool, err, "which Redis?  The configuration has no redis_url");
	status = read_address(&address, tool, config, text, err);
	if (text != NULL)
		hide(text);
	tool->wrong_usage = status == SP_INVALID;
	if (status == SP_OK)
		status = read_options(&options, tool, &address, config, err);
	if (status == SP_OK)
		status = work(tool, config, &options, err);
	sp_redis_address_fini(&address);
	return status;
}

static sp_status run_as_configured(sp_tool *tool, const char *text, task *work, sp_error *err)
{
	sp_config config = {0};
	sp_status status;

	SP_TRY(sp_configuration_read(&config, tool, err));
	status = run(tool, &config, text, work, err);
	sp_config_fini(&config);
	return status;
}

/* A redis://... where a path is wanted must not be shown as a file that is not there. */
static bool is_address(const char *word)
{
	return strncmp(word, "redis", 5) == 0 && strstr(word, "://") != NULL;
}

/* Whether PATH is a configuration, and not the address: a name with no port is one, too. */
static bool is_configuration(const sp_tool *tool)
{
	return tool->argument_count != 0 || sp_file_exists(tool->path) ||
	       sp_bytes_ends_with(sp_bytes_of(tool->path), ".json");
}

sp_status sp_tool_publish(sp_tool *tool, sp_error *err)
{
	const char *address = tool->argument_count != 0 ? tool->arguments[0] : NULL;
	bool goes_back = tool->publish.is_rollback || tool->publish.current >= 0;

	stop_on_signals();
	if (goes_back && tool->location.path != NULL)
		return wrong(tool, err,
			     "--current and --rollback take a configuration or an address");
	if (goes_back && !is_configuration(tool))
		return run(tool, NULL, tool->path, go_back, err);
	if (tool->location.path != NULL && tool->location.kind == SP_LOCATION_IMAGE)
		return wrong(tool, err, "an image cannot be published: name its checkpoint");
	if (is_address(tool->path))
		return wrong(tool, err, "publish needs a PATH before the address of a Redis");
	return run_as_configured(tool, address, goes_back ? go_back : publish, err);
}
