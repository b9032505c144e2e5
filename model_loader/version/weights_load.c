#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/size.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/version/model_internal.h"
#include "model_loader/version/weights_internal.h"

/*
 * load program -> the resources have values
 *              -> embeddings are loaded
 *              -> check that all that a signature reaches has a value
 *              -> snapshot: what follows from the variables alone
 */

/* For temporary values of the load program; restored values are stored elsewhere. */
static const size_t LOAD_WORKSPACE = (size_t)4 << 30;

/* At most, a loop of the load program fills a table: one that takes a minute is endless. */
static const int64_t LOADING_LOOP_NS = INT64_C(60) * 1000000000;

/* --------------------------------------------------------- the load program */

static sp_status make_feeds(const sp_weights *weights, const char *prefix, const sp_tensor **out,
			    sp_error *err)
{
	const sp_model *model = weights->model;
	size_t count = model->load_feed_count;
	sp_tensor *feeds = sp_arena_copy(weights->values->arena, model->load_feeds, count, count,
					 sizeof(*feeds));
	sp_shape scalar = sp_shape_scalar();

	SP_NEED_MEMORY(feeds, err, "a version of the model");
	if (model->restores) {
		SP_TRY(sp_tensor_create(&feeds[0], weights->values->arena, SP_STRING, &scalar,
					err));
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
		      .resources = weights->resources,
		      .environment = &weights->values->environment->calls};
	sp_session *session;
	sp_status status;

	for (run.entry = 0; run.entry < model->load_count; run.entry++) {
		SP_TRY(sp_session_create(&session, model->load_program, LOAD_WORKSPACE, err));
		status = sp_session_run(session, &run, NULL, err);
		sp_session_destroy(session);
		if (status == SP_CANCELLED)
			return sp_error_set(err, SP_BUSY, "loading was stopped");
		if (status != SP_OK)
			return sp_error_prefix(err, status, "running '%s'",
					       model->load_names[run.entry]);
	}
	return SP_OK;
}

/*
 * Lookup tables filled from files of the SavedModel are the same under every delta; a mutable one
 * may be filled from a checkpoint.
 */
static void borrow_from_base(sp_weights *weights)
{
	const sp_resources *from = weights->base->resources;

	weights->resources->base_arena = weights->base->values->arena;
	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].kind == SP_RESOURCE_HASH_TABLE && !from->items[i].is_mutable)
			weights->resources->items[i].hash_table = from->items[i].hash_table;
}

