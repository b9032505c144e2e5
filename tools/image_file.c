#include <string.h>

#include "base/alloc.h"
#include "storage/image/image.h"
#include "storage/rows/rows.h"
#include "tools/norms.h"
#include "tools/verify_internal.h"

/* `inspect` and `verify` of an image. */

enum { CHUNKS_AT_A_TIME = 256 };

/*
 * Reads all of an image and compares it with its checksums, so that every row visited
 * afterwards is intact.  SP_CORRUPT or SP_IO otherwise.
 */
static sp_status check_all(sp_image *image, sp_error *err)
{
	size_t count = sp_image_chunk_count(image);
	sp_status status = SP_OK;
	sp_progress progress;

	sp_progress_start(&progress, "checking", sp_image_size(image));
	for (size_t i = 0; i < count && status == SP_OK; i += CHUNKS_AT_A_TIME) {
		size_t end = i + CHUNKS_AT_A_TIME < count ? i + CHUNKS_AT_A_TIME : count;

		status = sp_image_check(image, i, end, err);
		sp_progress_add(&progress, (end - i) * SP_IMAGE_CHUNK);
	}
	sp_progress_end(&progress);
	return status;
}

/* -------------------------------------------------------------------- inspect */

static sp_status report_norms(sp_report *report, const sp_rows *rows, sp_error *err)
{
	const sp_rows_shape *shape = sp_rows_get_shape(rows);
	float *row = sp_alloc_zero(shape->dim, sizeof(*row));
	sp_norms norms = {0};

	SP_NEED_MEMORY(row, err, "a row");
	for (size_t slot = 0; slot < shape->placement.slot_count; slot++) {
		sp_stored_row stored;
		int64_t key;

		if (!sp_rows_at(rows, slot, &key, &stored))
			continue;
		stored.codec->decode(shape->dim, stored.data, row);
		sp_norms_add(&norms, shape->dim, row);
	}
	sp_free(row);
	sp_norms_report(&norms, report);
	return SP_OK;
}

static void report_names(sp_report *report, const sp_image *image, size_t table)
{
	size_t of;

	sp_report_open_row(report, "names");
	for (size_t i = 0; i < sp_image_name_count(image); i++) {
		sp_bytes name = sp_image_name_at(image, i, &of);

		if (of == table)
			sp_report_text(report, NULL, name);
	}
	sp_report_close(report);
}

static sp_status report_table(sp_tool *tool, sp_image *image, size_t table, sp_error *err)
{
	const sp_rows_shape *shape;
	sp_status status = SP_OK;
	sp_rows *rows;

	SP_TRY(sp_image_take_rows(&rows, image, table, err));
	shape = sp_rows_get_shape(rows);
	sp_report_open(&tool->report, NULL);
	report_names(&tool->report, image, table);
	sp_report_u64(&tool->report, "dim", shape->dim);
	sp_report_u64(&tool->report, "rows", shape->row_count);
	sp_report_text(&tool->report, "row_format", sp_bytes_of(sp_row_format_name(shape->format)));
	sp_report_size(&tool->report, "bytes",
		       sp_rows_slots_size(shape) +
			       shape->placement.part_count * shape->placement.part_buckets);
	if (!tool->quick)
		status = report_norms(&tool->report, rows, err);
	sp_report_close(&tool->report);
	sp_rows_release(rows);
	return status;
}

/* The identity is text with one fact per line. */
static void report_identity(sp_report *report, sp_bytes identity)
{
	sp_report_open_list(report, "identity");
	for (size_t at = 0, size; at < identity.size; at += size + 1) {
		const char *line = identity.data + at;
		const char *end = memchr(line, '\n', identity.size - at);

		size = end != NULL ? (size_t)(end - line) : identity.size - at;
		sp_report_text(report, NULL, (sp_bytes){line, size});
	}
	sp_report_close(report);
}

static sp_status report_image(sp_tool *tool, sp_image *image, sp_error *err)
{
	sp_report *report = &tool->report;

	if (!tool->quick)
		SP_TRY(check_all(image, err));
	sp_report_open(report, NULL);
	sp_report_text(report, "path", sp_bytes_of(tool->location.path));
	sp_report_text(report, "kind", sp_bytes_of(sp_location_kind_name(SP_LOCATION_IMAGE)));
	report_identity(report, sp_image_identity(image));
	sp_report_size(report, "bytes", sp_image_size(image));
	sp_report_open_list(report, "tables");
	for (size_t i = 0; i < sp_image_table_count(image); i++)
		SP_TRY(report_table(tool, image, i, err));
	sp_report_close(report);
	sp_report_close(report);
	return SP_OK;
}

sp_status sp_tool_inspect_image(sp_tool *tool, sp_error *err)
{
	sp_image *image;
	sp_status status;

	SP_TRY(sp_image_examine(&image, tool->location.path, err));
	status = report_image(tool, image, err);
	sp_image_release(image);
	return status;
}

/* --------------------------------------------------------------------- verify */

/* Checks that a lookup finds every row, and that the directory has the right row count. */
static sp_status walk(sp_verification *v, const sp_rows *rows, const char *name, sp_error *err)
{
	const sp_rows_shape *shape = sp_rows_get_shape(rows);
	float *row = sp_alloc_zero(shape->dim, sizeof(*row));
	size_t count = 0, lost = 0, not_finite = 0;

	SP_NEED_MEMORY(row, err, "a row");
	for (size_t slot = 0; slot < shape->placement.slot_count; slot++) {
		sp_stored_row here, found;
		int64_t key;

		if (!sp_rows_at(rows, slot, &key, &here))
			continue;
		count++;
		lost += !sp_rows_find(rows, key, &found) || found.data != here.data;
		here.codec->decode(shape->dim, here.data, row);
		not_finite += !sp_row_is_finite(shape->dim, row);
	}
	sp_free(row);
	if (count != shape->row_count)
		sp_verify_problem(v, name, "it has %zu rows, not %zu", count, shape->row_count);
	if (lost != 0)
		sp_verify_problem(v, name, "a lookup does not find %zu keys", lost);
	if (not_finite != 0)
		sp_verify_problem(v, name, "%zu rows have NaN or infinity", not_finite);
	return SP_OK;
}

static sp_status walk_all(sp_verification *v, sp_image *image, sp_error *err)
{
	for (size_t i = 0; i < sp_image_name_count(image); i++) {
		size_t table;
		sp_bytes name = sp_image_name_at(image, i, &table);
		const char *text = sp_arena_text(v->tool->arena, name);
		sp_status status;
		sp_rows *rows;

		SP_NEED_MEMORY(text, err, "a name");
		SP_TRY(sp_image_take_rows(&rows, image, table, err));
		status = walk(v, rows, text, err);
		sp_rows_release(rows);
		SP_TRY(status);
	}
	return SP_OK;
}

sp_status sp_verify_image(sp_verification *v, sp_error *err)
{
	const char *path = v->tool->location.path;
	sp_status status;
	sp_image *image;
	sp_error why;

	status = sp_image_examine(&image, path, &why);
	if (status != SP_OK) {
		sp_verify_problem(v, path, "%s", why.text);
		return SP_OK;
	}
	if (check_all(image, &why) != SP_OK)
		sp_verify_problem(v, path, "%s", why.text);
	else
		status = walk_all(v, image, err);
	sp_image_release(image);
	return status;
}
