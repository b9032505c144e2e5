#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/image/image.h"
#include "storage/rows/rows.h"
#include "tools/catalogue.h"
#include "tools/column.h"
#include "tools/ssd_rows.h"
#include "tools/tool.h"

/* A requested key and the last row found for it, which is the newest. */
typedef struct wanted {
	int64_t key;
	float *row;   /* [dim]; NULL until found */
	int64_t freq; /* 0: not counted */
	const char *part;
	bool in_delta;
	bool not_admitted; /* rejected by the admission filter */
} wanted;

typedef struct search {
	sp_tool *tool;
	const char *table;
	wanted *keys; /* [count] in the order of the command line */
	size_t count;
	wanted **sorted; /* by key */
	size_t dim;      /* 0 until known */
	sp_progress progress;
} search;

static int by_key(const void *a, const void *b)
{
	int64_t x = (*(wanted *const *)a)->key, y = (*(wanted *const *)b)->key;

	return (x > y) - (x < y);
}

static sp_status parse_keys(search *s, sp_error *err)
{
	sp_tool *tool = s->tool;

	tool->wrong_usage = true;
	if (tool->argument_count < 2)
		return sp_error_set(err, SP_INVALID, "get needs a table and at least one key");
	s->table = tool->arguments[0];
	s->count = tool->argument_count - 1;
	s->keys = sp_arena_zeros(tool->arena, s->count, sizeof(*s->keys));
	s->sorted = sp_arena_array(tool->arena, s->count, sizeof(*s->sorted));
	SP_NEED_MEMORY(s->keys != NULL && s->sorted != NULL, err, "%zu keys", s->count);
	for (size_t i = 0; i < s->count; i++) {
		const char *text = tool->arguments[i + 1];
		char *end;

		errno = 0;
		s->keys[i] = (wanted){.key = strtoll(text, &end, 10)};
		if (*text == '\0' || *end != '\0' || errno != 0)
			return sp_error_set(err, SP_INVALID, "'%s' is not a key", text);
		s->sorted[i] = &s->keys[i];
	}
	qsort(s->sorted, s->count, sizeof(*s->sorted), by_key);
	tool->wrong_usage = false;
	return SP_OK;
}

/* The first entry of s->sorted with that key; NULL if there is none. */
static wanted **find_wanted(const search *s, int64_t key)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->sorted[middle]->key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->count && s->sorted[low]->key == key ? &s->sorted[low] : NULL;
}

/* ----------------------------------------------------------------- checkpoints */

typedef struct part_search {
	search *s;
	const sp_bundle *bundle;
	const sp_catalogue_table *table;
	const sp_catalogue_part *part;
	sp_bundle_span freqs;
	bool has_freqs;
} part_search;

static sp_status take_row(part_search *p, wanted *w, const void *row, int64_t freq, sp_error *err)
{
	size_t size = p->s->dim * sizeof(float);

	if (w->row == NULL)
		w->row = sp_arena_alloc(p->s->tool->arena, size);
	SP_NEED_MEMORY(w->row, err, "a row");
	memcpy(w->row, row, size);
	w->part = p->part->name;
	w->in_delta = p->table->delta;
	w->freq = freq;
	return SP_OK;
}

/* How often training saw the key of row `at`; 0: not counted. */
static sp_status read_freq(const part_search *p, size_t at, int64_t *freq, sp_error *err)
{
	uint32_t unused = 0;

	*freq = 0;
	if (!p->has_freqs || at >= p->freqs.count)
		return SP_OK;
	return sp_bundle_span_read(&p->freqs, at, 1, freq, &unused, err);
}

/* A key may occur several times on the command line. */
#define FOR_EACH_WANTED(w, s, wanted_key)                 \
	for (wanted **w = find_wanted((s), (wanted_key)); \
	     w != NULL && w < (s)->sorted + (s)->count && (*w)->key == (wanted_key); w++)

