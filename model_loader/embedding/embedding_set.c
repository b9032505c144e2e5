#include "model_loader/embedding/embedding_set_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "model_loader/checkpoint/part_name.h"
#include "model_loader/embedding/embedding_column.h"

void sp_embedding_set__drop_columns(sp_embedding_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		for (int c = 0; c < SP_TABLE_COLUMNS; c++) {
			sp_key_column_release(set->notes[i].columns[c]);
			set->notes[i].columns[c] = NULL;
		}
}

void sp_embedding_set_fini(sp_embedding_set *set)
{
	sp_embedding_set__drop_columns(set);
	for (size_t i = 0; i < set->count; i++) {
		sp_free((void *)set->notes[i].spec.default_rows);
		sp_key_column_release(set->notes[i].row_versions);
	}
	for (size_t i = 0; i < set->table_count; i++)
		sp_table_destroy(set->tables[i]);
	sp_free(set->notes);
	sp_free(set->tables);
	sp_embedding_image_close(&set->image);
	*set = (sp_embedding_set){0};
}

sp_embedding_note *sp_embedding_set__find_note(const sp_embedding_set *set,
					       const sp_resource *resource)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].resource == resource)
			return &set->notes[i];
	return NULL;
}

sp_status sp_embedding_set__reserve_tables(sp_embedding_set *set, size_t more, sp_error *err)
{
	sp_table **tables = sp_alloc_resize(set->tables, set->table_count + more + 1,
					    sizeof(*tables));

	SP_NEED_MEMORY(tables, err, "%zu embeddings", more);
	set->tables = tables;
	return SP_OK;
}

/* Finds the note about `resource`, or makes one. */
static sp_status need_note(sp_embedding_note **out, sp_embedding_set *set, sp_resource *resource,
			   sp_error *err)
{
	sp_embedding_note *note = *out = sp_embedding_set__find_note(set, resource);
	size_t capacity = set->capacity != 0 ? 2 * set->capacity : 16;

	if (note != NULL)
		return SP_OK;
	if (set->count == set->capacity) {
		note = sp_alloc_resize(set->notes, capacity, sizeof(*note));
		SP_NEED_MEMORY(note, err, "embedding '%s'", resource->name);
		set->notes = note;
		set->capacity = capacity;
	}
	note = *out = &set->notes[set->count++];
	*note = (sp_embedding_note){.resource = resource,
				    .spec = {.name = resource->name,
					     .key_dtype = resource->key_dtype,
					     .dtype = resource->dtype,
					     .dim = sp_resource_row_width(resource),
					     .partition_num = 1}};
	return SP_OK;
}

/* Keeps the fault in *out until the embedding is needed; lack of memory fails now. */
static sp_status keep_fault(const sp_error **out, const sp_error *why, sp_arena *arena,
			    sp_error *err)
{
	sp_error *kept = sp_arena_alloc(arena, sizeof(*kept));

	if (kept == NULL || why->status == SP_NO_MEMORY)
		return sp_no_memory(err, "an embedding");
	*kept = *why;
	*out = kept;
	return SP_OK;
}

static sp_table_filter filter_of(const sp_embedding_options *options)
{
	if (options->filter_freq <= 0)
		return SP_TABLE_FILTER_NONE;
	if (options->max_element_size != 0 && options->false_positive_probability != -1.0f)
		return SP_TABLE_FILTER_CBF;
	return SP_TABLE_FILTER_COUNTER;
}

static sp_status copy_defaults(sp_embedding_spec *spec, const sp_embedding_options *options,
			       sp_error *err)
{
	const sp_tensor *rows = options->default_rows;
	size_t count = 0;
	float *copy;

	if (rows->dtype != SP_FLOAT)
		return sp_error_set(err, SP_UNSUPPORTED, "embedding '%s' with default rows of %s",
				    spec->name, sp_dtype_name(rows->dtype));
	if (options->default_value_dim < 1 ||
	    !sp_size_mul(&count, (size_t)options->default_value_dim, spec->dim) ||
	    count != rows->count)
		return sp_error_set(err, SP_INVALID,
				    "embedding '%s' has %zu default elements for %lld rows of %zu",
				    spec->name, rows->count, (long long)options->default_value_dim,
				    spec->dim);
	copy = sp_alloc(count * sizeof(float));
	SP_NEED_MEMORY(copy, err, "the default rows of embedding '%s'", spec->name);
	memcpy(copy, rows->data, count * sizeof(float));
	spec->default_rows = copy;
	spec->default_row_count = (size_t)options->default_value_dim;
	return SP_OK;
}

