#include <string.h>

#include "model_loader/checkpoint/bundle.h"
#include "tools/catalogue.h"
#include "tools/column.h"
#include "tools/graph_tables.h"
#include "tools/norms.h"
#include "tools/ssd_rows.h"
#include "tools/tool.h"

/* ------------------------------------------------------------------ SavedModel */

static void report_tensors(sp_report *report, const char *key, const sp_tensor_info *tensors,
			   size_t count)
{
	sp_report_open_list(report, key);
	for (size_t i = 0; i < count; i++) {
		const sp_partial_shape *shape = &tensors[i].shape;

		sp_report_open_brief(report, NULL);
		sp_report_text(report, "name", sp_bytes_of(tensors[i].alias));
		sp_report_text(report, "tensor", sp_bytes_of(tensors[i].tensor_name));
		sp_report_text(report, "dtype", sp_bytes_of(sp_dtype_name(tensors[i].dtype)));
		if (shape->rank >= 0) {
			sp_report_open_row(report, "shape");
			for (int32_t d = 0; d < shape->rank; d++)
				sp_report_i64(report, NULL, shape->dims[d]);
			sp_report_close(report);
		}
		sp_report_close(report);
	}
	sp_report_close(report);
}

static void report_signatures(sp_report *report, const sp_saved_model *model)
{
	sp_report_open_list(report, "signatures");
	for (size_t i = 0; i < model->signature_count; i++) {
		const sp_signature *signature = &model->signatures[i];

		sp_report_open(report, NULL);
		sp_report_text(report, "name", sp_bytes_of(signature->name));
		sp_report_text(report, "method", sp_bytes_of(signature->method));
		report_tensors(report, "inputs", signature->inputs, signature->input_count);
		report_tensors(report, "outputs", signature->outputs, signature->output_count);
		sp_report_close(report);
	}
	sp_report_close(report);
}

/* ---------------------------------------------------------------------- tables */

static sp_status read_part_norms(sp_norms *norms, const sp_bundle *bundle,
				 const sp_catalogue_part *part, size_t dim, sp_progress *progress,
				 sp_error *err)
{
	sp_column values = {0};
	sp_status status = sp_column_open(&values, bundle, part->values, dim, progress, err);

	for (size_t count; status == SP_OK && (count = sp_column_piece(&values)) != 0;) {
		const char *rows = sp_column_next(&values, count);

		for (size_t i = 0; i < count; i++)
			sp_norms_add(norms, dim, rows + i * dim * sizeof(float));
	}
	return sp_columns_close(&values, 1, status, err);
}

typedef struct frequent_key {
	int64_t key;
	int64_t freq;
} frequent_key;

/* The most frequent keys so far, in descending order. */
typedef struct ranking {
	frequent_key *keys; /* [capacity] */
	size_t count;
	size_t capacity;
} ranking;

static void take_out(ranking *r, int64_t key)
{
	size_t at = 0;

	while (at < r->count && r->keys[at].key != key)
		at++;
	if (at == r->count)
		return;
	r->count--;
	memmove(&r->keys[at], &r->keys[at + 1], (r->count - at) * sizeof(*r->keys));
}

/* Frequency 0 means not counted.  If a key occurs twice, the last row counts. */
static void rank(ranking *r, frequent_key one)
{
	size_t at;

	if (one.freq <= 0 || r->capacity == 0 ||
	    (r->count == r->capacity && r->keys[r->count - 1].freq >= one.freq))
		return;
	take_out(r, one.key);
	at = r->count < r->capacity ? r->count++ : r->count - 1;
	for (; at > 0 && r->keys[at - 1].freq < one.freq; at--)
		r->keys[at] = r->keys[at - 1];
	r->keys[at] = one;
}

typedef struct ssd_facts {
	sp_norms *norms;
	ranking *frequent;
	size_t dim;
	size_t rows;
} ssd_facts;

