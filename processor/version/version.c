#include "processor/version/version.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "engine/rows/row_proof.h"
#include "incremental/identity.h"
#include "processor/version/rows_in_redis.h"
#include "processor/version/rows_of_peers.h"
#include "storage/ssd/ssd_tier.h"

/* -------------------------------------------------------------- rows on an SSD */

/*
 * A folder of rows on an SSD is used again if it was made from the same checkpoint content, under
 * the same rules about which rows are held, and how.
 */

static const char *append_rules(const char *text, const char *what, const sp_name_rules *rules,
				sp_arena *arena)
{
	for (size_t i = 0; text != NULL && i < rules->count; i++)
		text = sp_arena_printf(arena, "%s %s %s=%" PRId64, text, what,
				       rules->items[i].pattern, rules->items[i].value);
	return text;
}

static const char *append_slice(const char *text, const sp_load_policy *policy, sp_arena *arena)
{
	if (text == NULL || policy->sharded_names == NULL)
		return text;
	return sp_arena_printf(arena, "%s slice %" PRId64 " of %" PRId64 " of %s", text,
			       policy->slice, policy->slice_count, policy->sharded_names);
}

static const char *describe_version(const sp_load_policy *policy, uint64_t content, sp_arena *arena)
{
	const char *text = sp_arena_printf(arena, "%016" PRIx64, content);

	text = append_rules(text, "format", &policy->row_formats, arena);
	text = append_rules(text, "threshold", &policy->frequency_thresholds, arena);
	text = append_slice(text, policy, arena);
	if (text != NULL && policy->only_finite)
		text = sp_arena_printf(arena, "%s finite", text);
	return text;
}

static sp_status open_store(sp_ssd_store **out, const sp_config *config, const char *prefix,
			    sp_arena *arena, sp_error *err)
{
	uint64_t content = sp_identity_of_content(prefix, arena);
	sp_ssd_store_options options = {
		.path = config->ev_storage_path,
		/* With the slice, so that instances with other slices keep their folders. */
		.model = append_slice(config->savedmodel_dir, &config->embeddings, arena),
		.version = describe_version(&config->embeddings, content, arena),
		.cache_bytes = (size_t)config->ev_storage_size[0],
		.policy = (sp_row_cache_policy)config->ev_cache_policy,
		.readers = (size_t)config->ev_storage_read_threads,
	};

	/* Without a checkpoint there are no rows.  An unreadable one fails when it is loaded. */
	if (content == 0)
		return SP_OK;
	SP_NEED_MEMORY(options.model != NULL && options.version != NULL, err,
		       "the name of a version");
	return sp_ssd_store_open(out, &options, err);
}

/*
 * Opens the SSD store for the large tables of the version with the full checkpoint `prefix`.  *out
 * is NULL when all tables stay in memory.
 */
static sp_status open_ssd(sp_ssd_store **out, const sp_config *config, const char *prefix,
			  sp_error *err)
{
	sp_arena *arena;
	sp_status status;

	*out = NULL;
	if (config->ev_storage_type != SP_STORAGE_DRAM_SSDHASH || sp_config_is_in_redis(config))
		return SP_OK;
	arena = sp_arena_create(4096);
	SP_NEED_MEMORY(arena, err, "the name of a version");
	status = open_store(out, config, prefix, arena, err);
	sp_arena_destroy(arena);
	return status;
}

/* ------------------------------------------------------------------ row stream */

/* Begins to read the rows that a trainer streams for the full checkpoint `prefix`. */
static sp_status open_stream(sp_version *version, const sp_config *config, const char *prefix,
			     sp_error *err)
{
	size_t count = sp_weights_table_count(version->weights);
	const sp_table **tables;
	sp_row_stream_options options = {
		.brokers = config->row_stream_brokers,
		.properties = config->row_stream_properties,
		.model = config->row_stream_model,
		.is_hps = config->row_stream_format == 1,
		.key_size = (size_t)config->row_stream_key_bytes,
		.interval_ms = config->row_stream_interval_ms,
		.from_end = config->row_stream_start == 1,
		.memory_limit = (size_t)config->row_stream_memory_mb << 20,
		.only_finite = config->embeddings.only_finite,
		.full_step = version->full_step > 0 ? version->full_step : 0,
		.prefix = prefix,
		.reader_count = (size_t)config->session_num,
		.table_count = count,
	};
	sp_status status;

	if (config->row_stream_brokers == NULL)
		return SP_OK;
	tables = sp_alloc_zero(count + 1, sizeof(*tables));
	SP_NEED_MEMORY(tables, err, "%zu tables", count);
	for (size_t i = 0; i < count; i++)
		tables[i] = sp_weights_table(version->weights, i);
	options.tables = tables;
	status = sp_row_stream_open(&version->stream, &options, err);
	sp_free(tables);
	return status;
}

