#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "processor/config/config_internal.h"
#include "row_stream/row_source.h"

_Static_assert(SP_ROW_CACHE_LFU == 0 && SP_ROW_CACHE_LRU == 1,
	       "the order of the words in config_keys.c");
_Static_assert(SP_ROW_FP32 == 0 && SP_ROW_FP16 == 1 && SP_ROW_BF16 == 2 && SP_ROW_INT8 == 3 &&
		       SP_ROW_INT4 == 4,
	       "the order of the words in config_keys.c");
_Static_assert(SP_OLD_KEY_REPLACE == 0 && SP_OLD_KEY_REPLACE_IF_NEWER == 1 && SP_OLD_KEY_BLEND == 2,
	       "the order of the words in config_keys.c");

_Static_assert(SP_REDIS_VERSIONED == 0 && SP_REDIS_DEEPREC == 1 && SP_REDIS_HPS == 2 &&
		       SP_REDIS_TFRA == 3,
	       "the order of the words in config_keys.c");

/* Most digits of an instance number in a service's name. */
enum { MAX_DIGITS = 15 };

/*
 * DeepRec's rule: the instance number follows the last "_" of the service's name; without one it is
 * 0.
 */
static sp_status find_instance(int64_t *out, sp_error *err)
{
	const char *name = getenv("SERVICE_NAME");
	const char *digits;

	if (name == NULL)
		return sp_error_set(err, SP_INVALID,
				    "configuration key 'shard_embedding' needs to know which "
				    "instance this is: neither 'shard_instance_id' nor the "
				    "environment variable SERVICE_NAME says it");
	digits = strrchr(name, '_');
	digits = digits != NULL ? digits + 1 : "";
	*out = 0;
	if (digits[strspn(digits, "0123456789")] == '\0' && strlen(digits) <= MAX_DIGITS)
		*out = strtoll(digits, NULL, 10);
	return SP_OK;
}

static sp_status settle_sharding(sp_config *config, sp_error *err)
{
	sp_load_policy *policy = &config->embeddings;
	int64_t instance = config->shard_instance_id;

	if (config->embedding_names == NULL || config->embedding_names[0] == '\0')
		return sp_error_set(err, SP_INVALID,
				    "configuration key 'shard_embedding' needs 'embedding_names'");
	if (config->shard_instance_count == 0)
		return sp_error_set(
			err, SP_INVALID,
			"configuration key 'shard_embedding' needs 'shard_instance_count'");
	if (instance < 0)
		SP_TRY(find_instance(&instance, err));
	policy->sharded_names = config->embedding_names;
	policy->slice_count = config->shard_instance_count;
	policy->slice = instance % config->shard_instance_count;
	return SP_OK;
}

/* Also finds wrong addresses, as settle_redis(). */
static sp_status settle_listening(sp_config *config, sp_error *err)
{
	sp_shard_address address;

	if (config->shard_listen == NULL)
		return SP_OK;
	/* Others are answered from the full checkpoint's rows, which folding would change. */
	config->update_fold_after_seconds = 0;
	return sp_error_prefix(
		err, sp_shard_address_parse(&address, sp_bytes_of(config->shard_listen), true, err),
		"configuration key 'shard_listen'");
}

/* DeepRec's default size. */
static const int64_t DEFAULT_STORAGE_SIZE = INT64_C(1) << 30;

static sp_status settle_storage(sp_config *config, sp_error *err)
{
	if (config->ev_storage_size[0] == 0)
		config->ev_storage_size[0] = DEFAULT_STORAGE_SIZE;
	if (config->ev_storage_type != SP_STORAGE_DRAM_SSDHASH)
		return SP_OK;
	if (config->ev_storage_path == NULL || config->ev_storage_path[0] == '\0')
		return sp_error_set(
			err, SP_INVALID,
			"configuration key 'ev_storage_type': 12 needs 'ev_storage_path'");
	if (sp_config_is_in_redis(config) && config->ev_storage_size[1] == 0)
		return sp_error_set(
			err, SP_INVALID,
			"configuration key 'ev_storage_type': 12 with 'feature_store_type': redis "
			"needs a second number in 'ev_storage_size', the bytes on the SSD");
	return SP_OK;
}

/* Keys that need the rows of full checkpoints on this machine, or decide which these are. */
static const char *find_unfit(const sp_config *config)
{
	const sp_load_policy *policy = &config->embeddings;

	if (config->ev_storage_type == SP_STORAGE_DRAM_SSDHASH && !sp_config_is_in_redis(config))
		return "ev_storage_type";
	if (config->shard_embedding)
		return "shard_embedding";
	if (policy->frequency_thresholds.count != 0)
		return "serve_frequency_threshold";
	if (policy->image_folder != NULL)
		return "ev_image_path";
	if (config->update_new_key != 0)
		return "update_new_key";
	if (policy->old_key != SP_OLD_KEY_REPLACE)
		return "update_old_key";
	if (policy->max_new_percent != 0)
		return "update_max_new_percent";
	return policy->max_drift_percent != 0 ? "update_max_drift_percent" : NULL;
}

