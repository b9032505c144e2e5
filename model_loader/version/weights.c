#include "model_loader/version/weights.h"

#include "base/alloc.h"
#include "model_loader/version/model_internal.h"
#include "model_loader/version/weights_internal.h"
#include "storage/table/table_builder.h"

/* ------------------------------------------------------------------- lifetime */

static sp_values *share_values(sp_values *values)
{
	values->users++;
	return values;
}

static void release_values(sp_values *values)
{
	sp_values *base;

	for (; values != NULL && --values->users == 0; values = base) {
		base = values->base;
		sp_snapshot_destroy(values->snapshot);
		sp_load_environment_destroy(values->environment);
		sp_arena_destroy(values->arena);
		sp_free(values);
	}
}

sp_weights *sp_weights_share(sp_weights *weights)
{
	weights->users++;
	return weights;
}

/* Creates weights without values. */
static sp_status create(sp_weights **out, sp_model *model, sp_weights *base, sp_error *err)
{
	sp_weights *weights = *out = sp_alloc_zero(1, sizeof(*weights));

	SP_NEED_MEMORY(weights, err, "a version of the model");
	weights->model = model;
	weights->users = 1;
	weights->base = base != NULL ? sp_weights_share(base) : NULL;
	return SP_OK;
}

sp_status sp_weights__create(sp_weights **out, sp_model *model, sp_weights *base, sp_error *err)
{
	sp_values *values;

	SP_TRY(create(out, model, base, err));
	values = (*out)->values = sp_alloc_zero(1, sizeof(*values));
	SP_NEED_MEMORY(values, err, "a version of the model");
	values->users = 1;
	values->base = base != NULL ? share_values(base->values) : NULL;
	values->arena = sp_arena_create(1 << 20);
	SP_NEED_MEMORY(values->arena, err, "a version of the model");
	(*out)->resources = &values->resources;
	return sp_resources_init_as(&values->resources, &model->resources, values->arena, err);
}

void sp_weights_destroy(sp_weights *weights)
{
	if (weights == NULL || --weights->users != 0)
		return;
	/* Values may be used longer; the tables, most of the memory, are freed. */
	for (size_t i = 0; weights->resources != NULL && i < weights->resources->count; i++)
		weights->resources->items[i].table = NULL;
	for (size_t i = 0; i < weights->table_count; i++)
		sp_table_destroy(weights->tables[i]);
	sp_free(weights->tables);
	if (weights->arena != NULL) {
		sp_snapshot_destroy(weights->snapshot);
		sp_arena_destroy(weights->arena);
	}
	release_values(weights->values);
	sp_weights_destroy(weights->base);
	sp_free(weights);
}

/* ----------------------------------------------------------------------- fold */

/* A table and its replacement. */
typedef struct exchange {
	const sp_table *from;
	const sp_table *to;
} exchange;

/* Copies the tables of `from`, one of them replaced, and its values. */
static sp_status fill_copy(sp_weights *copy, const sp_weights *from, const exchange *e,
			   sp_error *err)
{
	const sp_resource *old = from->resources->items;

	copy->values = share_values(from->values);
	copy->arena = sp_arena_create(16 << 10);
	copy->tables = sp_alloc_zero(from->table_count + 1, sizeof(sp_table *));
	if (copy->arena == NULL || copy->tables == NULL ||
	    (copy->resources = sp_arena_zeros(copy->arena, 1, sizeof(sp_resources))) == NULL)
		return sp_no_memory(err, "a version of the model");
	SP_TRY(sp_resources_init_as(copy->resources, from->resources, copy->arena, err));
	for (size_t i = 0; i < from->resources->count; i++) {
		copy->resources->items[i] = old[i];
		copy->resources->items[i].table = NULL;
	}
	for (size_t i = 0; i < from->table_count; i++) {
		const sp_table *table = from->tables[i];

		SP_TRY(sp_table_share(&copy->tables[i], table == e->from ? e->to : table, err));
		copy->table_count++;
		for (size_t k = 0; k < from->resources->count; k++)
			if (old[k].table == table)
				copy->resources->items[k].table = copy->tables[i];
	}
	if (copy->base == NULL || from->snapshot == NULL)
		return SP_OK;
	return sp_snapshot_share(&copy->snapshot, from->snapshot, copy->resources, err);
}