static sp_status add_ssd_piece(void *context, const sp_ssd_piece *piece, sp_error *err)
{
	ssd_facts *facts = context;

	(void)err;
	for (size_t i = 0; i < piece->count; i++) {
		if (piece->keys[i] == -1)
			continue;
		sp_norms_add(facts->norms, facts->dim, piece->rows + i * facts->dim);
		if (piece->freqs != NULL)
			rank(facts->frequent, (frequent_key){piece->keys[i], piece->freqs[i]});
		facts->rows++;
	}
	return SP_OK;
}

/* Reports damage and continues. */
static void read_ssd(sp_tool *tool, sp_norms *norms, ranking *frequent, const sp_bundle *bundle,
		     const sp_catalogue_table *table)
{
	ssd_facts facts = {.norms = norms, .frequent = frequent, .dim = table->dim};
	sp_error why;

	for (size_t i = 0; i < table->part_count && table->dim != 0 && !table->delta; i++)
		if (table->parts[i].problem == NULL &&
		    sp_ssd_rows_each(bundle, &table->parts[i], table->dim, tool->arena,
				     add_ssd_piece, &facts, &why) != SP_OK) {
			sp_report_text(&tool->report, "problem", sp_bytes_of(why.text));
			tool->broken = true;
		}
	if (facts.rows != 0)
		sp_report_u64(&tool->report, "rows_of_ssd_tier", facts.rows);
}

/* How many rows of the tensors have a readable frequency. */
static size_t rows_with_frequency(const sp_catalogue_part *part)
{
	const sp_bundle_entry *freqs = part->freqs;
	size_t known;

	if (freqs == NULL || freqs->sliced || freqs->dtype != SP_INT64 || freqs->shape.rank != 1)
		return 0;
	known = (size_t)freqs->shape.dims[0];
	return known < part->rows ? known : part->rows;
}

static void rank_rows(ranking *r, sp_column *keys, sp_column *freqs)
{
	/*
	 * There may be fewer frequencies than keys: older writers omit those after the last bucket.
	 */
	for (size_t count; (count = sp_column_piece(freqs)) != 0;) {
		size_t known = sp_column_piece(keys) < count ? sp_column_piece(keys) : count;
		const void *key = sp_column_next(keys, known);
		const void *freq = sp_column_next(freqs, count);

		for (size_t i = 0; i < known; i++)
			rank(r, (frequent_key){sp_column_key(keys, key, i),
					       sp_column_key(freqs, freq, i)});
	}
}

static sp_status rank_part(ranking *r, const sp_bundle *bundle, const sp_catalogue_part *part,
			   sp_progress *progress, sp_error *err)
{
	sp_column columns[2] = {0};
	sp_status status;

	if (rows_with_frequency(part) == 0)
		return SP_OK;
	status = sp_column_open(&columns[0], bundle, part->keys, 1, progress, err);
	if (status == SP_OK)
		status = sp_column_open(&columns[1], bundle, part->freqs, 1, progress, err);
	if (status == SP_OK)
		rank_rows(r, &columns[0], &columns[1]);
	return sp_columns_close(columns, 2, status, err);
}

static void report_frequent(sp_report *report, const ranking *r)
{
	if (r->count == 0)
		return;
	sp_report_open_list(report, "top_keys");
	for (size_t i = 0; i < r->count; i++) {
		sp_report_open_brief(report, NULL);
		sp_report_i64(report, "key", r->keys[i].key);
		sp_report_i64(report, "frequency", r->keys[i].freq);
		sp_report_close(report);
	}
	sp_report_close(report);
}

static void report_filter(sp_report *report, const sp_graph_table *graph)
{
	if (graph == NULL)
		return;
	sp_report_text(report, "filter",
		       sp_bytes_of(graph->filter_freq <= 0 ? "none"
				   : graph->bloom          ? "cbf"
							   : "counter"));
	if (graph->filter_freq > 0) {
		sp_report_i64(report, "filter_freq", graph->filter_freq);
		sp_report_f32(report, "default_value_no_permission", graph->no_permission);
	} else {
		sp_report_i64(report, "default_rows", graph->default_rows);
	}
}

