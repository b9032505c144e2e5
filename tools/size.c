#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model_loader/checkpoint/bundle.h"
#include "processor/version/version.h"
#include "processor/warmup/warmup.h"
#include "processor/warmup/warmup_recorded.h"
#include "storage/format/packed_row.h"
#include "tools/catalogue.h"
#include "tools/column.h"
#include "tools/configuration.h"

/*
 * What a model takes in memory.  Everything but the rows of its tables is loaded as the processor
 * does, and measured; sessions answer the warm-up requests.  What rows take follows from their
 * number in the index of the checkpoint, and from the storage's own sizes: they are not read, so a
 * model is sized on a machine that could not hold it.
 */
typedef struct sizing {
	sp_tool *tool;
	sp_config config;
	const sp_bundle *bundle; /* of the full checkpoint; NULL: none */
	sp_catalogue catalogue;
	bool has_graph;
	bool is_cold;     /* no session could answer a request */
	size_t ssd_bytes; /* per table on an SSD; 0: all tables are in memory */

	pthread_mutex_t lock; /* for what follows, while weights are loaded */
	sp_rows_left_out *tables;
	size_t table_count, table_capacity;
	bool failed; /* out of memory */
} sizing;

static void note_table(void *context, const sp_rows_left_out *rows)
{
	sizing *s = context;
	sp_rows_left_out *note;

	pthread_mutex_lock(&s->lock);
	s->failed = s->failed ||
		    !SP_ARENA_GROW(s->tool->arena, s->tables, s->table_capacity, s->table_count, 1);
	if (!s->failed) {
		note = &s->tables[s->table_count++];
		*note = *rows;
		note->table = sp_arena_text(s->tool->arena, sp_bytes_of(rows->table));
		s->failed = note->table == NULL;
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---------------------------------------------------------------------- tables */

/* Whether keys are packed into fp32 rows is decided by the first rows, as when they are loaded. */
static sp_status choose_layout(sp_rows_layout *out, const sizing *s, const sp_rows_left_out *rows,
			       sp_error *err)
{
	const sp_catalogue_table *table = sp_catalogue_find(&s->catalogue, rows->table);
	sp_column values = {0};
	sp_status status;
	size_t count;

	*out = SP_ROWS_KEY_IN_FRONT;
	if (table == NULL || table->parts[0].problem != NULL || table->dim != rows->dim)
		return SP_OK;
	status = sp_column_open(&values, s->bundle, table->parts[0].values, rows->dim, NULL, err);
	if (status == SP_OK && (count = sp_column_piece(&values)) != 0 &&
	    sp_packed_row_suits(rows->dim, sp_column_next(&values, count), count))
		*out = SP_ROWS_KEY_PACKED;
	return sp_columns_close(&values, 1, status, err);
}

static sp_rows_memory_use expect(const sp_rows_left_out *rows, sp_row_format format,
				 sp_rows_layout packed)
{
	sp_rows_layout layout = format == SP_ROW_FP32 ? packed : SP_ROWS_KEY_IN_FRONT;
	sp_rows_shape shape = sp_rows_expected_shape(layout, format, rows->dim, rows->row_count);

	return sp_rows_expected_memory(&shape);
}

/* A tenth of a byte is as much as anybody wants to read. */
static void report_per_row(sp_report *report, const sp_rows_left_out *rows, sp_rows_layout packed)
{
	sp_report_open_brief(report, "bytes_per_row");
	for (int f = 0; f < SP_ROW_FORMATS; f++) {
		sp_rows_memory_use use = expect(rows, (sp_row_format)f, packed);
		double each = ((double)use.slots + (double)use.index) / (double)rows->row_count;

		sp_report_f32(report, sp_row_format_name((sp_row_format)f),
			      (float)((double)(uint64_t)(each * 10 + 0.5) / 10));
	}
	sp_report_close(report);
}

static sp_status report_table(sp_version_memory *sum, const sizing *s, const sp_rows_left_out *rows,
			      sp_error *err)
{
	sp_report *report = &s->tool->report;
	sp_rows_memory_use use;
	sp_rows_layout packed;

	SP_TRY(choose_layout(&packed, s, rows, err));
	use = expect(rows, rows->format, packed);
	if (use.slots == SIZE_MAX)
		return sp_error_set(err, SP_CORRUPT, "table '%s' has %zu rows of %zu elements",
				    rows->table, rows->row_count, rows->dim);
	sp_report_open(report, NULL);
	sp_report_text(report, "name", sp_bytes_of(rows->table));
	sp_report_u64(report, "rows", rows->row_count);
	sp_report_u64(report, "dim", rows->dim);
	sp_report_text(report, "row_format", sp_bytes_of(sp_row_format_name(rows->format)));
	if (rows->row_count != 0)
		report_per_row(report, rows, packed);
	if (s->ssd_bytes != 0 && use.slots > s->ssd_bytes) {
		sp_report_size(report, "ssd_bytes", s->ssd_bytes);
		sum->ssd += s->ssd_bytes;
	} else {
		sp_report_size(report, "rows_bytes", use.slots);
		sp_report_size(report, "index_bytes", use.index);
		sum->tables += use.slots;
		sum->indexes += use.index;
	}
	sp_report_close(report);
	return SP_OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const sp_rows_left_out *)a)->table, ((const sp_rows_left_out *)b)->table);
}

