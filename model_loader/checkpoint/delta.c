#include "model_loader/checkpoint/delta.h"

#include <string.h>

#include "model_loader/checkpoint/part_name.h"
#include "model_loader/checkpoint/tensor_slice.h"

static const char keys_suffix[] = "-sparse_incr_keys";
static const char values_suffix[] = "-sparse_incr_values";

/* The rows [first, first + variable->shape.dims[0]) of a variable of `height` rows. */
typedef struct window {
	const char *name;
	sp_tensor *rows;
	int64_t first;
	int64_t height;
	size_t row_size; /* bytes */
} window;

/* Finds the rows of a slice, which must cover all columns. */
static sp_status find_window(window *w, const sp_bundle_entry *entry, sp_bytes text, sp_error *err)
{
	sp_tensor_slice slice;

	SP_TRY(sp_tensor_slice_parse(&slice, text, &entry->shape, err));
	for (int d = 1; d < slice.rank; d++)
		if (slice.length[d] != entry->shape.dims[d])
			return sp_error_set(err, SP_UNSUPPORTED,
					    "a delta has rows of '%s', of which slice '%.*s' wants "
					    "only some columns",
					    w->name, (int)text.size, text.data);
	w->first = slice.start[0];
	w->height = entry->shape.dims[0];
	return SP_OK;
}

static sp_status check_rows(const window *w, const char *part, const sp_tensor *keys,
			    const sp_tensor *values, sp_error *err)
{
	char have[SP_SHAPE_TEXT_SIZE], want[SP_SHAPE_TEXT_SIZE];
	sp_shape shape = w->rows->shape;

	if (keys->shape.rank != 1 || (keys->dtype != SP_INT32 && keys->dtype != SP_INT64))
		return sp_error_set(err, SP_CORRUPT, "'%s%s' is %s %s and no vector of row numbers",
				    part, keys_suffix, sp_dtype_name(keys->dtype),
				    sp_shape_text(&keys->shape, have));
	shape.dims[0] = keys->shape.dims[0];
	if (values->dtype != w->rows->dtype || !sp_shape_equal(&values->shape, &shape))
		return sp_error_set(err, SP_CORRUPT, "'%s%s' is %s %s, not %s %s", part,
				    values_suffix, sp_dtype_name(values->dtype),
				    sp_shape_text(&values->shape, have),
				    sp_dtype_name(w->rows->dtype), sp_shape_text(&shape, want));
	return SP_OK;
}

/*
 * Overwrites changed rows of `part`, which holds the rows [start, start + height) of the variable.
 */
static sp_status overwrite(const window *w, const sp_bundle *delta, const char *part, int64_t start,
			   int64_t height, sp_arena *arena, sp_error *err)
{
	const sp_bundle_entry *keys_entry = sp_bundle_find_joined(delta, part, keys_suffix);
	const sp_bundle_entry *values_entry = sp_bundle_find_joined(delta, part, values_suffix);
	sp_tensor keys, values;

	if (keys_entry == NULL || values_entry == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "bundle %s has no tensor %s%s",
				    sp_bundle_prefix(delta), part,
				    keys_entry == NULL ? keys_suffix : values_suffix);
	SP_TRY(sp_bundle_read(delta, keys_entry->name, arena, &keys, err));
	SP_TRY(sp_bundle_read(delta, values_entry->name, arena, &values, err));
	SP_TRY(check_rows(w, part, &keys, &values, err));
	for (size_t i = 0; i < keys.count; i++) {
		int64_t row = sp_tensor_index(&keys, i), at;

		if (row < 0 || row >= height)
			return sp_error_set(err, SP_CORRUPT, "'%s%s' has row %lld of %lld", part,
					    keys_suffix, (long long)row, (long long)height);
		at = start + row - w->first;
		if (at >= 0 && at < w->rows->shape.dims[0])
			memcpy((char *)w->rows->data + (size_t)at * w->row_size,
			       (const char *)values.data + i * w->row_size, w->row_size);
	}
	return SP_OK;
}

