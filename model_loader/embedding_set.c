#include "model_loader/embedding_set.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/size.h"
#include "model_loader/embedding_column.h"
#include "model_loader/embedding_size.h"
#include "model_loader/part_name.h"
#include "storage/table_builder.h"

/* Tables have references of their own. */
static void drop_columns(sp_embedding_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		for (int c = 0; c < SP_TABLE_COLUMNS; c++) {
			sp_key_column_release(set->notes[i].columns[c]);
			set->notes[i].columns[c] = NULL;
		}
}

void sp_embedding_set_fini(sp_embedding_set *set)
{
	drop_columns(set);
	for (size_t i = 0; i < set->count; i++) {
		sp_free((void *)set->notes[i].spec.default_rows);
		sp_row_versions_destroy(set->notes[i].row_versions);
	}
	for (size_t i = 0; i < set->table_count; i++)
		sp_table_destroy(set->tables[i]);
	sp_free(set->notes);
	sp_free(set->tables);
	sp_embedding_image_close(&set->image);
	*set = (sp_embedding_set){0};
}

static sp_embedding_note *find_note(const sp_embedding_set *set, const sp_resource *resource)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].resource == resource)
			return &set->notes[i];
	return NULL;
}

/* One more item behind `*items`; false when out of memory. */
static bool reserve(void **items, size_t count, size_t *capacity, size_t size)
{
	size_t larger = *capacity != 0 ? 2 * *capacity : 16;
	void *more;

	if (count < *capacity)
		return true;
	more = sp_alloc_resize(*items, larger, size);
	if (more == NULL)
		return false;
	*items = more;
	*capacity = larger;
	return true;
}

/* The note about `resource`, made when there is none. */
static sp_status need_note(sp_embedding_note **out, sp_embedding_set *set, sp_resource *resource,
			   sp_error *err)
{
	sp_embedding_note *note = *out = find_note(set, resource);
	void *notes = set->notes;

	if (note != NULL)
		return SP_OK;
	if (resource->shape.rank != 1 || resource->shape.dims[0] < 1)
		return sp_error_set(err, SP_INVALID,
				    "embedding '%s' does not say how wide its rows are",
				    resource->name);
	if (!reserve(&notes, set->count, &set->capacity, sizeof(*note)))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for embedding '%s'",
				    resource->name);
	set->notes = notes;
	note = *out = &set->notes[set->count++];
	*note = (sp_embedding_note){.resource = resource,
				    .spec = {.name = resource->name,
					     .key_dtype = resource->key_dtype,
					     .dtype = resource->dtype,
					     .dim = (size_t)resource->shape.dims[0],
					     .partition_num = 1}};
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
	if (copy == NULL)
		return sp_error_set(err, SP_NO_MEMORY,
				    "no memory for the default rows of embedding '%s'", spec->name);
	memcpy(copy, rows->data, count * sizeof(float));
	spec->default_rows = copy;
	spec->default_row_count = (size_t)options->default_value_dim;
	return SP_OK;
}

sp_status sp_embedding_set_declare(sp_embedding_set *set, sp_resource *resource,
				   const sp_embedding_options *options, sp_error *err)
{
	sp_embedding_note *note;

	SP_TRY(need_note(&note, set, resource, err));
	sp_free((void *)note->spec.default_rows);
	note->spec.default_rows = NULL;
	note->spec.default_row_count = 0;
	note->spec.filter = filter_of(options);
	note->spec.filter_freq = options->filter_freq > 0 ? options->filter_freq : 0;
	note->spec.default_value_no_permission = options->default_value_no_permission;
	/* With a filter no key ever answers a default row. */
	if (note->spec.filter == SP_TABLE_FILTER_NONE)
		SP_TRY(copy_defaults(&note->spec, options, err));
	note->created = true;
	return SP_OK;
}

