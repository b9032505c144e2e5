#include "base/alloc.h"
#include "storage/image/image.h"
#include "storage/rows/rows.h"
#include "tools/image_check.h"
#include "tools/norms.h"
#include "tools/verify_internal.h"

/* Checks that a lookup finds every row, and that the directory has the right row count. */
static sp_status walk(sp_verification *v, const sp_rows *rows, const char *name, sp_error *err)
{
	const sp_rows_shape *shape = sp_rows_get_shape(rows);
	float *row = sp_alloc_zero(shape->dim, sizeof(*row));
	size_t count = 0, lost = 0, not_finite = 0;

	if (row == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a row");
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

		if (text == NULL)
			return sp_error_set(err, SP_NO_MEMORY, "no memory for a name");
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
	if (sp_tool_check_image(image, &why) != SP_OK)
		sp_verify_problem(v, path, "%s", why.text);
	else
		status = walk_all(v, image, err);
	sp_image_release(image);
	return status;
}