static sp_status load_resources(sp_weights *weights, const sp_weights_options *options,
				sp_error *err)
{
	const sp_model *model = weights->model;
	sp_values *values = weights->values;
	sp_load_environment_options environment = {.checkpoint_prefix = options->checkpoint_prefix,
						   .policy = options->policy,
						   .by_key = &model->by_key,
						   .features = &model->features,
						   .ssd = options->ssd,
						   .redis = options->redis,
						   .shards = options->shards,
						   .memory_limit = options->memory_limit,
						   .file_root = model->savedmodel_dir};
	const sp_tensor *feeds = NULL;

	if (options->checkpoint_prefix == NULL)
		environment.checkpoint_prefix = model->own_prefix;
	if (weights->base != NULL) {
		environment.base = values->base->environment;
		environment.base_resources = weights->base->resources;
		environment.delta_prefix = options->delta_prefix;
		borrow_from_base(weights);
	}
	SP_TRY(sp_load_environment_create(&values->environment, &environment, values->arena, err));
	SP_TRY(make_feeds(weights, sp_load_environment_prefix(values->environment), &feeds, err));
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

/* Lists what an entry reads and has no value. */
static sp_status check_values(const sp_weights *weights, size_t entry, sp_error *why)
{
	const uint32_t *indices;
	size_t count = sp_program_entry_resources(weights->model->program, entry, &indices);
	sp_status status = SP_OK;
	sp_buffer text;

	sp_buffer_init(&text, 64 << 10);
	for (size_t i = 0; i < count; i++) {
		const sp_resource *resource = &weights->resources->items[indices[i]];

		if (!has_value(resource))
			sp_buffer_printf(&text, "%s%s", text.size != 0 ? ", " : "", resource->name);
	}
	if (text.size != 0)
		status = sp_error_set(why, SP_INVALID, "nothing gives a value to: %s", text.data);
	sp_buffer_fini(&text);
	return status;
}

/*
 * Loads the embeddings that an entry reads, then checks that everything it reads has a value.  Only
 * then a missing checkpoint is an error: a model of constants needs none.
 */
static sp_status complete(sp_weights *weights, size_t entry, sp_error *why)
{
	const sp_model *model = weights->model;
	const uint32_t *indices;
	size_t count = sp_program_entry_resources(model->program, entry, &indices);
	sp_status status = sp_load_environment_load_tables(weights->values->environment,
							   weights->resources, indices, count, why);

	if (status == SP_OK)
		status = check_values(weights, entry, why);
	if (status == SP_INVALID && !model->restores)
		return sp_error_prefix(why, status, "%s, so nothing is restored",
				       model->unrestored);
	return status;
}

/* Whether another attempt may succeed: a server of rows is away, or memory is short. */
static bool may_pass(sp_status status)
{
	return status == SP_IO || status == SP_DEADLINE || status == SP_BUSY ||
	       status == SP_NO_MEMORY || status == SP_CANCELLED;
}

/*
 * The first weights of a model decide which signatures are served: incomplete ones are taken out,
 * but not for a failure that may pass.  Later weights must be complete.
 */
static sp_status complete_all(sp_weights *weights, sp_error *err)
{
	sp_model *model = weights->model;
	bool changed = false;

	for (size_t i = 0; i < model->saved.signature_count; i++) {
		sp_error why;

		if (model->refused[i] != NULL || complete(weights, i, &why) == SP_OK)
			continue;
		if (i == model->default_signature || model->settled || may_pass(why.status))
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
	for (size_t i = 0; i < weights->resources->count; i++) {
		const sp_resource *resource = &weights->resources->items[i];

		if (resource->kind == SP_RESOURCE_VARIABLE && !is_finite(&resource->variable))
			return sp_error_set(err, SP_CORRUPT,
					    "variable '%s' has an element that is not finite",
					    resource->name);
	}
	return SP_OK;
}

/* --------------------------------------------------------------------- memory */

/*
 * Adds the memory of one embedding's variable, unless it is among the *count `names` already.
 * While signatures may still be taken out, faults are left to the signatures that read it.
 */
static sp_status expect(const sp_weights *weights, size_t i, const char **names, size_t *count,
			size_t *bytes, sp_error *err)
{
	const char *name;
	size_t more;
	sp_status status = sp_embedding_set_expect(&weights->values->environment->embeddings,
						   &weights->resources->items[i], &name, &more,
						   err);

	if (status != SP_OK)
		return status != SP_NO_MEMORY && !weights->model->settled ? SP_OK : status;
	for (size_t k = 0; k < *count; k++)
		if (strcmp(names[k], name) == 0)
			return SP_OK;
	names[(*count)++] = name;
	*bytes = more < SIZE_MAX - *bytes ? *bytes + more : SIZE_MAX;
	return SP_OK;
}

static sp_status check_memory(const sp_weights *weights, size_t limit, sp_error *err)
{
	/* Values computed from variables are about as large as these. */
	size_t bytes = 2 * weights->values->environment->restored_bytes, count = 0;
	const sp_redis_store *redis = weights->values->environment->policy.redis;
	bool *read = sp_weights__read_resources(weights);
	const char **names = sp_alloc_zero(weights->resources->count + 1, sizeof(*names));
	sp_status status = read != NULL && names != NULL
				   ? SP_OK
				   : sp_no_memory(err, "a version of the model");

	for (size_t i = 0; status == SP_OK && limit != 0 && i < weights->resources->count; i++)
		if (read[i] && weights->resources->items[i].kind == SP_RESOURCE_EMBEDDING)
			status = expect(weights, i, names, &count, &bytes, err);
	if (redis != NULL && sp_redis_store_shares_cache(redis) && count != 0 &&
	    !sp_size_add(&bytes, bytes, sp_redis_store_cache_bytes(redis)))
		bytes = SIZE_MAX;
	sp_free(read);
	sp_free(names);
	if (status != SP_OK || limit == 0 || bytes <= limit)
		return status;
	return sp_error_set(err, SP_NO_MEMORY,
			    "takes up to %zu MB of memory, and %zu MB are left of "
			    "model_update_memory_mb",
			    (bytes >> 20) + 1, limit >> 20);
}

/* ------------------------------------------------------------------------ all */

static sp_status load(sp_weights *weights, const sp_weights_options *options, sp_error *err)
{
	sp_model *model = weights->model;
	sp_values *values = weights->values;

	SP_TRY(load_resources(weights, options, err));
	SP_TRY(sp_weights__restore_objects(weights, err));
	if (options->policy != NULL && options->policy->only_finite)
		SP_TRY(check_finite(weights, err));
	SP_TRY(sp_weights__check_delta(weights, err));
	SP_TRY(check_memory(weights, options->memory_limit, err));
	SP_TRY(complete_all(weights, err));
	if (weights->base == NULL && options->redis != NULL)
		SP_TRY(sp_redis_store_divide_cache(options->redis, err));
	if (weights->base == NULL)
		sp_embedding_set_use_image(&values->environment->embeddings);
	SP_TRY(sp_snapshot_build(&values->snapshot, model->program, weights->resources, err));
	weights->snapshot = values->snapshot;
	sp_embedding_set_take_tables(&values->environment->embeddings, &weights->tables,
				     &weights->table_count);
	model->settled = true;
	return sp_weights__check_delta_rows(weights, err);
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
		status = load(weights, options, err);
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