sp_status sp_embedding_set_import(sp_embedding_set *set, sp_resource *resource,
				  const sp_embedding_import *import, sp_error *err)
{
	sp_embedding_note *note;
	sp_part_name split;

	SP_TRY(need_note(&note, set, resource, err));
	note->spec.name = sp_arena_text(set->arena, import->name);
	if (note->spec.name == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the name of an embedding");
	split = sp_part_name_split(note->spec.name);
	note->base = sp_part_name_base(&split, set->arena);
	if (note->base == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the name of an embedding");
	note->spec.partition_id = import->partition_id;
	note->spec.partition_num = import->partition_num;
	note->spec.reset_versions = import->reset_versions;
	note->origin = SP_EMBEDDING_IN_CHECKPOINT;
	return SP_OK;
}

sp_status sp_embedding_set_import_rows(sp_embedding_set *set, sp_resource *resource,
				       const sp_tensor *keys, const sp_tensor *values,
				       const sp_tensor *versions, sp_error *err)
{
	char shape[SP_SHAPE_TEXT_SIZE];
	sp_embedding_note *note;

	SP_TRY(need_note(&note, set, resource, err));
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
	SP_TRY(sp_tensor_copy(&note->keys, set->arena, keys, err));
	SP_TRY(sp_tensor_copy(&note->values, set->arena, values, err));
	SP_TRY(sp_tensor_copy(&note->versions, set->arena, versions, err));
	note->origin = SP_EMBEDDING_IN_HAND;
	return SP_OK;
}

static sp_status load_in_hand(sp_table **out, const sp_embedding_set *set,
			      const sp_embedding_note *note, sp_error *err)
{
	bool zeros = set->policy != NULL && set->policy->unseen_zeros;
	const sp_embedding_spec *spec = &note->spec;
	sp_table_options options = {
		.name = spec->name,
		.dim = spec->dim,
		.filter = spec->filter,
		.default_value_no_permission = spec->default_value_no_permission,
		.default_rows = zeros ? NULL : spec->default_rows,
		.default_row_count = spec->default_row_count};
	int64_t *keys = sp_alloc_zero(note->keys.count + 1, sizeof(*keys));
	sp_status status;

	if (keys == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for embedding '%s'", spec->name);
	for (size_t i = 0; i < note->keys.count; i++)
		keys[i] = sp_tensor_index(&note->keys, i);
	status = sp_table_from_rows(out, &options, keys, note->values.data, note->keys.count, err);
	sp_free(keys);
	return status;
}

/* -------------------------------------------------------------------- columns */

/* Whether the model asks for it, of this handle or of one that may share its table. */
static bool wants_column(const sp_embedding_set *set, const sp_embedding_note *note,
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

/* What is read while the rows are not there yet takes no memory on top of them. */
static sp_status read_columns(const sp_embedding_set *set, sp_embedding_note *note, sp_error *err)
{
	for (int c = 0; c < SP_TABLE_COLUMNS; c++) {
		if (note->columns[c] != NULL || !wants_column(set, note, (sp_table_column)c))
			continue;
		if (note->origin == SP_EMBEDDING_IN_HAND)
			SP_TRY(sp_embedding_make_column(&note->columns[c], (sp_table_column)c,
							&note->keys, &note->versions, err));
		else
			SP_TRY(sp_embedding_load_column(&note->columns[c], (sp_table_column)c,
							&note->found, &note->spec, note->own_part,
							set->policy, err));
	}
	return SP_OK;
}

static void give_columns(sp_table *table, const sp_embedding_note *note)
{
	for (int c = 0; c < SP_TABLE_COLUMNS; c++)
		sp_table_set_column(table, (sp_table_column)c, note->columns[c]);
}

/* The delta's over those of the table below; once its rows are in `table`. */
static sp_status lay_columns(sp_table *table, const sp_embedding_set *set,
			     const sp_embedding_note *note, bool own_part, sp_error *err)
{
	sp_key_column *column;

	for (int c = 0; c < SP_TABLE_COLUMNS; c++) {
		if (!sp_table_has_column(table, (sp_table_column)c) ||
		    note->found.delta.part_count == 0)
			continue;
		SP_TRY(sp_embedding_load_delta_column(&column, (sp_table_column)c, &note->found,
						      &note->spec, own_part, set->policy, table,
						      err));
		sp_table_set_column(table, (sp_table_column)c, column);
		sp_key_column_release(column);
	}
	return SP_OK;
}

/* --------------------------------------------------------------------- tables */

static bool is_sibling(const sp_embedding_note *a, const sp_embedding_note *b)
{
	return a != b && a->origin == SP_EMBEDDING_IN_CHECKPOINT && a->created &&
	       b->origin == SP_EMBEDDING_IN_CHECKPOINT && b->created &&
	       strcmp(a->base, b->base) == 0;
}

/* Whether tables made by either would hold the same and answer the same. */
static bool answers_alike(const sp_embedding_spec *a, const sp_embedding_spec *b)
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

/* Everything but the checkpoint that decides which rows the note's table holds, and how. */
static void describe(sp_buffer *text, const sp_embedding_set *set, const sp_embedding_note *note)
{
	const sp_embedding_spec *spec = &note->spec;
	const sp_load_policy *policy = set->policy;
	bool alike = true;

	for (size_t i = 0; i < set->count; i++)
		if (is_sibling(note, &set->notes[i]))
			alike = alike && answers_alike(spec, &set->notes[i].spec);
	sp_buffer_printf(text, "table %s %s %s dim %zu part %lld of %lld filter %d %lld alike %d",
			 spec->name, sp_dtype_name(spec->key_dtype), sp_dtype_name(spec->dtype),
			 spec->dim, (long long)spec->partition_id, (long long)spec->partition_num,
			 (int)spec->filter, (long long)spec->filter_freq, alike);
	sp_buffer_printf(
		text, " format %lld threshold %lld",
		(long long)sp_name_rules_find(&policy->row_formats, note->base, SP_ROW_FP32),
		(long long)sp_name_rules_find(&policy->frequency_thresholds, note->base, 0));
	if (policy->only_finite) /* rows of an image are not looked at again */
		sp_buffer_append_text(text, " finite");
	if (sp_load_policy_shards(policy, note->base))
		sp_buffer_printf(text, " slice %lld of %lld", (long long)policy->slice,
				 (long long)policy->slice_count);
	if (policy->ssd != NULL) /* what is larger is not in the image */
		sp_buffer_printf(text, " memory %zu", sp_ssd_store_cache_bytes(policy->ssd));
	sp_buffer_append_char(text, '\n');
}

static void open_image(sp_embedding_set *set)
{
	sp_buffer settings;

	if (set->image_opened || set->policy == NULL || set->policy->image_folder == NULL ||
	    set->model_dir == NULL)
		return;
	set->image_opened = true;
	sp_buffer_init(&settings, (size_t)1 << 30);
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].origin == SP_EMBEDDING_IN_CHECKPOINT && set->notes[i].created)
			describe(&settings, set, &set->notes[i]);
	if (!settings.failed)
		sp_embedding_image_open(&set->image, set->policy, set->model_dir, set->full,
					(sp_bytes){settings.data, settings.size});
	sp_buffer_fini(&settings);
}

/* What the image knows spares a look at every key. */
static sp_routing known_routing(const sp_embedding_set *set, const sp_embedding_note *note)
{
	bool routed;

	if (!sp_embedding_image_knows(&set->image, note->base, &routed) &&
	    !sp_embedding_image_knows(&set->image, note->spec.name, &routed))
		return SP_ROUTING_UNKNOWN;
	return routed ? SP_ROUTED : SP_NOT_ROUTED;
}

/* For the deltas to come; once, when tables are taken from an image later. */
static sp_status load_versions(const sp_embedding_set *set, sp_embedding_note *note, sp_error *err)
{
	if (set->policy == NULL || set->policy->old_key != SP_OLD_KEY_REPLACE_IF_NEWER)
		return SP_OK;
	if (note->row_versions == NULL)
		SP_TRY(sp_embedding_load_versions(&note->row_versions, &note->found, &note->spec,
						  note->own_part, set->policy, err));
	note->found.versions = note->row_versions;
	return SP_OK;
}

/* Rows, and what is asked for beside them. */
static sp_status load_full(sp_table **out, const sp_embedding_set *set, sp_embedding_note *note,
			   sp_error *err)
{
	sp_status status;

	SP_TRY(load_versions(set, note, err));
	SP_TRY(read_columns(set, note, err));
	SP_TRY(sp_embedding_load(out, &note->found, &note->spec, note->own_part, set->policy, err));
	give_columns(*out, note);
	status = lay_columns(*out, set, note, note->own_part, err);
	if (status != SP_OK)
		sp_table_destroy(*out);
	return status;
}

static sp_status load_from_checkpoint(sp_table **out, sp_embedding_set *set,
				      sp_embedding_note *note, sp_error *err)
{
	bool alone = false;

	open_image(set);
	note->spec.routing = known_routing(set, note);
	SP_TRY(sp_embedding_find(&note->found, &note->spec, set->full, set->delta, set->arena,
				 err));
	for (size_t i = 0; note->found.whole && i < set->count; i++) {
		const sp_embedding_note *other = &set->notes[i];

		if (!is_sibling(note, other))
			continue;
		if (!answers_alike(&note->spec, &other->spec))
			alone = true;
		else if (other->has_whole) {
			note->resource->table = other->resource->table;
			note->found.versions = other->found.versions;
		}
	}
	if (note->resource->table != NULL) {
		note->has_whole = true;
		return SP_OK;
	}
	note->has_whole = note->found.whole && !alone;
	note->own_part = alone;
	note->found.image = set->image_opened ? &set->image : NULL;
	return load_full(out, set, note, err);
}

/* The table of the full checkpoint; a resource has the same number in all versions. */
static const sp_table *base_table(const sp_embedding_set *set, const sp_embedding_note *note)
{
	size_t number = (size_t)(note->resource - set->resources->items);

	return number < set->base_resources->count ? set->base_resources->items[number].table
						   : NULL;
}

/* Handles that share a table of the full checkpoint share the one with the delta over it. */
static sp_status load_over_base(sp_table **out, sp_embedding_set *set, sp_embedding_note *note,
				sp_error *err)
{
	const sp_embedding_note *before = set->base->notes;
	const sp_table *full = base_table(set, note);
	sp_table *table;
	sp_status status;
	size_t mine = (size_t)(note - set->notes);

	/* The same programs say the same in the same order. */
	if (set->base->count != set->count ||
	    strcmp(before[mine].resource->name, note->resource->name) != 0 || full == NULL)
		return sp_error_set(err, SP_INTERNAL, "embedding '%s' has no full checkpoint",
				    note->resource->name);
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].resource->table != NULL &&
		    base_table(set, &set->notes[i]) == full) {
			note->resource->table = set->notes[i].resource->table;
			return SP_OK;
		}
	SP_TRY(sp_embedding_find_delta(&note->found, &before[mine].found, &note->spec, set->delta,
				       set->arena, err));
	SP_TRY(sp_embedding_load_delta(&table, &note->found, &note->spec, before[mine].own_part,
				       set->policy, full, err));
	status = lay_columns(table, set, note, before[mine].own_part, err);
	if (status != SP_OK) {
		sp_table_destroy(table);
		return status;
	}
	*out = table;
	return SP_OK;
}

