#include "model_loader/version/weights.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/version/model_internal.h"
#include "model_loader/version/weights_internal.h"

/*
 * load program -> the resources have values
 *              -> check that all that a signature reaches has one
 *              -> snapshot: what follows from the variables alone
 */

/*
 * For the values between the operations that restore and initialise; what they
 * restore lies elsewhere.
 */
static const size_t LOAD_WORKSPACE = (size_t)4 << 30;

/* Tables are filled by loops at most; a minute is more than any takes that ends. */
static const int64_t LOADING_LOOP_NS = INT64_C(60) * 1000000000;

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for a version of the model");
}

/* --------------------------------------------------------- the load program */

static sp_status make_feeds(const sp_weights *weights, const char *prefix, const sp_tensor **out,
			    sp_error *err)
{
	const sp_model *model = weights->model;
	size_t count = model->load_feed_count;
	sp_tensor *feeds = sp_arena_array(weights->arena, count, sizeof(*feeds));
	sp_shape scalar = sp_shape_scalar();

	if (feeds == NULL)
		return no_memory(err);
	if (count != 0)
		memcpy(feeds, model->load_feeds, count * sizeof(*feeds));
	if (model->restores) {
		SP_TRY(sp_tensor_create(&feeds[0], weights->arena, SP_STRING, &scalar, err));
		sp_tensor_strings(&feeds[0])[0] = sp_bytes_of(prefix);
	}
	*out = feeds;
	return SP_OK;
}

static sp_status run_load_program(sp_weights *weights, const sp_tensor *feeds,
				  const atomic_bool *stop, sp_error *err)
{
	const sp_model *model = weights->model;
	sp_run run = {.feeds = feeds,
		      .loop_ns = LOADING_LOOP_NS,
		      .stop = stop,
		      .resources = &weights->resources,
		      .environment = sp_load_environment_calls(weights->environment)};
	sp_session *session;
	sp_status status;

	for (run.entry = 0; run.entry < model->load_count; run.entry++) {
		SP_TRY(sp_session_create(&session, model->load_program, LOAD_WORKSPACE, err));
		status = sp_session_run(session, &run, NULL, err);
		sp_session_destroy(session);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "running '%s'",
					       model->load_names[run.entry]);
	}
	return SP_OK;
}

/*
 * Tables of words and the like are made from files of the SavedModel: they are
 * the same under every delta.  A mutable one may be filled from a checkpoint.
 */
static void borrow_from_base(sp_weights *weights)
{
	const sp_resources *from = &weights->base->resources;

	weights->resources.lender = sp_weights__values(weights->base)->arena;
	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].kind == SP_RESOURCE_HASH_TABLE && !from->items[i].is_mutable)
			weights->resources.items[i].hash_table = from->items[i].hash_table;
}

static sp_status load_resources(sp_weights *weights, const sp_weights_options *options,
				sp_error *err)
{
	const sp_model *model = weights->model;
	sp_load_environment_options environment = {.checkpoint_prefix = options->checkpoint_prefix,
						   .policy = options->policy,
						   .by_key = &model->by_key,
						   .ssd = options->ssd,
						   .memory_limit = options->memory_limit,
						   .file_root = model->savedmodel_dir};
	const sp_tensor *feeds = NULL;
	const char *prefix;

	if (options->checkpoint_prefix == NULL)
		environment.checkpoint_prefix = model->own_prefix;
	if (weights->base != NULL) {
		environment.base = sp_weights__values(weights->base)->environment;
		environment.base_resources = &weights->base->resources;
		environment.delta_prefix = options->delta_prefix;
		borrow_from_base(weights);
	}
	SP_TRY(sp_load_environment_create(&weights->environment, &environment, weights->arena,
					  err));
	prefix = sp_load_environment_prefix(weights->environment);
	SP_TRY(make_feeds(weights, prefix, &feeds, err));
	return run_load_program(weights, feeds,
				options->policy != NULL ? options->policy->closing : NULL, err);
}