/* Copies `from` with one table replaced.  Takes a reference to `base`; NULL: none. */
static sp_status copy_with(sp_weights **out, const sp_weights *from, sp_weights *base,
			   const exchange *e, sp_error *err)
{
	sp_weights *copy;
	sp_status status = create(&copy, from->model, base, err);

	if (status == SP_OK)
		status = fill_copy(copy, from, e, err);
	if (status != SP_OK) {
		sp_weights_destroy(copy);
		return status;
	}
	*out = copy;
	return SP_OK;
}

/* Weights are immutable: they and their base are copied. */
sp_status sp_weights_fold(sp_weights **out, sp_weights *weights, size_t i, const sp_table *folded,
			  sp_error *err)
{
	exchange above = {weights->tables[i], folded}, below = {NULL, folded};
	const sp_resources *mine = weights->resources;
	sp_weights *base;
	sp_status status;

	for (size_t k = 0; k < mine->count && below.from == NULL; k++)
		if (mine->items[k].table == above.from)
			below.from = weights->base->resources->items[k].table;
	SP_TRY(copy_with(&base, weights->base, NULL, &below, err));
	status = copy_with(out, weights, base, &above, err);
	sp_weights_destroy(base);
	return status;
}

bool sp_weights_are_folded(const sp_weights *weights)
{
	for (size_t i = 0; i < weights->table_count; i++)
		if (sp_table_is_folded(weights->tables[i]))
			return true;
	return false;
}

/* ---------------------------------------------------------------------- parts */

sp_weights *sp_weights_base(sp_weights *weights)
{
	return weights->base != NULL ? weights->base : weights;
}

const sp_snapshot *sp_weights_snapshot(const sp_weights *weights)
{
	return weights->snapshot;
}

size_t sp_weights_table_count(const sp_weights *weights)
{
	return weights->table_count;
}

const sp_table *sp_weights_table(const sp_weights *weights, size_t i)
{
	return weights->tables[i];
}

static const sp_embedding_image *image_of(const sp_weights *weights)
{
	const sp_values *values = weights->values;

	return &(values->base != NULL ? values->base : values)->environment->embeddings.image;
}

const char *sp_weights_image(const sp_weights *weights)
{
	const sp_image *image = image_of(weights)->image;

	return image != NULL ? sp_image_path(image) : NULL;
}

bool sp_weights_are_broken(const sp_weights *weights)
{
	return sp_embedding_image_is_broken(image_of(weights));
}

bool *sp_weights__read_resources(const sp_weights *weights)
{
	const sp_model *model = weights->model;
	bool *read = sp_alloc_zero(weights->resources->count + 1, sizeof(*read));

	for (size_t e = 0; read != NULL && e < model->saved.signature_count; e++) {
		const uint32_t *indices;
		size_t count = 0;

		if (model->refused[e] == NULL)
			count = sp_program_entry_resources(model->program, e, &indices);
		for (size_t i = 0; i < count; i++)
			read[indices[i]] = true;
	}
	return read;
}

/* --------------------------------------------------------------------- memory */

static size_t tables_footprint(const sp_weights *weights)
{
	size_t bytes = 0;

	for (size_t i = 0; i < weights->table_count; i++)
		bytes += sp_table_footprint(weights->tables[i]);
	return bytes;
}

size_t sp_weights_footprint(const sp_weights *weights)
{
	const sp_values *values = weights->values;
	size_t bytes = tables_footprint(weights) + sp_arena_footprint(values->arena) +
		       sp_snapshot_footprint(values->snapshot);
	size_t shared = weights->base != NULL ? tables_footprint(weights->base) : 0;

	if (values->environment != NULL)
		bytes += sp_embedding_set_footprint(&values->environment->embeddings);
	if (weights->arena != NULL)
		bytes += sp_arena_footprint(weights->arena) +
			 sp_snapshot_footprint(weights->snapshot);
	return bytes > shared ? bytes - shared : 0;
}