/* --------------------------------------------------------------------- opening */

/* Whether it is the SavedModel with its own weights. */
static bool is_own(const sp_found_version *found)
{
	return found == NULL || found->full_prefix[0] == '\0';
}

sp_status sp_version_open_model(sp_model **out, const sp_config *config,
				const sp_found_version *found, sp_error *err)
{
	bool numbered = found != NULL && found->savedmodel_dir != NULL;
	sp_model_options options = {.savedmodel_dir = numbered ? found->savedmodel_dir
							       : config->savedmodel_dir,
				    .tags = config->saved_model_tags,
				    .graph_file = config->graph_file,
				    .input_names = config->input_names,
				    .output_names = config->output_names,
				    .from_checkpoint = !is_own(found) && !numbered,
				    .signature_name = config->signature_name,
				    .signature_fallback = config->signature_fallback,
				    .reference = config->reference_kernels};

	return sp_model_open(out, &options, err);
}

static sp_status identify_rows(uint64_t *out, const char *prefix, sp_error *err)
{
	sp_arena *arena = sp_arena_create(4096);

	SP_NEED_MEMORY(arena, err, "the name of a version");
	*out = sp_identity_of_rows(prefix, arena);
	sp_arena_destroy(arena);
	return SP_OK;
}

/* What Redis has lost of a version that it had is published again first. */
static sp_status load_with_rows_elsewhere(sp_version *version, sp_model *model,
					  sp_weights_options *options, const sp_config *config,
					  const sp_publish_source *source, sp_error *err)
{
	sp_status status = sp_rows_in_redis_find(&options->redis, model, config, source, err);
	sp_error why;

	if (status == SP_OK)
		status = sp_rows_of_peers_find(&options->shards, config, version, err);
	if (status == SP_OK)
		status = sp_weights_load(&version->weights, model, options, err);
	if (status != SP_IO || options->redis == NULL || !sp_redis_store_had_loss(options->redis) ||
	    sp_rows_in_redis_restore(model, config, source, &why) != SP_OK)
		return status;
	sp_redis_store_release(options->redis);
	SP_TRY(sp_rows_in_redis_find(&options->redis, model, config, source, err));
	return sp_weights_load(&version->weights, model, options, err);
}

static sp_status load_weights(sp_version *version, sp_model *model, const sp_config *config,
			      const sp_found_version *found, size_t memory_limit, sp_error *err)
{
	sp_weights_options options = {.policy = &config->embeddings, .memory_limit = memory_limit};
	const char *folder = config->savedmodel_dir, *rows;
	sp_publish_source source;
	char prefix[4096];
	sp_status status;

	if (found != NULL && found->savedmodel_dir != NULL)
		folder = found->savedmodel_dir;
	else if (!is_own(found))
		options.checkpoint_prefix = found->full_prefix;
	if (snprintf(prefix, sizeof(prefix), "%s/variables/variables", folder) >=
	    (int)sizeof(prefix))
		return sp_error_set(err, SP_INVALID, "the path of a version is too long");
	rows = options.checkpoint_prefix != NULL ? options.checkpoint_prefix : prefix;
	SP_TRY(open_ssd(&options.ssd, config, rows, err));
	if (sp_config_is_in_redis(config))
		SP_TRY(identify_rows(&version->redis_content, rows, err));
	if (config->shard_client != NULL || config->shard_server != NULL)
		SP_TRY(identify_rows(&version->peers_content, rows, err));
	source = (sp_publish_source){.prefix = rows,
				     .content = version->redis_content,
				     .is_own = options.checkpoint_prefix == NULL,
				     .full_step = version->full_step,
				     .delta_step = -1,
				     .only_finite = config->embeddings.only_finite};
	status = load_with_rows_elsewhere(version, model, &options, config, &source, err);
	version->redis = options.redis;
	sp_shard_store_release(options.shards);
	if (status == SP_OK && options.ssd != NULL)
		sp_ssd_store_delete_others(options.ssd);
	sp_ssd_store_release(options.ssd);
	return status == SP_OK ? open_stream(version, config, rows, err) : status;
}