sp_status sp_embedding_set_declare(sp_embedding_set *set, sp_resource *resource,
				   const sp_embedding_options *options, sp_error *err)
{
	sp_embedding_note *note;
	sp_error why;

	SP_TRY(need_note(&note, set, resource, err));
	sp_free((void *)note->spec.default_rows);
	note->spec.default_rows = NULL;
	note->spec.default_row_count = 0;
	note->bad_defaults = NULL;
	note->spec.filter = filter_of(options);
	note->spec.filter_freq = options->filter_freq > 0 ? options->filter_freq : 0;
	note->spec.default_value_no_permission = options->default_value_no_permission;
	note->created = true;
	/* With a filter no absent key is answered by a default row. */
	if (note->spec.filter == SP_TABLE_FILTER_NONE &&
	    copy_defaults(&note->spec, options, &why) != SP_OK)
		return keep_fault(&note->bad_defaults, &why, set->arena, err);
	return SP_OK;
}

sp_status sp_embedding_set_import(sp_embedding_set *set, sp_resource *resource,
				  const sp_embedding_import *import, sp_error *err)
{
	sp_embedding_note *note;
	sp_part_name split;
	uint64_t parts;

	SP_TRY(need_note(&note, set, resource, err));
	note->spec.name = sp_arena_text(set->arena, import->name);
	SP_NEED_MEMORY(note->spec.name, err, "the name of an embedding");
	split = sp_part_name_split(note->spec.name);
	note->base = sp_part_name_base(&split, set->arena);
	SP_NEED_MEMORY(note->base, err, "the name of an embedding");
	note->spec.partition_id = import->partition_id;
	note->spec.partition_num = import->partition_num;
	note->spec.reset_versions = import->reset_versions;
	note->spec.by_key = set->by_key != NULL &&
			    sp_map_get(set->by_key, sp_bytes_of(resource->name), &parts) &&
			    parts == (uint64_t)import->partition_num &&
			    split.number == (uint64_t)import->partition_id;
	note->origin = SP_EMBEDDING_IN_CHECKPOINT;
	note->bad_rows = NULL;
	return SP_OK;
}

static sp_status check_rows(const sp_embedding_set *set, const sp_embedding_note *note,
			    const sp_tensor *keys, const sp_tensor *values, sp_error *err)
{
	const sp_resource *resource = note->resource;
	char shape[SP_SHAPE_TEXT_SIZE];

	if (set->delta != NULL)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "embedding '%s' is given its rows by the graph, which knows "
				    "nothing of a delta",
				    resource->name);
	if (keys->dtype != resource->key_dtype || keys->shape.rank != 1)
		return sp_error_set(err, SP_INVALID, "embedding '%s' is given %s %s for keys of %s",
				    resource->name, sp_dtype_name(keys->dtype),
				    sp_shape_text(&keys->shape, shape),
				    sp_dtype_name(resource->key_dtype));
	if (values->dtype != SP_FLOAT || values->shape.rank != 2 ||
	    values->shape.dims[0] != keys->shape.dims[0] ||
	    values->shape.dims[1] != (int64_t)note->spec.dim)
		return sp_error_set(err, SP_INVALID,
				    "embedding '%s' of width %zu is given %s %s for %zu keys",
				    resource->name, note->spec.dim, sp_dtype_name(values->dtype),
				    sp_shape_text(&values->shape, shape), keys->count);
	return SP_OK;
}

sp_status sp_embedding_set_import_rows(sp_embedding_set *set, sp_resource *resource,
				       const sp_tensor *keys, const sp_tensor *values,
				       const sp_tensor *versions, sp_error *err)
{
	sp_embedding_note *note;
	sp_error why;

	SP_TRY(need_note(&note, set, resource, err));
	note->origin = SP_EMBEDDING_IN_TENSORS;
	note->bad_rows = NULL;
	if (check_rows(set, note, keys, values, &why) != SP_OK)
		return keep_fault(&note->bad_rows, &why, set->arena, err);
	SP_TRY(sp_tensor_copy(&note->keys, set->arena, keys, err));
	SP_TRY(sp_tensor_copy(&note->values, set->arena, values, err));
	return sp_tensor_copy(&note->versions, set->arena, versions, err);
}

bool sp_embedding_set__are_siblings(const sp_embedding_note *a, const sp_embedding_note *b)
{
	return a != b && a->origin == SP_EMBEDDING_IN_CHECKPOINT && a->created &&
	       b->origin == SP_EMBEDDING_IN_CHECKPOINT && b->created &&
	       strcmp(a->base, b->base) == 0;
}

bool sp_embedding_set__answer_alike(const sp_embedding_spec *a, const sp_embedding_spec *b)
{
	return a->key_dtype == b->key_dtype && a->dtype == b->dtype && a->dim == b->dim &&
	       a->partition_num == b->partition_num && a->filter == b->filter &&
	       a->filter_freq == b->filter_freq &&
	       memcmp(&a->default_value_no_permission, &b->default_value_no_permission,
		      sizeof(float)) == 0 &&
	       a->default_row_count == b->default_row_count &&
	       (a->default_row_count == 0 ||
		memcmp(a->default_rows, b->default_rows,
		       a->default_row_count * a->dim * sizeof(float)) == 0);
}