static void report_facts(sp_report *report, const sp_catalogue_table *table)
{
	const sp_catalogue_part *first = &table->parts[0];
	size_t filtered = 0, with_freqs = 0;

	sp_report_text(report, "name", sp_bytes_of(table->name));
	if (table->slot_of != NULL)
		sp_report_text(report, "slot_of", sp_bytes_of(table->slot_of));
	sp_report_u64(report, "dim", table->dim);
	sp_report_u64(report, "rows", table->rows);
	sp_report_u64(report, "parts", table->part_count);
	sp_report_text(report, "key_dtype", sp_bytes_of(sp_dtype_name(first->keys->dtype)));
	sp_report_text(report, "dtype", sp_bytes_of(sp_dtype_name(first->values->dtype)));
	sp_report_size(report, "bytes", table->bytes);
	for (size_t i = 0; i < table->part_count; i++) {
		const sp_catalogue_part *part = &table->parts[i];

		if (part->problem != NULL)
			sp_report_text(report, "problem", sp_bytes_of(part->problem));
		if (part->filtered != NULL && part->filtered->shape.rank == 1)
			filtered += (size_t)part->filtered->shape.dims[0];
		with_freqs += rows_with_frequency(part);
	}
	if (!table->delta) {
		sp_report_u64(report, "rows_with_frequency", with_freqs);
		sp_report_u64(report, "keys_not_admitted", filtered);
	}
}

/* Bytes that the report reads, for the progress bar. */
static uint64_t bytes_to_read(const sp_catalogue *catalogue)
{
	uint64_t bytes = 0;

	for (size_t t = 0; t < catalogue->table_count; t++)
		for (size_t p = 0; p < catalogue->tables[t].part_count; p++) {
			const sp_catalogue_part *part = &catalogue->tables[t].parts[p];

			bytes += part->values->size;
			if (part->freqs != NULL)
				bytes += part->freqs->size + part->keys->size;
		}
	return bytes;
}

typedef struct graph_facts {
	const sp_graph_table *tables; /* NULL without a graph */
	size_t count;
} graph_facts;

/* The part of the report that reads all rows. */
static sp_status report_rows(sp_tool *tool, const sp_bundle *bundle,
			     const sp_catalogue_table *table, sp_progress *progress, sp_error *err)
{
	/* A slot has the same frequencies as its table. */
	size_t capacity = table->slot_of == NULL ? tool->top : 0;
	ranking frequent = {.keys = sp_arena_array(tool->arena, capacity, sizeof(*frequent.keys)),
			    .capacity = capacity};
	sp_norms norms = {0};

	SP_NEED_MEMORY(frequent.keys, err, "%zu keys", capacity);
	/* SSD rows first: if a row is also in the tensors, that one is newer. */
	read_ssd(tool, &norms, &frequent, bundle, table);
	for (size_t i = 0; i < table->part_count; i++) {
		const sp_catalogue_part *part = &table->parts[i];

		if (table->dim != 0 && part->problem == NULL)
			SP_TRY(read_part_norms(&norms, bundle, part, table->dim, progress, err));
		if (capacity != 0)
			SP_TRY(rank_part(&frequent, bundle, part, progress, err));
	}
	sp_norms_report(&norms, &tool->report);
	report_frequent(&tool->report, &frequent);
	return SP_OK;
}