/* ------------------------------------------------------------- completeness */

static bool has_value(const sp_resource *resource)
{
	switch (resource->kind) {
	case SP_RESOURCE_VARIABLE:
		return sp_tensor_is_set(&resource->variable);
	case SP_RESOURCE_HASH_TABLE:
		return resource->hash_table != NULL;
	case SP_RESOURCE_EMBEDDING:
		return resource->table != NULL;
	case SP_RESOURCE_TREES:
		return resource->trees != NULL;
	case SP_RESOURCE_QUANTILES:
		return resource->boundaries != NULL;
	}
	return false;
}

/*
 * Names what an entry reaches and nothing gave a value, embeddings only
 * `with_tables`; `text` stays empty when all is there.
 */
static void name_missing(const sp_weights *weights, size_t entry, bool with_tables, sp_buffer *text)
{
	const uint32_t *indices;
	size_t count = sp_program_entry_resources(weights->model->program, entry, &indices);

	for (size_t i = 0; i < count; i++) {
		const sp_resource *resource = &weights->resources.items[indices[i]];

		if (!has_value(resource) &&
		    (with_tables || resource->kind != SP_RESOURCE_EMBEDDING))
			sp_buffer_printf(text, "%s%s", text->size != 0 ? ", " : "", resource->name);
	}
}

static sp_status check_values(const sp_weights *weights, size_t entry, bool with_tables,
			      sp_error *why)
{
	sp_status status = SP_OK;
	sp_buffer text;

	sp_buffer_init(&text, 64 << 10);
	name_missing(weights, entry, with_tables, &text);
	if (text.size != 0)
		status = sp_error_set(why, SP_INVALID, "nothing gives a value to: %s", text.data);
	sp_buffer_fini(&text);
	return status;
}

sp_status sp_weights__check_dense(const sp_weights *weights, sp_error *err)
{
	const sp_model *model = weights->model;

	for (size_t i = 0; i < model->saved.signature_count; i++)
		if (model->refused[i] == NULL)
			SP_TRY(check_values(weights, i, false, err));
	return SP_OK;
}

/*
 * Loads the embeddings an entry reaches; then all it reaches must have a value.
 * A model of constants needs no checkpoint: that it lacks one shows only here.
 */
static sp_status complete(sp_weights *weights, size_t entry, sp_error *why)
{
	const sp_model *model = weights->model;
	const uint32_t *indices;
	size_t count = sp_program_entry_resources(model->program, entry, &indices);
	sp_status status = sp_load_environment_load_tables(
		weights->environment, &weights->resources, indices, count, why);

	if (status == SP_OK)
		status = check_values(weights, entry, true, why);
	if (status == SP_INVALID && !model->restores)
		return sp_error_prefix(why, status, "%s, so nothing is restored",
				       model->unrestored);
	return status;
}

/* All that is served must be complete, but that the first weights settle what is served. */
static sp_status complete_all(sp_weights *weights, sp_error *err)
{
	sp_model *model = weights->model;
	bool changed = false;

	for (size_t i = 0; i < model->saved.signature_count; i++) {
		sp_error why;

		if (model->refused[i] != NULL || complete(weights, i, &why) == SP_OK)
			continue;
		if (i == model->default_signature || model->settled)
			return sp_error_set(err, why.status, "signature '%s': %s",
					    model->saved.signatures[i].name, why.text);
		SP_TRY(sp_model__refuse(model, i, &why, err));
		changed = true;
	}
	return changed ? sp_model__compile(model, err) : SP_OK;
}

/* ------------------------------------------------------------------ numbers */