/* Also finds wrong addresses, which would otherwise fail with the first version. */
static sp_status settle_redis(sp_config *config, sp_error *err)
{
	const char *unfit = find_unfit(config);
	sp_redis_address address;
	sp_status status;

	if (config->redis_model == NULL)
		config->redis_model = config->model_name;
	if (!sp_config_is_in_redis(config))
		return SP_OK;
	if (config->redis_url == NULL)
		return sp_error_set(err, SP_INVALID,
				    "configuration key 'feature_store_type': redis needs "
				    "'redis_url'");
	if (unfit != NULL)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "configuration key '%s' cannot be used with "
				    "'feature_store_type': redis",
				    unfit);
	status = sp_config_redis_address(&address, config, err);
	sp_redis_address_fini(&address);
	return status;
}

sp_status sp_config_redis_address(sp_redis_address *out, const sp_config *config, sp_error *err)
{
	sp_status status = sp_redis_address_parse(out, config->redis_url, err);

	if (status == SP_OK)
		status = sp_redis_address_set_user(out, config->redis_user, config->redis_password,
						   err);
	return sp_error_prefix(err, status, "configuration key 'redis_url'");
}

static sp_status settle_row_stream(sp_config *config, sp_error *err)
{
	sp_status status;

	if (config->row_stream_brokers == NULL)
		return SP_OK;
	if (!sp_row_source_is_built())
		return sp_error_set(err, SP_UNSUPPORTED,
				    "configuration key 'row_stream_brokers': this build has no "
				    "librdkafka");
	if (config->shard_embedding || config->shard_peers != NULL)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "configuration key '%s' cannot be used with "
				    "'row_stream_brokers': only whole tables take streamed rows; "
				    "slices get new rows by deltas",
				    config->shard_embedding ? "shard_embedding" : "shard_peers");
	/* It would be shown in log lines. */
	if (strchr(config->row_stream_brokers, '@') != NULL)
		return sp_error_set(err, SP_INVALID,
				    "configuration key 'row_stream_brokers' has a user in it: "
				    "credentials belong to 'row_stream_properties'");
	if (config->row_stream_model == NULL)
		config->row_stream_model = config->model_name;
	status = sp_row_source_check(config->row_stream_brokers, config->row_stream_properties,
				     err);
	return sp_error_prefix(err, status, "configuration key 'row_stream_properties'");
}

static sp_status settle_peers(sp_config *config, sp_error *err)
{
	static const char *const all = "*";
	const char *unfit = find_unfit(config);
	sp_shard_peers *peers;
	sp_status status;

	if (config->shard_peers == NULL)
		return SP_OK;
	if (unfit != NULL || sp_config_is_in_redis(config) || config->shard_listen != NULL)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "configuration key '%s' cannot be used with 'shard_peers'",
				    unfit != NULL                  ? unfit
				    : config->shard_listen != NULL ? "shard_listen"
								   : "feature_store_type");
	config->embeddings.peers_names = config->embedding_names != NULL &&
							 config->embedding_names[0] != '\0'
						 ? config->embedding_names
						 : all;
	peers = sp_arena_alloc(config->arena, sizeof(*peers));
	SP_NEED_MEMORY(peers, err, "the configuration");
	status = sp_shard_peers_parse(peers, config->shard_peers, err);
	if (status == SP_OK && config->shard_instance_count != 0 &&
	    config->shard_instance_count != peers->slices)
		status = sp_error_set(err, SP_INVALID,
				      "there are %u slices, and 'shard_instance_count' is %lld",
				      peers->slices, (long long)config->shard_instance_count);
	return sp_error_prefix(err, status, "configuration key 'shard_peers'");
}

static sp_status check_blending(const sp_load_policy *policy, sp_error *err)
{
	if ((policy->old_key == SP_OLD_KEY_BLEND) == (policy->old_percent != 0))
		return SP_OK;
	return sp_error_set(err, SP_INVALID,
			    policy->old_percent != 0
				    ? "configuration key 'update_old_percent' needs "
				      "'update_old_key': \"blend\""
				    : "configuration key 'update_old_key': blend needs "
				      "'update_old_percent'");
}

sp_status sp_config__settle_embeddings(sp_config *config, sp_error *err)
{
	sp_load_policy *policy = &config->embeddings;

	if (policy->image_folder != NULL && policy->image_folder[0] == '\0')
		policy->image_folder = NULL;
	policy->image_keep = (size_t)config->image_keep;
	SP_TRY(settle_storage(config, err));
	SP_TRY(settle_redis(config, err));
	SP_TRY(settle_row_stream(config, err));
	SP_TRY(settle_peers(config, err));
	SP_TRY(settle_listening(config, err));
	SP_TRY(check_blending(policy, err));
	policy->absent_keys_are_zeros = config->unseen_key_policy == 1;
	policy->ignore_new_keys = config->update_new_key == 1;
	policy->threads = config->model_update_intra_threads != 0
				  ? (size_t)config->model_update_intra_threads
				  : sp_parallel_processors();
	return config->shard_embedding ? settle_sharding(config, err) : SP_OK;
}