static bool imports(const sp_embedding_set *set, sp_bytes base)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].base != NULL && sp_bytes_equal_text(base, set->notes[i].base))
			return true;
	return false;
}

static sp_status check_names(const sp_embedding_set *set, const char *at, sp_error *err)
{
	while (at != NULL) {
		const char *end = strchr(at, ';');
		sp_bytes name = {at, end != NULL ? (size_t)(end - at) : strlen(at)};

		if (name.size != 0 && !sp_bytes_equal_text(name, "*") && !imports(set, name))
			return sp_error_set(
				err, SP_INVALID,
				"embedding '%.*s' of embedding_names is not in the model",
				(int)name.size, name.data);
		at = end != NULL ? end + 1 : NULL;
	}
	return SP_OK;
}

sp_status sp_embedding_set_check_policy(const sp_embedding_set *set, sp_error *err)
{
	if (set->policy == NULL)
		return SP_OK;
	SP_TRY(check_names(set, set->policy->sharded_names, err));
	return check_names(set, set->policy->peers_names, err);
}

bool sp_embedding_set__wants_column(const sp_embedding_set *set, const sp_embedding_note *note,
				    sp_table_column which)
{
	for (size_t i = 0; i < set->count; i++) {
		const sp_embedding_note *other = &set->notes[i];
		bool shares = other == note || (note->base != NULL && other->base != NULL &&
						strcmp(note->base, other->base) == 0);

		if (shares && (other->resource->columns & 1u << which) != 0)
			return true;
	}
	return false;
}

sp_status sp_embedding_set__check_note(const sp_embedding_note *note, const sp_resource *resource,
				       sp_error *err)
{
	const sp_error *bad;

	if (note == NULL || note->origin == SP_EMBEDDING_UNKNOWN)
		return sp_error_set(err, SP_INVALID,
				    "no operation of the model loads embedding '%s'",
				    resource->name);
	if (!note->created)
		return sp_error_set(err, SP_INVALID,
				    "embedding '%s' is loaded, but no operation of the model says "
				    "what its absent keys answer",
				    resource->name);
	if (note->spec.dim == 0)
		return sp_error_set(err, SP_INVALID,
				    "embedding '%s' does not say how wide its rows are",
				    resource->name);
	bad = note->bad_rows != NULL ? note->bad_rows : note->bad_defaults;
	return bad != NULL ? sp_error_set(err, bad->status, "%s", bad->text) : SP_OK;
}

sp_status sp_embedding_set__find(sp_embedding *out, const sp_embedding_set *set,
				 const sp_embedding_spec *spec, const sp_bundle *delta,
				 sp_error *err)
{
	sp_error why;
	sp_status status = sp_embedding_find(out, spec, set->full, delta, set->arena, &why);

	if (status == SP_OK)
		return SP_OK;
	/*
	 * Not SP_NOT_FOUND, which means missing files: all files are there, and waiting does not
	 * help.
	 */
	return sp_error_set(err, status == SP_NOT_FOUND ? SP_INVALID : status, "%s", why.text);
}

sp_status sp_embedding_set_expect(sp_embedding_set *set, const sp_resource *resource,
				  const char **variable, size_t *bytes, sp_error *err)
{
	const sp_embedding_note *note = sp_embedding_set__find_note(set, resource);
	sp_embedding_spec spec;
	sp_embedding found;
	size_t more;

	SP_TRY(sp_embedding_set__check_note(note, resource, err));
	*variable = note->base != NULL ? note->base : note->spec.name;
	*bytes = 0; /* rows that the graph gives are in memory already */
	if (note->origin == SP_EMBEDDING_IN_TENSORS)
		return SP_OK;
	spec = note->spec;
	spec.routing = SP_ROUTED; /* irrelevant here, and avoids reading every key */
	SP_TRY(sp_embedding_set__find(&found, set, &spec, NULL, err));
	*bytes = sp_embedding_expected_size(&found, &spec, set->policy);
	for (int c = 0; c < SP_TABLE_COLUMNS; c++) {
		if (!sp_embedding_set__wants_column(set, note, (sp_table_column)c))
			continue;
		SP_TRY(sp_embedding_expect_column(&more, &found, &spec, err));
		if (!sp_size_add(bytes, *bytes, more))
			*bytes = SIZE_MAX;
	}
	return SP_OK;
}

void sp_embedding_set_take_tables(sp_embedding_set *set, sp_table ***out, size_t *count)
{
	*out = set->tables;
	*count = set->table_count;
	set->tables = NULL;
	set->table_count = 0;
}

size_t sp_embedding_set_footprint(const sp_embedding_set *set)
{
	size_t bytes = 0;

	for (size_t i = 0; i < set->count; i++)
		bytes += sp_key_column_footprint(set->notes[i].row_versions);
	return bytes;
}