static bool is_finite(const sp_tensor *tensor)
{
	for (size_t i = 0; i < tensor->count; i++) {
		float value = 0;

		if (tensor->dtype == SP_FLOAT)
			value = sp_tensor_f32(tensor)[i];
		else if (tensor->dtype == SP_DOUBLE)
			value = isfinite(sp_tensor_f64(tensor)[i]) ? 0 : INFINITY;
		else if (tensor->dtype == SP_HALF)
			value = sp_half_to_float(((const uint16_t *)tensor->data)[i]);
		else if (tensor->dtype == SP_BFLOAT16)
			value = sp_bfloat16_to_float(((const uint16_t *)tensor->data)[i]);
		else
			return true;
		if (!isfinite(value))
			return false;
	}
	return true;
}

static sp_status check_finite(const sp_weights *weights, sp_error *err)
{
	for (size_t i = 0; i < weights->resources.count; i++) {
		const sp_resource *resource = &weights->resources.items[i];

		if (resource->kind == SP_RESOURCE_VARIABLE && !is_finite(&resource->variable))
			return sp_error_set(err, SP_CORRUPT,
					    "variable '%s' has an element that is not finite",
					    resource->name);
	}
	return SP_OK;
}

/* ------------------------------------------------------------------- memory */

bool *sp_weights__read_resources(const sp_weights *weights)
{
	const sp_model *model = weights->model;
	bool *read = sp_alloc_zero(weights->resources.count + 1, sizeof(*read));

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

sp_status sp_weights__each_embedding(const sp_weights *weights, sp_weights_visit *visit,
				     void *context, sp_error *err)
{
	bool *read = sp_weights__read_resources(weights);
	sp_status status = SP_OK;

	if (read == NULL)
		return no_memory(err);
	for (size_t i = 0; status == SP_OK && i < weights->resources.count; i++)
		if (read[i] && weights->resources.items[i].kind == SP_RESOURCE_EMBEDDING)
			status = visit(context, i, err);
	sp_free(read);
	return status;
}

/* What follows from variables is as large as they, at most by and large. */
size_t sp_weights__dense_size(const sp_weights *weights)
{
	return 2 * sp_load_environment_restored(weights->environment);
}

/* The variables that have been counted, each once, and what they take. */
typedef struct expectation {
	const sp_weights *weights;
	const char **names; /* [resources.count] */
	size_t count;
	size_t bytes;
} expectation;

static sp_status expect(void *context, size_t i, sp_error *err)
{
	expectation *e = context;
	const char *name;
	sp_status status;
	size_t bytes;

	status = sp_load_environment_expect(e->weights->environment,
					    &e->weights->resources.items[i], &name, &bytes, err);
	/* Until it is settled what is served, a fault is that of the signatures that read it. */
	if (status != SP_OK && status != SP_NO_MEMORY && !e->weights->model->settled)
		return SP_OK;
	if (status != SP_OK)
		return status;
	for (size_t k = 0; k < e->count; k++)
		if (strcmp(e->names[k], name) == 0)
			return SP_OK;
	e->names[e->count++] = name;
	e->bytes = bytes < SIZE_MAX - e->bytes ? e->bytes + bytes : SIZE_MAX;
	return SP_OK;
}

static sp_status check_memory(const sp_weights *weights, size_t limit, sp_error *err)
{
	expectation e = {.weights = weights, .bytes = sp_weights__dense_size(weights)};
	sp_status status;

	if (limit == 0)
		return SP_OK;
	e.names = sp_alloc_zero(weights->resources.count + 1, sizeof(*e.names));
	if (e.names == NULL)
		return no_memory(err);
	status = sp_weights__each_embedding(weights, expect, &e, err);
	sp_free(e.names);
	if (status != SP_OK || e.bytes <= limit)
		return status;
	return sp_error_set(err, SP_NO_MEMORY,
			    "takes up to %zu MB of memory, and %zu MB are left of "
			    "model_update_memory_mb",
			    (e.bytes >> 20) + 1, limit >> 20);
}

static size_t tables_footprint(const sp_weights *weights)
{
	size_t bytes = 0;

	for (size_t i = 0; i < weights->table_count; i++)
		bytes += sp_table_footprint(weights->tables[i]);
	return bytes;
}

static size_t values_footprint(const sp_weights *weights)
{
	size_t bytes = sp_arena_footprint(weights->arena) +
		       sp_snapshot_footprint(weights->snapshot);

	if (weights->environment != NULL)
		bytes += sp_load_environment_footprint(weights->environment);
	return bytes;
}

size_t sp_weights_footprint(const sp_weights *weights)
{
	size_t bytes = values_footprint(weights) + tables_footprint(weights);
	size_t shared = weights->base != NULL ? tables_footprint(weights->base) : 0;

	if (weights->lender != NULL)
		bytes += values_footprint(weights->lender);
	/* Of a mixture: what the values below it need has no owner any more. */
	if (weights->lender != NULL && weights->base == NULL &&
	    weights->lender->base_values != NULL)
		bytes += values_footprint(weights->lender->base_values);
	return bytes > shared ? bytes - shared : 0;
}

/* ------------------------------------------------------------------ weights */

/* Those that have values of their own, and one more who keeps these. */
sp_weights *sp_weights__lend(sp_weights *from)
{
	sp_weights *lender = sp_weights__values(from);

	lender->borrowers++;
	return lender;
}

sp_status sp_weights__create(sp_weights **out, sp_model *model, sp_weights *base, sp_error *err)
{
	sp_weights *weights = *out = sp_alloc_zero(1, sizeof(*weights));

	if (weights == NULL)
		return no_memory(err);
	weights->model = model;
	weights->users = 1;
	if (base != NULL) {
		weights->base = sp_weights_share(base);
		weights->base_values = sp_weights__lend(base);
	}
	weights->arena = sp_arena_create(1 << 20);
	if (weights->arena == NULL)
		return no_memory(err);
	return sp_resources_init_as(&weights->resources, &model->resources, weights->arena, err);
}

sp_status sp_weights__borrow(sp_weights **out, sp_weights *from, sp_weights *base, sp_error *err)
{
	sp_weights *weights = *out = sp_alloc_zero(1, sizeof(*weights));

	if (weights == NULL)
		return no_memory(err);
	weights->model = from->model;
	weights->users = 1;
	weights->lender = sp_weights__lend(from);
	weights->base = base != NULL ? sp_weights_share(base) : NULL;
	weights->arena = sp_arena_create(16 << 10);
	weights->tables = sp_alloc_zero(from->resources.count + 1, sizeof(sp_table *));
	if (weights->arena == NULL || weights->tables == NULL)
		return no_memory(err);
	SP_TRY(sp_resources_init_as(&weights->resources, &from->resources, weights->arena, err));
	for (size_t i = 0; i < from->resources.count; i++) {
		weights->resources.items[i].variable = from->resources.items[i].variable;
		weights->resources.items[i].hash_table = from->resources.items[i].hash_table;
	}
	return SP_OK;
}

sp_status sp_weights__load_dense(sp_weights *weights, const sp_weights_options *options,
				 sp_error *err)
{
	SP_TRY(load_resources(weights, options, err));
	SP_TRY(sp_weights__restore_objects(weights, err));
	return options->policy != NULL && options->policy->only_finite ? check_finite(weights, err)
								       : SP_OK;
}

sp_status sp_weights__complete(sp_weights *weights, sp_error *err)
{
	sp_model *model = weights->model;

	SP_TRY(complete_all(weights, err));
	if (weights->base == NULL)
		sp_load_environment_use_image(weights->environment);
	SP_TRY(sp_snapshot_build(&weights->snapshot, model->program, &weights->resources, err));
	sp_load_environment_take_tables(weights->environment, &weights->tables,
					&weights->table_count);
	model->settled = true;
	return SP_OK;
}

sp_weights *sp_weights_share(sp_weights *weights)
{
	weights->users++;
	return weights;
}

static sp_status make(sp_weights **out, sp_model *model, sp_weights *base,
		      const sp_weights_options *options, sp_error *err)
{
	sp_weights *weights;
	sp_error local;
	sp_status status;

	*out = NULL;
	if (err == NULL)
		err = &local;
	status = sp_weights__create(&weights, model, base, err);
	if (status == SP_OK)
		status = sp_weights__load_dense(weights, options, err);
	if (status == SP_OK)
		status = sp_weights__check_delta(weights, err);
	if (status == SP_OK)
		status = check_memory(weights, options->memory_limit, err);
	if (status == SP_OK)
		status = sp_weights__complete(weights, err);
	if (status == SP_OK)
		status = sp_weights__check_delta_rows(weights, err);
	if (status != SP_OK) {
		sp_weights_destroy(weights);
		return sp_error_prefix(err, status, "%s", model->savedmodel_dir);
	}
	*out = weights;
	return SP_OK;
}

sp_status sp_weights_load(sp_weights **out, sp_model *model, const sp_weights_options *options,
			  sp_error *err)
{
	return make(out, model, NULL, options, err);
}

sp_status sp_weights_load_delta(sp_weights **out, sp_weights *full,
				const sp_weights_options *options, sp_error *err)
{
	return make(out, full->model, full, options, err);
}

sp_weights *sp_weights_base(sp_weights *weights)
{
	return weights->base != NULL ? weights->base : weights;
}

static const sp_load_environment *full_environment(const sp_weights *weights)
{
	const sp_weights *full = weights->base != NULL ? weights->base : weights;

	if (full->lender != NULL)
		full = full->lender;
	return (full->base_values != NULL ? full->base_values : full)->environment;
}

const char *sp_weights_image(const sp_weights *weights)
{
	return sp_load_environment_image(full_environment(weights));
}

bool sp_weights_are_broken(const sp_weights *weights)
{
	return sp_load_environment_is_broken(full_environment(weights));
}

sp_status sp_weights_find_files(const sp_weights_options *options, sp_error *err)
{
	const char *const prefixes[] = {options->checkpoint_prefix, options->delta_prefix};

	for (size_t i = 0; i < 2; i++) {
		sp_bundle *bundle = NULL;

		if (prefixes[i] != NULL)
			SP_TRY(sp_bundle_open(&bundle, prefixes[i], err));
		sp_bundle_close(bundle);
	}
	return SP_OK;
}

static void free_values(sp_weights *weights);

void sp_weights__give_back(sp_weights *lender)
{
	if (lender != NULL && --lender->borrowers == 0 && lender->users == 0)
		free_values(lender);
}

/* What others may borrow.  Values of a delta need those of its full checkpoint, and no further. */
static void free_values(sp_weights *weights)
{
	sp_weights *below = weights->base_values;

	sp_snapshot_destroy(weights->snapshot);
	sp_load_environment_destroy(weights->environment);
	sp_arena_destroy(weights->arena);
	sp_free(weights);
	sp_weights__give_back(below);
}

/* What is each one's own: rows are most of the memory, and go with the last user. */
static void drop_tables(sp_weights *weights)
{
	for (size_t i = 0; i < weights->resources.count; i++)
		weights->resources.items[i].table = NULL;
	for (size_t i = 0; i < weights->table_count; i++)
		sp_table_destroy(weights->tables[i]);
	sp_free(weights->tables);
	weights->tables = NULL;
	weights->table_count = 0;
}

void sp_weights_destroy(sp_weights *weights)
{
	sp_weights *base, *lender;

	if (weights == NULL || --weights->users != 0)
		return;
	base = weights->base;
	lender = weights->lender;
	weights->base = NULL;
	drop_tables(weights);
	if (weights->borrowers == 0)
		free_values(weights);
	sp_weights__give_back(lender);
	sp_weights_destroy(base);
}

const sp_snapshot *sp_weights_snapshot(const sp_weights *weights)
{
	return weights->snapshot;
}
