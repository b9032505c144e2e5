#include <stdarg.h>
#include <stdio.h>

#include "tools/column.h"
#include "tools/verify_internal.h"

void sp_verify_problem(sp_verification *v, const char *where, const char *fmt, ...)
{
	char text[SP_ERROR_TEXT_SIZE];
	sp_report *report = &v->tool->report;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sp_progress_end(&v->progress);
	sp_report_open(report, NULL);
	sp_report_text(report, "where", sp_bytes_of(where));
	sp_report_text(report, "what", sp_bytes_of(text));
	sp_report_close(report);
	v->problems++;
	v->tool->broken = true;
}

/* -------------------------------------------------------------- single tensors */

static sp_status read_to_end(sp_verification *v, const sp_bundle_entry *entry, sp_error *err)
{
	sp_column column = {0};
	sp_status status = sp_column_open(&column, v->bundle, entry, 1, &v->progress, err);

	for (size_t count; status == SP_OK && (count = sp_column_piece(&column)) != 0;)
		(void)sp_column_next(&column, count);
	return sp_columns_close(&column, 1, status, err);
}

/* Strings and sliced tensors cannot be read in pieces. */
static sp_status read_at_once(sp_verification *v, const sp_bundle_entry *entry, sp_error *err)
{
	sp_arena *arena = sp_arena_create(64 << 10);
	sp_tensor tensor;
	sp_status status;

	if (arena == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to read a tensor");
	status = sp_bundle_read(v->bundle, entry->name, arena, &tensor, err);
	sp_arena_destroy(arena);
	sp_progress_add(&v->progress, entry->size);
	return status;
}

static bool is_keys_or_values(const sp_verification *v, const sp_bundle_entry *entry)
{
	for (size_t t = 0; t < v->catalogue->table_count; t++)
		for (size_t p = 0; p < v->catalogue->tables[t].part_count; p++) {
			const sp_catalogue_part *part = &v->catalogue->tables[t].parts[p];

			if (part->problem == NULL && (part->keys == entry || part->values == entry))
				return true;
		}
	return false;
}

static sp_status verify_tensor(sp_verification *v, const sp_bundle_entry *entry, sp_error *err)
{
	const char *name = sp_arena_text(v->tool->arena, entry->name);
	sp_error why;
	sp_status status;

	SP_NEED_MEMORY(name, err, "a name");
	if (entry->sliced || entry->dtype == SP_STRING)
		status = read_at_once(v, entry, &why);
	else
		status = read_to_end(v, entry, &why);
	if (status == SP_NO_MEMORY)
		return sp_error_set(err, status, "%s", why.text);
	if (status != SP_OK)
		sp_verify_problem(v, name, "%s", why.text);
	return SP_OK;
}

/* ------------------------------------------------------------------- checkpoint */

static uint64_t bytes_of(const sp_bundle *bundle)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < sp_bundle_count(bundle); i++)
		bytes += sp_bundle_entry_at(bundle, i)->size;
	return bytes;
}

static sp_status verify_content(sp_verification *v, sp_error *err)
{
	for (size_t i = 0; i < v->catalogue->table_count; i++)
		SP_TRY(sp_verify_table(v, &v->catalogue->tables[i], err));
	for (size_t i = 0; i < sp_bundle_count(v->bundle); i++) {
		const sp_bundle_entry *entry = sp_bundle_entry_at(v->bundle, i);

		if (entry->name.size != 0 && !is_keys_or_values(v, entry))
			SP_TRY(verify_tensor(v, entry, err));
	}
	return SP_OK;
}

/* bundle NULL: it could not be opened, which was reported. */
typedef struct opened {
	sp_bundle *bundle;
	sp_catalogue catalogue;
} opened;

/* Verifies v->bundle, which is a delta on `full` unless that is NULL. */
static sp_status verify_open(sp_verification *v, const opened *full, const char *model_dir,
			     sp_error *err)
{
	sp_status status;

	sp_progress_start(&v->progress, "verifying", bytes_of(v->bundle));
	status = verify_content(v, err);
	if (status == SP_OK)
		sp_verify_parts(v);
	if (status == SP_OK && full != NULL)
		sp_verify_against_full(v, &full->catalogue);
	if (status == SP_OK && model_dir != NULL)
		status = sp_verify_against_graph(v, full != NULL ? full->bundle : NULL, model_dir,
						 err);
	sp_progress_end(&v->progress);
	return status;
}

static sp_status open_bundle(sp_verification *v, opened *out, const char *prefix, sp_error *err)
{
	sp_error why;

	if (sp_bundle_open(&out->bundle, prefix, &why) != SP_OK) {
		out->bundle = NULL;
		sp_verify_problem(v, prefix, "%s", why.text);
		return SP_OK;
	}
	SP_TRY(sp_catalogue_make(&out->catalogue, out->bundle, v->tool->arena, err));
	v->bundle = out->bundle;
	v->catalogue = &out->catalogue;
	return SP_OK;
}

static sp_status verify_bundles(sp_verification *v, const char *model_dir, opened *full,
				opened *delta, sp_error *err)
{
	const sp_location *location = &v->tool->location;

	if (location->full_prefix != NULL) {
		SP_TRY(open_bundle(v, full, location->full_prefix, err));
		if (full->bundle != NULL)
			SP_TRY(verify_open(v, NULL, model_dir, err));
	}
	if (location->delta_prefix != NULL) {
		SP_TRY(open_bundle(v, delta, location->delta_prefix, err));
		/* Without its full checkpoint a delta cannot be compared with the graph. */
		if (delta->bundle != NULL)
			SP_TRY(full->bundle != NULL ? verify_open(v, full, model_dir, err)
						    : verify_open(v, NULL, NULL, err));
	}
	return SP_OK;
}

static sp_status verify(sp_verification *v, sp_error *err)
{
	const sp_location *location = &v->tool->location;
	bool own = location->kind == SP_LOCATION_SAVED_MODEL;
	opened full = {0}, delta = {0};
	sp_status status;

	if (location->kind == SP_LOCATION_IMAGE)
		return sp_verify_image(v, err);
	status = verify_bundles(v, own ? location->path : v->tool->model, &full, &delta, err);
	sp_bundle_close(full.bundle);
	sp_bundle_close(delta.bundle);
	return status;
}

sp_status sp_tool_verify(sp_tool *tool, sp_error *err)
{
	const sp_location *location = &tool->location;
	sp_verification v = {.tool = tool};
	sp_report *report = &tool->report;

	sp_report_open(report, NULL);
	sp_report_text(report, "path", sp_bytes_of(location->path));
	sp_report_text(report, "kind", sp_bytes_of(sp_location_kind_name(location->kind)));
	if (location->full_prefix != NULL)
		sp_report_text(report, "checkpoint", sp_bytes_of(location->full_prefix));
	if (location->delta_prefix != NULL)
		sp_report_text(report, "delta", sp_bytes_of(location->delta_prefix));
	sp_report_open_list(report, "problems");
	SP_TRY(verify(&v, err));
	sp_report_close(report);
	sp_report_bool(report, "ok", v.problems == 0);
	sp_report_close(report);
	return SP_OK;
}
