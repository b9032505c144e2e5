#include "processor/version/rows_in_redis.h"

#include "base/log.h"

static bool is_cluster(const sp_config *config)
{
	return config->feature_store_type == SP_FEATURES_IN_REDIS_CLUSTER;
}

static sp_status open_store(sp_redis_store **out, const sp_config *config,
			    const sp_redis_address *address, const sp_publish_source *source,
			    sp_error *err)
{
	const sp_redis_store_options options = {
		.address = address,
		.is_cluster = is_cluster(config),
		.read_replicas = config->redis_read_replicas,
		.layout = (sp_redis_layout)config->redis_layout,
		.model = config->redis_model,
		.full = source->full_step > 0 ? source->full_step : 0,
		.content = source->content,
		.partitions = (size_t)config->redis_partitions,
		.timeout_ms = config->redis_timeout_ms,
		.fail_on_timeout = config->redis_on_timeout == 1,
		.max_age_s = config->redis_cache_seconds,
		.cache_bytes = (size_t)config->ev_storage_size[0],
		.policy = (sp_row_cache_policy)config->ev_cache_policy,
		.file = {.folder = config->ev_storage_type == SP_STORAGE_DRAM_SSDHASH
					   ? config->ev_storage_path
					   : NULL,
			 .cap_bytes = (uint64_t)config->ev_storage_size[1],
			 .readers = (size_t)config->ev_storage_read_threads},
	};

	return sp_redis_store_open(out, &options, err);
}

/* SP_BUSY if somebody else publishes for longer than his lock lasts without being renewed. */
static sp_status publish(sp_model *model, const sp_config *config, const sp_redis_address *address,
			 const sp_publish_source *source, sp_error *err)
{
	bool is_deeprec = config->redis_layout == SP_REDIS_DEEPREC;
	const sp_publish_options options = {
		.address = address,
		.is_cluster = is_cluster(config),
		.layout = (sp_redis_layout)config->redis_layout,
		.model = config->redis_model,
		.format = is_deeprec ? SP_ROW_FP32 : (sp_row_format)config->redis_row_format,
		.rows_per_second = config->redis_rows_per_second,
		.keep_seconds = config->redis_keep_seconds,
		.lock_seconds = config->lock_timeout,
		.never_older = true,
		.waits = true,
		.stop = config->embeddings.closing,
	};
	sp_publish_result result = {0};
	sp_status status;

	sp_log(SP_LOG_INFO, "Redis lacks the embeddings of %s: publishing them as model '%s'",
	       source->prefix, config->redis_model);
	status = sp_publish(&result, model, source, &options, err);
	if (status == SP_OK)
		sp_log(SP_LOG_INFO,
		       "published to Redis: %llu rows of %llu tables, %llu rows were there",
		       (unsigned long long)result.counts.rows_sent,
		       (unsigned long long)result.counts.tables,
		       (unsigned long long)result.counts.rows_there);
	return sp_error_prefix(err, status, "publishing");
}

static bool may_publish(const sp_config *config)
{
	return config->redis_publish && (config->redis_layout == SP_REDIS_VERSIONED ||
					 config->redis_layout == SP_REDIS_DEEPREC);
}

static sp_status find(sp_redis_store **out, sp_model *model, const sp_config *config,
		      const sp_redis_address *address, const sp_publish_source *source,
		      sp_error *err)
{
	const atomic_bool *closing = config->embeddings.closing;
	sp_status status;

	for (;;) {
		status = open_store(out, config, address, source, err);
		if (status != SP_NOT_FOUND || !may_publish(config))
			return status;
		status = publish(model, config, address, source, err);
		if (status == SP_OK)
			return open_store(out, config, address, source, err);
		if (status != SP_BUSY || (closing != NULL && atomic_load(closing)))
			return status;
	}
}

sp_status sp_rows_in_redis_restore(sp_model *model, const sp_config *config,
				   const sp_publish_source *source, sp_error *err)
{
	sp_redis_address address;
	sp_status status;

	if (!may_publish(config))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "they are not published again: 'redis_publish' is false");
	SP_TRY(sp_config_redis_address(&address, config, err));
	status = publish(model, config, &address, source, err);
	sp_redis_address_fini(&address);
	return status;
}

sp_status sp_rows_in_redis_find(sp_redis_store **out, sp_model *model, const sp_config *config,
				const sp_publish_source *source, sp_error *err)
{
	sp_redis_address address;
	sp_status status;

	*out = NULL;
	if (!sp_config_is_in_redis(config))
		return SP_OK;
	SP_TRY(sp_config_redis_address(&address, config, err));
	status = find(out, model, config, &address, source, err);
	sp_redis_address_fini(&address);
	/* They may come: the version is tried again, as after a failure of Redis. */
	if (status == SP_NOT_FOUND && err != NULL)
		err->status = SP_IO;
	return status == SP_NOT_FOUND ? SP_IO : status;
}