static sp_status report_tables(sp_version_memory *sum, const sizing *s, sp_error *err)
{
	if (s->table_count != 0) /* threads have noted them in any order */
		qsort(s->tables, s->table_count, sizeof(*s->tables), by_name);
	sp_report_open_list(&s->tool->report, "tables");
	for (size_t i = 0; i < s->table_count; i++)
		SP_TRY(report_table(sum, s, &s->tables[i], err));
	sp_report_close(&s->tool->report);
	return SP_OK;
}

/* ------------------------------------------------------------------ what is loaded */

/* As the first version of a model is warmed. */
static sp_status warm(const sizing *s, const sp_version *version, sp_error *err)
{
	const char *file = s->config.warmup_file_name;
	const char *recorded = sp_arena_printf(s->tool->arena, "%s/" SP_WARMUP_RECORDED_FILE,
					       s->config.savedmodel_dir);
	sp_warmup_target target = {.sessions = version->runtime->sessions,
				   .count = (size_t)s->config.session_num,
				   .snapshot = sp_weights_snapshot(version->weights),
				   .endpoint = version->runtime->configured};

	SP_NEED_MEMORY(recorded, err, "the path of recorded requests");
	return file == NULL && sp_file_exists(recorded)
		       ? sp_warmup_recorded(&target, version->runtime, recorded, SIZE_MAX, err)
		       : sp_warmup(&target, file, err);
}

/* Loads all but the rows, and fills in s->tables. */
static sp_status load(sp_version_memory *out, sizing *s, sp_error *err)
{
	const sp_location *location = &s->tool->location;
	sp_found_version found = {
		.full_prefix = location->full_prefix, .full_step = -1, .delta_step = -1};
	bool own = location->kind == SP_LOCATION_SAVED_MODEL;
	sp_version *version = NULL;
	sp_status status;

	if (s->config.ev_storage_type == SP_STORAGE_DRAM_SSDHASH)
		s->ssd_bytes = (size_t)s->config.ev_storage_size[0];
	s->config.ev_storage_type = 0;
	s->config.embeddings.image_folder = NULL;
	s->config.embeddings.leave_out = note_table;
	s->config.embeddings.leave_out_context = s;
	status = sp_version_open(&version, NULL, &s->config, own ? NULL : &found, 0, err);
	if (status == SP_OK) {
		size_t idle = sp_version_memory_of(version).sessions;

		status = warm(s, version, err);
		*out = sp_version_memory_of(version);
		s->is_cold = out->sessions == idle;
	}
	sp_version_close(version);
	return status == SP_OK && s->failed ? sp_no_memory(err, "the tables") : status;
}