/* The stream has the tables' names. */
static void close_weights(sp_version *version)
{
	sp_row_stream_release(version->stream);
	sp_weights_destroy(version->weights);
	version->stream = NULL;
	version->weights = NULL;
}

static void adopt(sp_version *version, sp_runtime *runtime)
{
	version->runtime = runtime;
	runtime->users++;
}

static sp_status load(sp_version *version, sp_runtime *runtime, const sp_config *config,
		      const sp_found_version *found, size_t memory_limit, sp_error *err)
{
	sp_model *model = NULL;
	sp_status status;

	if (runtime != NULL) {
		adopt(version, runtime);
		return load_weights(version, runtime->model, config, found, memory_limit, err);
	}
	SP_TRY(sp_version_open_model(&model, config, found, err));
	status = load_weights(version, model, config, found, memory_limit, err);
	if (status == SP_OK)
		status = sp_runtime_open(&runtime, config, model, err);
	if (status == SP_OK)
		adopt(version, runtime);
	if (status != SP_OK) {
		close_weights(version);
		sp_model_destroy(model);
	}
	return status;
}

/* Allocates a version without weights; delta_prefix NULL: without a delta. */
static sp_status make(sp_version **out, const char *full_prefix, const char *delta_prefix,
		      sp_error *err)
{
	sp_version *version = sp_alloc_zero(1, sizeof(*version));

	if (version != NULL) {
		version->full_step = version->delta_step = -1;
		version->checkpoint_prefix = sp_alloc_text(full_prefix);
		if (delta_prefix != NULL)
			version->delta_prefix = sp_alloc_text(delta_prefix);
	}
	if (version == NULL || version->checkpoint_prefix == NULL ||
	    (delta_prefix != NULL && version->delta_prefix == NULL)) {
		sp_version_close(version);
		return sp_no_memory(err, "a version");
	}
	*out = version;
	return SP_OK;
}

/* ----------------------------------------------------------- requests in parts */

static sp_status prove_rows(const sp_version *version, size_t entry, sp_error *err)
{
	const sp_signature *signature = &version->runtime->endpoints[entry].signature;
	sp_partial_shape *shapes = sp_alloc_zero(signature->input_count + 1, sizeof(*shapes));
	sp_status status;

	if (shapes == NULL)
		return sp_no_memory(err, "a version");
	for (size_t i = 0; i < signature->input_count; i++)
		shapes[i] = signature->inputs[i].shape;
	status = sp_program_prove_rows(sp_model_program(version->runtime->model), entry,
				       sp_weights_snapshot(version->weights), shapes, err);
	sp_free(shapes);
	return status;
}

/*
 * Finds the signatures whose requests may be split: the configured one must be.  The first version
 * of a runtime decides; a later one, whose weights may have other shapes, must agree.
 */
static sp_status find_splits(const sp_version *version, const sp_config *config, sp_error *err)
{
	const sp_runtime *runtime = version->runtime;
	bool is_first = runtime->users == 1;

	if (config->split_batch_rows == 0)
		return SP_OK;
	for (size_t i = 0; i < runtime->endpoint_count; i++) {
		sp_endpoint *endpoint = &runtime->endpoints[i];
		sp_status status = prove_rows(version, i, err);

		if (status != SP_OK &&
		    (endpoint == runtime->configured || endpoint->splits || status == SP_NO_MEMORY))
			return sp_error_prefix(err, status,
					       "configuration key 'split_batch_rows': requests to "
					       "signature '%s' cannot be split",
					       endpoint->signature.name);
		endpoint->splits = endpoint->splits || (is_first && status == SP_OK);
	}
	return SP_OK;
}

/* *out is the version, or it is closed. */
static sp_status finish(sp_version **out, sp_version *version, sp_status status)
{
	if (status == SP_OK)
		*out = version;
	else
		sp_version_close(version);
	return status;
}