static sp_status search_rows(part_search *p, sp_column *keys, sp_column *values, sp_error *err)
{
	for (size_t count; (count = sp_column_piece(values)) != 0;) {
		size_t first = keys->next;
		const void *piece;
		const char *rows;

		count = count < sp_column_piece(keys) ? count : sp_column_piece(keys);
		piece = sp_column_next(keys, count);
		rows = sp_column_next(values, count);
		for (size_t i = 0; i < count; i++) {
			int64_t key = sp_column_key(keys, piece, i), freq;

			FOR_EACH_WANTED(w, p->s, key)
			{
				SP_TRY(read_freq(p, first + i, &freq, err));
				SP_TRY(take_row(p, *w, rows + i * p->s->dim * sizeof(float), freq,
						err));
			}
		}
	}
	return SP_OK;
}

static sp_status search_ssd_piece(void *context, const sp_ssd_piece *piece, sp_error *err)
{
	part_search *p = context;

	for (size_t i = 0; i < piece->count; i++) {
		if (piece->keys[i] == -1)
			continue;
		FOR_EACH_WANTED(w, p->s, piece->keys[i])
		SP_TRY(take_row(p, *w, piece->rows + i * p->s->dim,
				piece->freqs != NULL ? piece->freqs[i] : 0, err));
	}
	return SP_OK;
}

static sp_status search_filtered(part_search *p, sp_error *err)
{
	sp_column keys = {0};
	sp_status status;

	if (p->part->filtered == NULL)
		return SP_OK;
	status = sp_column_open(&keys, p->bundle, p->part->filtered, 1, NULL, err);
	for (size_t count; status == SP_OK && (count = sp_column_piece(&keys)) != 0;) {
		const void *piece = sp_column_next(&keys, count);

		for (size_t i = 0; i < count; i++) {
			int64_t key = sp_column_key(&keys, piece, i);

			FOR_EACH_WANTED(w, p->s, key)
			(*w)->not_admitted = true;
		}
	}
	return sp_columns_close(&keys, 1, status, err);
}

static sp_status check_part(const part_search *p, sp_error *err)
{
	if (p->part->problem != NULL)
		return sp_error_set(err, SP_CORRUPT, "%s: %s", p->part->name, p->part->problem);
	if (p->part->values->shape.dims[1] != (int64_t)p->s->dim)
		return sp_error_set(err, SP_CORRUPT, "%s has rows of %lld elements, not %zu",
				    p->part->name, (long long)p->part->values->shape.dims[1],
				    p->s->dim);
	return SP_OK;
}

static sp_status search_part(part_search *p, sp_error *err)
{
	sp_progress *progress = &p->s->progress;
	sp_column columns[2] = {0};
	sp_status status;

	SP_TRY(check_part(p, err));
	p->has_freqs = p->part->freqs != NULL && p->part->freqs->dtype == SP_INT64;
	if (p->has_freqs)
		SP_TRY(sp_bundle_span_open(&p->freqs, p->bundle, p->part->freqs->name, err));
	/* SSD rows first: if a row is also in the tensors, that one is newer. */
	if (!p->table->delta)
		SP_TRY(sp_ssd_rows_each(p->bundle, p->part, p->s->dim, p->s->tool->arena,
					search_ssd_piece, p, err));
	status = sp_column_open(&columns[0], p->bundle, p->part->keys, 1, progress, err);
	if (status == SP_OK)
		status = sp_column_open(&columns[1], p->bundle, p->part->values, p->s->dim,
					progress, err);
	if (status == SP_OK)
		status = search_rows(p, &columns[0], &columns[1], err);
	SP_TRY(sp_columns_close(columns, 2, status, err));
	return search_filtered(p, err);
}