/* Without a graph: all that the checkpoint has, but for slots of an optimizer. */
static void use_index(sp_version_memory *out, sizing *s, sp_row_format format)
{
	for (size_t i = 0; i < s->catalogue.table_count; i++) {
		const sp_catalogue_table *table = &s->catalogue.tables[i];

		if (table->slot_of == NULL && !table->delta)
			note_table(s, &(sp_rows_left_out){table->name, table->dim, format,
							  table->rows});
	}
	for (size_t i = 0; i < s->catalogue.tensor_count; i++)
		out->dense += s->catalogue.tensors[i]->size;
}

/* --------------------------------------------------------------------- command */

static void report_sum(const sizing *s, const sp_version_memory *sum)
{
	sp_report *report = &s->tool->report;
	size_t version = sum->tables + sum->indexes + sum->ssd + sum->dense;
	size_t count = (size_t)s->config.session_num;

	sp_report_open(report, "memory");
	sp_report_size(report, "tables", sum->tables);
	sp_report_size(report, "indexes", sum->indexes);
	if (sum->ssd != 0)
		sp_report_size(report, "ssd", sum->ssd);
	sp_report_size(report, "dense", sum->dense);
	if (s->has_graph) {
		sp_report_size(report, "program", sum->program);
		sp_report_u64(report, "session_count", count);
		/* One more, which warms up later versions. */
		sp_report_size(report, "estimated_per_session", sum->sessions / (count + 1));
		sp_report_size(report, "sessions", sum->sessions);
	}
	sp_report_size(report, "total", version + sum->program + sum->sessions);
	sp_report_size(report, "headroom_for_swap", version);
	sp_report_close(report);
	if (!s->has_graph)
		sp_report_text(report, "note",
			       sp_bytes_of("with --model=DIR, the SavedModel of the checkpoint, "
					   "program and sessions count, too"));
	else if (s->is_cold)
		sp_report_text(report, "note",
			       sp_bytes_of("no request was run, so that sessions are too small: "
					   "give warmup_file_name in a configuration"));
}

static sp_status size_and_report(sizing *s, sp_row_format format, sp_error *err)
{
	sp_report *report = &s->tool->report;
	sp_version_memory sum = {0};

	if (s->bundle != NULL)
		SP_TRY(sp_catalogue_make(&s->catalogue, s->bundle, s->tool->arena, err));
	if (s->has_graph)
		SP_TRY(load(&sum, s, err));
	else
		use_index(&sum, s, format);
	sp_report_open(report, NULL);
	sp_report_text(report, "path", sp_bytes_of(s->tool->path));
	SP_TRY(report_tables(&sum, s, err));
	report_sum(s, &sum);
	sp_report_close(report);
	return SP_OK;
}

/* What the configuration serves, when PATH is one. */
static sp_status locate(sizing *s, sp_error *err)
{
	sp_tool *tool = s->tool;
	const char *path = s->config.checkpoint_dir != NULL ? s->config.checkpoint_dir
							    : s->config.savedmodel_dir;

	if (tool->location.path == NULL)
		SP_TRY(sp_location_find(&tool->location, path, tool->arena, err));
	if (tool->location.kind != SP_LOCATION_IMAGE)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "%s is an image, whose size is that of its file",
			    tool->location.path);
}

sp_status sp_tool_size(sp_tool *tool, sp_error *err)
{
	sizing s = {.tool = tool, .lock = PTHREAD_MUTEX_INITIALIZER};
	sp_bundle *bundle = NULL;
	sp_row_format format = SP_ROW_FP32;
	sp_status status;

	SP_TRY(sp_configuration_row_format(&format, tool, err));
	s.has_graph = tool->location.path == NULL || tool->model != NULL ||
		      tool->location.kind == SP_LOCATION_SAVED_MODEL;
	if (s.has_graph && tool->location.kind != SP_LOCATION_IMAGE)
		SP_TRY(sp_configuration_read(&s.config, tool, err));
	status = locate(&s, err);
	if (status == SP_OK && tool->location.full_prefix != NULL)
		status = sp_bundle_open(&bundle, tool->location.full_prefix, err);
	s.bundle = bundle;
	if (status == SP_OK)
		status = size_and_report(&s, format, err);
	sp_bundle_close(bundle);
	sp_config_fini(&s.config);
	return status;
}