sp_status sp_version_open(sp_version **out, sp_runtime *runtime, const sp_config *config,
			  const sp_found_version *found, size_t memory_limit, sp_error *err)
{
	sp_version *version;
	sp_status status;

	SP_TRY(make(&version, found != NULL ? found->full_prefix : "", NULL, err));
	if (found != NULL) {
		version->full_step = found->full_step;
		version->is_savedmodel = found->savedmodel_dir != NULL;
	}
	status = load(version, runtime, config, found, memory_limit, err);
	if (status == SP_OK)
		status = find_splits(version, config, err);
	return finish(out, version, status);
}

static sp_status load_on(sp_version *version, const sp_version *from, const sp_config *config,
			 sp_error *err)
{
	sp_weights_options options = {.delta_prefix = version->delta_prefix,
				      .policy = &config->embeddings};
	sp_weights *full = sp_weights_base(from->weights);

	if (version->delta_prefix != NULL)
		return sp_weights_load_delta(&version->weights, full, &options, err);
	if (sp_weights_are_folded(full))
		return sp_error_set(err, SP_NOT_FOUND,
				    "in memory a delta is folded into the full checkpoint");
	version->weights = sp_weights_share(full);
	return SP_OK;
}

/* Allocates another version on the full checkpoint of `from`, without weights. */
static sp_status make_on(sp_version **out, const sp_version *from, const char *delta_prefix,
			 int64_t delta_step, sp_error *err)
{
	sp_version *version;

	SP_TRY(make(out, from->checkpoint_prefix, delta_prefix, err));
	version = *out;
	adopt(version, from->runtime);
	version->is_savedmodel = from->is_savedmodel;
	version->full_step = from->full_step;
	version->delta_step = delta_step;
	version->stream = sp_row_stream_retain(from->stream);
	version->content = from->content;
	version->files = from->files;
	version->peers_content = from->peers_content;
	version->redis_content = from->redis_content;
	version->redis = from->redis != NULL ? sp_redis_store_retain(from->redis) : NULL;
	return SP_OK;
}

sp_status sp_version_open_on(sp_version **out, const sp_version *from, const sp_config *config,
			     const sp_found_version *found, sp_error *err)
{
	sp_version *version;
	sp_status status;

	SP_TRY(make_on(&version, from, found->delta_prefix, found->delta_step, err));
	status = load_on(version, from, config, err);
	if (status == SP_OK)
		status = find_splits(version, config, err);
	return finish(out, version, status);
}

sp_status sp_version_open_folded(sp_version **out, const sp_version *from, size_t table,
				 const sp_table *folded, sp_error *err)
{
	sp_version *version;
	sp_status status;

	SP_TRY(make_on(&version, from, from->delta_prefix, from->delta_step, err));
	status = sp_weights_fold(&version->weights, from->weights, table, folded, err);
	return finish(out, version, status);
}

sp_found_version sp_version_name(const sp_version *version)
{
	const char *full = version->checkpoint_prefix;

	return (sp_found_version){.savedmodel_dir = version->is_savedmodel ? full : NULL,
				  .full_prefix = full,
				  .delta_prefix = version->delta_prefix,
				  .full_step = version->full_step,
				  .delta_step = version->delta_step};
}

sp_version_memory sp_version_memory_of(const sp_version *version)
{
	const sp_weights *full = sp_weights_base(version->weights);
	sp_version_memory out = {.program = sp_model_footprint(version->runtime->model) +
					    sp_arena_used(version->runtime->arena),
				 .sessions = sp_session_set_footprint(version->runtime->sessions)};

	out.dense = sp_weights_footprint(version->weights);
	if (full != version->weights) /* a delta on a full checkpoint */
		out.dense += sp_weights_footprint(full);
	for (size_t i = 0; i < sp_weights_table_count(version->weights); i++) {
		sp_table_memory table = sp_table_memory_of(sp_weights_table(version->weights, i));
		size_t all = table.rows + table.index + table.tier + table.mapped;

		out.tables += table.rows;
		out.indexes += table.index;
		out.ssd += table.tier;
		out.image += table.mapped;
		out.dense -= all < out.dense ? all : out.dense;
	}
	return out;
}

void sp_version_close(sp_version *version)
{
	if (version == NULL)
		return;
	close_weights(version);
	sp_redis_store_release(version->redis);
	if (version->runtime != NULL && --version->runtime->users == 0)
		sp_runtime_close(version->runtime);
	sp_free(version->checkpoint_prefix);
	sp_free(version->delta_prefix);
	sp_free(version);
}