static sp_status load_note(sp_table **out, sp_embedding_set *set, sp_embedding_note *note,
			   sp_error *err)
{
	if (note->origin == SP_EMBEDDING_IN_HAND) {
		SP_TRY(read_columns(set, note, err));
		SP_TRY(load_in_hand(out, set, note, err));
		give_columns(*out, note);
		return SP_OK;
	}
	if (set->base != NULL)
		return load_over_base(out, set, note, err);
	return load_from_checkpoint(out, set, note, err);
}

static bool imports(const sp_embedding_set *set, sp_bytes base)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].base != NULL && sp_bytes_equal_text(base, set->notes[i].base))
			return true;
	return false;
}

sp_status sp_embedding_set_check_policy(const sp_embedding_set *set, sp_error *err)
{
	const char *at = set->policy != NULL ? set->policy->sharded_names : NULL;

	while (at != NULL) {
		const char *end = strchr(at, ';');
		sp_bytes name = {at, end != NULL ? (size_t)(end - at) : strlen(at)};

		if (name.size != 0 && !imports(set, name))
			return sp_error_set(
				err, SP_INVALID,
				"embedding '%.*s' of embedding_names is not in the model",
				(int)name.size, name.data);
		at = end != NULL ? end + 1 : NULL;
	}
	return SP_OK;
}