static sp_status overwrite_parts(const window *w, const sp_bundle *delta, const sp_part_name *name,
				 size_t parts, sp_arena *arena, sp_error *err)
{
	int64_t each = w->height / (int64_t)parts, more = w->height % (int64_t)parts, start = 0;

	for (size_t i = 0; i < parts; i++) {
		int64_t height = each + ((int64_t)i < more);
		const char *part = sp_part_name_join(name, i, arena);

		SP_NEED_MEMORY(part, err, "'%s'", w->name);
		SP_TRY(overwrite(w, delta, part, start, height, arena, err));
		start += height;
	}
	return SP_OK;
}

/* The changed rows of a variable in a delta. */
typedef struct changes {
	const char *name;
	size_t parts; /* numbered parts; 0: the variable is not partitioned */
	bool any;
} changes;

static sp_status find_changes(changes *out, const sp_bundle_entry *entry, const sp_bundle *delta,
			      sp_arena *arena, sp_error *err)
{
	sp_part_name split = {.head = entry->name, .tail = {"", 0}};
	const char *name = sp_arena_text(arena, entry->name);
	size_t row_parts;

	SP_NEED_MEMORY(name, err, "the name of a variable");
	out->name = name;
	SP_TRY(sp_part_name_count(&out->parts, &split, delta, keys_suffix, err));
	SP_TRY(sp_part_name_count(&row_parts, &split, delta, values_suffix, err));
	out->any = out->parts != 0 || sp_bundle_find_joined(delta, name, keys_suffix) != NULL;
	if (row_parts > out->parts ||
	    (!out->any && sp_bundle_find_joined(delta, name, values_suffix) != NULL))
		return sp_error_set(err, SP_CORRUPT, "%s has rows of '%s' without their numbers",
				    sp_bundle_prefix(delta), name);
	return SP_OK;
}

static sp_status overwrite_all(const sp_bundle_entry *entry, const sp_bundle *delta,
			       const changes *c, sp_bytes slice, sp_arena *arena, sp_tensor *rows,
			       sp_error *err)
{
	sp_part_name split = {.head = entry->name, .tail = {"", 0}};
	window w = {.name = c->name, .rows = rows};

	if (rows->count == 0)
		return SP_OK;
	if (rows->shape.rank == 0 || rows->dtype == SP_STRING)
		return sp_error_set(err, SP_CORRUPT,
				    "a delta has rows of '%s', which is %s of rank %d", c->name,
				    sp_dtype_name(rows->dtype), rows->shape.rank);
	w.row_size = (size_t)sp_shape_product(&rows->shape, 1, rows->shape.rank) *
		     sp_dtype_size(rows->dtype);
	SP_TRY(find_window(&w, entry, slice, err));
	if (c->parts != 0)
		return overwrite_parts(&w, delta, &split, c->parts, arena, err);
	return overwrite(&w, delta, c->name, 0, w.height, arena, err);
}

/* Reads a variable that is not whole in the delta, which may have rows of it. */
static sp_status read_changed(const sp_bundle *full, const sp_bundle *delta, sp_bytes name,
			      sp_bytes slice, const sp_tensor *known, sp_arena *scratch,
			      sp_arena *arena, sp_tensor *out, sp_error *err)
{
	const sp_bundle_entry *entry = sp_bundle_find(full, name);
	changes c = {.any = false};

	if (entry != NULL)
		SP_TRY(find_changes(&c, entry, delta, scratch, err));
	if (!c.any && known != NULL) {
		*out = *known;
		return SP_OK;
	}
	if (known != NULL)
		SP_TRY(sp_tensor_copy(out, arena, known, err));
	else
		SP_TRY(sp_bundle_read_slice(full, name, slice, arena, out, err));
	return c.any ? overwrite_all(entry, delta, &c, slice, scratch, out, err) : SP_OK;
}

sp_status sp_delta_read_slice(const sp_bundle *full, const sp_bundle *delta, sp_bytes name,
			      sp_bytes slice, const sp_tensor *known, sp_arena *arena,
			      sp_tensor *out, sp_error *err)
{
	sp_arena *scratch;
	sp_status status;

	if (delta == NULL)
		return sp_bundle_read_slice(full, name, slice, arena, out, err);
	if (sp_bundle_find(delta, name) != NULL)
		return sp_bundle_read_slice(delta, name, slice, arena, out, err);
	scratch = sp_arena_create(64 << 10);
	status = scratch != NULL
			 ? read_changed(full, delta, name, slice, known, scratch, arena, out, err)
			 : sp_no_memory(err, "a delta's rows");
	sp_arena_destroy(scratch);
	return status;
}