static sp_status search_bundle(search *s, const char *prefix, bool *found, sp_error *err)
{
	const sp_catalogue_table *table = NULL;
	sp_catalogue catalogue;
	sp_bundle *bundle;
	sp_status status;

	SP_TRY(sp_bundle_open(&bundle, prefix, err));
	status = sp_catalogue_make(&catalogue, bundle, s->tool->arena, err);
	if (status == SP_OK)
		table = sp_catalogue_find(&catalogue, s->table);
	if (table != NULL) {
		*found = true;
		s->dim = s->dim != 0 ? s->dim : table->dim;
		sp_progress_start(&s->progress, "searching", table->bytes);
	}
	for (size_t i = 0; table != NULL && i < table->part_count && status == SP_OK; i++) {
		part_search p = {
			.s = s, .bundle = bundle, .table = table, .part = &table->parts[i]};

		status = search_part(&p, err);
	}
	if (table != NULL)
		sp_progress_end(&s->progress);
	sp_bundle_close(bundle);
	return status;
}

/* ---------------------------------------------------------------------- images */

static sp_status search_image(search *s, sp_image *image, bool *found, sp_error *err)
{
	sp_status status = SP_OK;
	sp_rows *rows;
	size_t table;

	*found = sp_image_find(image, s->table, &table, NULL);
	if (!*found)
		return SP_OK;
	SP_TRY(sp_image_take_rows(&rows, image, table, err));
	s->dim = sp_rows_get_shape(rows)->dim;
	for (size_t i = 0; i < s->count && status == SP_OK; i++) {
		wanted *w = &s->keys[i];
		sp_stored_row stored;
		bool is_held;

		status = sp_image_find_row(&stored, &is_held, image, rows, w->key, err);
		if (status != SP_OK || !is_held)
			continue;
		w->row = sp_arena_array(s->tool->arena, s->dim, sizeof(float));
		if (w->row == NULL)
			status = sp_no_memory(err, "a row");
		else
			stored.codec->decode(s->dim, stored.data, w->row);
	}
	sp_rows_release(rows);
	return status;
}

static sp_status open_and_search_image(search *s, bool *found, sp_error *err)
{
	sp_image *image;
	sp_status status;

	SP_TRY(sp_image_examine(&image, s->tool->location.path, err));
	status = search_image(s, image, found, err);
	sp_image_release(image);
	return status;
}

/* --------------------------------------------------------------------- answers */

static void report_key(sp_report *report, const wanted *w, size_t dim)
{
	sp_report_open(report, NULL);
	sp_report_i64(report, "key", w->key);
	sp_report_bool(report, "found", w->row != NULL);
	if (w->row == NULL && w->not_admitted)
		sp_report_bool(report, "not_admitted", true);
	if (w->row != NULL) {
		if (w->part != NULL)
			sp_report_text(report, "part", sp_bytes_of(w->part));
		if (w->in_delta)
			sp_report_bool(report, "from_delta", true);
		if (w->freq > 0)
			sp_report_i64(report, "frequency", w->freq);
		sp_report_open_row(report, "row");
		for (size_t d = 0; d < dim; d++)
			sp_report_f32(report, NULL, w->row[d]);
		sp_report_close(report);
	}
	sp_report_close(report);
}

sp_status sp_tool_get(sp_tool *tool, sp_error *err)
{
	const sp_location *location = &tool->location;
	search s = {.tool = tool};
	bool found = false;

	SP_TRY(parse_keys(&s, err));
	if (location->kind == SP_LOCATION_IMAGE)
		SP_TRY(open_and_search_image(&s, &found, err));
	if (location->full_prefix != NULL)
		SP_TRY(search_bundle(&s, location->full_prefix, &found, err));
	if (location->delta_prefix != NULL)
		SP_TRY(search_bundle(&s, location->delta_prefix, &found, err));
	if (!found)
		return sp_error_set(err, SP_NOT_FOUND, "%s has no table '%s'", location->path,
				    s.table);
	sp_report_open(&tool->report, NULL);
	sp_report_text(&tool->report, "table", sp_bytes_of(s.table));
	sp_report_u64(&tool->report, "dim", s.dim);
	sp_report_open_list(&tool->report, "keys");
	for (size_t i = 0; i < s.count; i++)
		report_key(&tool->report, &s.keys[i], s.dim);
	sp_report_close(&tool->report);
	sp_report_close(&tool->report);
	return SP_OK;
}