static sp_status check_note(const sp_embedding_note *note, const sp_resource *resource,
			    sp_error *err)
{
	if (note == NULL || note->origin == SP_EMBEDDING_UNKNOWN)
		return sp_error_set(err, SP_INVALID,
				    "no operation of the model loads embedding '%s'",
				    resource->name);
	if (!note->created)
		return sp_error_set(err, SP_INVALID,
				    "embedding '%s' is loaded, but no operation of the model says "
				    "what its absent keys answer",
				    resource->name);
	return SP_OK;
}

sp_status sp_embedding_set_expect(sp_embedding_set *set, const sp_resource *resource,
				  const char **variable, size_t *bytes, sp_error *err)
{
	const sp_embedding_note *note = find_note(set, resource);
	sp_embedding_spec spec;
	sp_embedding found;
	size_t more;

	SP_TRY(check_note(note, resource, err));
	*variable = note->base != NULL ? note->base : note->spec.name;
	*bytes = 0; /* what is in hand is in memory */
	if (note->origin == SP_EMBEDDING_IN_HAND)
		return SP_OK;
	spec = note->spec;
	spec.routing = SP_ROUTED; /* no matter here, and it spares a look at every key */
	SP_TRY(sp_embedding_find(&found, &spec, set->full, NULL, set->arena, err));
	*bytes = sp_embedding_expected_size(&found, &spec, set->policy);
	for (int c = 0; c < SP_TABLE_COLUMNS; c++) {
		if (!wants_column(set, note, (sp_table_column)c))
			continue;
		SP_TRY(sp_embedding_expect_column(&more, &found, &spec, err));
		if (!sp_size_add(bytes, *bytes, more))
			*bytes = SIZE_MAX;
	}
	return SP_OK;
}