static sp_status report_tables(sp_tool *tool, const sp_bundle *bundle,
			       const sp_catalogue *catalogue, const graph_facts *graph,
			       sp_progress *progress, sp_error *err)
{
	sp_report *report = &tool->report;

	sp_report_open_list(report, "tables");
	for (size_t i = 0; i < catalogue->table_count; i++) {
		const sp_catalogue_table *table = &catalogue->tables[i];

		sp_report_open(report, NULL);
		report_facts(report, table);
		report_filter(report,
			      sp_graph_tables_get(graph->tables, graph->count, table->name));
		if (!tool->quick)
			SP_TRY(report_rows(tool, bundle, table, progress, err));
		sp_report_close(report);
	}
	sp_report_close(report);
	return SP_OK;
}

static void report_variables(sp_report *report, const sp_catalogue *catalogue)
{
	sp_report_open_list(report, "variables");
	for (size_t i = 0; i < catalogue->tensor_count; i++) {
		const sp_bundle_entry *entry = catalogue->tensors[i];

		sp_report_open(report, NULL);
		sp_report_text(report, "name", entry->name);
		sp_report_text(report, "dtype", sp_bytes_of(sp_dtype_name(entry->dtype)));
		sp_report_open_row(report, "shape");
		for (int d = 0; d < entry->shape.rank; d++)
			sp_report_i64(report, NULL, entry->shape.dims[d]);
		sp_report_close(report);
		if (entry->sliced)
			sp_report_bool(report, "in_slices", true);
		else
			sp_report_size(report, "bytes", entry->size);
		sp_report_close(report);
	}
	sp_report_close(report);
}

static sp_status report_bundle(sp_tool *tool, const char *key, const char *prefix,
			       const graph_facts *graph, sp_error *err)
{
	sp_catalogue catalogue;
	sp_progress progress;
	sp_bundle *bundle;
	sp_status status;

	SP_TRY(sp_bundle_open(&bundle, prefix, err));
	status = sp_catalogue_make(&catalogue, bundle, tool->arena, err);
	if (status == SP_OK) {
		sp_progress_start(&progress, "reading", bytes_to_read(&catalogue));
		sp_report_open(&tool->report, key);
		sp_report_text(&tool->report, "prefix", sp_bytes_of(prefix));
		status = report_tables(tool, bundle, &catalogue, graph, &progress, err);
		sp_progress_end(&progress);
	}
	if (status == SP_OK) {
		report_variables(&tool->report, &catalogue);
		sp_report_close(&tool->report);
	}
	sp_bundle_close(bundle);
	return status;
}

/* Reads the graph of the checkpoint: PATH itself, or --model. */
static sp_status read_graph(sp_tool *tool, graph_facts *graph, sp_error *err)
{
	bool own = tool->location.kind == SP_LOCATION_SAVED_MODEL;
	const char *folder = own ? tool->location.path : tool->model;
	sp_saved_model model;
	sp_graph_table *tables;

	if (folder == NULL)
		return SP_OK;
	SP_TRY(sp_saved_model_read(&model, folder, NULL, tool->arena, err));
	report_signatures(&tool->report, &model);
	SP_TRY(sp_graph_tables_find(&tables, &graph->count, &model, tool->arena, err));
	graph->tables = tables;
	return SP_OK;
}

sp_status sp_tool_inspect(sp_tool *tool, sp_error *err)
{
	const sp_location *location = &tool->location;
	graph_facts graph = {0};

	if (location->kind == SP_LOCATION_IMAGE)
		return sp_tool_inspect_image(tool, err);
	sp_report_open(&tool->report, NULL);
	sp_report_text(&tool->report, "path", sp_bytes_of(location->path));
	sp_report_text(&tool->report, "kind", sp_bytes_of(sp_location_kind_name(location->kind)));
	SP_TRY(read_graph(tool, &graph, err));
	if (location->full_prefix != NULL)
		SP_TRY(report_bundle(tool, "checkpoint", location->full_prefix, &graph, err));
	if (location->delta_prefix != NULL)
		SP_TRY(report_bundle(tool, "delta", location->delta_prefix, &graph, err));
	sp_report_close(&tool->report);
	return SP_OK;
}