sp_status sp_embedding_set_load(sp_embedding_set *set, const sp_resource *resource, sp_error *err)
{
	sp_embedding_note *note = find_note(set, resource);
	void *tables = set->tables;
	sp_table *table = NULL;

	SP_TRY(check_note(note, resource, err));
	if (!reserve(&tables, set->table_count, &set->table_capacity, sizeof(sp_table *)))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for embedding '%s'",
				    resource->name);
	set->tables = tables;
	SP_TRY(load_note(&table, set, note, err));
	if (table != NULL) {
		note->resource->table = table;
		set->tables[set->table_count++] = table;
	}
	return SP_OK;
}

/* ---------------------------------------------------------------------- image */

static bool is_from_checkpoint(const sp_embedding_note *note)
{
	return note->origin == SP_EMBEDDING_IN_CHECKPOINT && note->resource->table != NULL;
}

/* Loads what has a table in `old` once more; false when some of it cannot be. */
static bool load_again(sp_embedding_set *set, sp_table *const *old)
{
	sp_error why;

	for (size_t i = 0; i < set->count; i++)
		if (old[i] != NULL && set->notes[i].resource->table == NULL &&
		    sp_embedding_set_load(set, set->notes[i].resource, &why) != SP_OK) {
			sp_log(SP_LOG_WARNING, "embeddings stay in memory: %s", why.text);
			return false;
		}
	return true;
}

/* Destroys the tables that no note has any more. */
static void drop_unused(sp_embedding_set *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->table_count; i++) {
		bool used = false;

		for (size_t k = 0; k < set->count; k++)
			used = used || set->notes[k].resource->table == set->tables[i];
		if (used)
			set->tables[kept++] = set->tables[i];
		else
			sp_table_destroy(set->tables[i]);
	}
	set->table_count = kept;
}

/* The old tables stay until all of the new ones are there. */
static void move_to_image(sp_embedding_set *set)
{
	sp_table **old = sp_alloc_zero(set->count + 1, sizeof(sp_table *));
	bool *had_whole = sp_alloc_zero(set->count + 1, sizeof(bool));

	for (size_t i = 0; old != NULL && had_whole != NULL && i < set->count; i++) {
		sp_embedding_note *note = &set->notes[i];

		if (!is_from_checkpoint(note) || known_routing(set, note) == SP_ROUTING_UNKNOWN)
			continue;
		old[i] = (sp_table *)note->resource->table;
		had_whole[i] = note->has_whole;
		note->resource->table = NULL;
		note->has_whole = false;
	}
	if (old != NULL && had_whole != NULL && !load_again(set, old))
		for (size_t i = 0; i < set->count; i++)
			if (old[i] != NULL) {
				set->notes[i].resource->table = old[i];
				set->notes[i].has_whole = had_whole[i];
			}
	drop_unused(set);
	sp_free(old);
	sp_free(had_whole);
}

void sp_embedding_set_use_image(sp_embedding_set *set)
{
	if (sp_embedding_image_write(&set->image))
		move_to_image(set);
	drop_columns(set);
}
