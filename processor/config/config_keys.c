#include "processor/config/config_keys.h"

#include "processor/config/config.h"

#define KEY(text, kind) .name = (text), .type = SP_CONFIG_##kind
#define FIELD(name)     .has_effect = true, .has_field = true, .field = offsetof(sp_config, name)

/* clang-format off */
const sp_config_key sp_config__keys[] = {
	/* What to serve. */
	{KEY("savedmodel_dir", TEXT), .required = true, .not_empty = true, FIELD(savedmodel_dir)},
	{KEY("checkpoint_dir", TEXT), .not_empty = true, FIELD(checkpoint_dir)},
	{KEY("signature_name", TEXT), .required = true, .not_empty = true, FIELD(signature_name)},
	{KEY("signature_fallback", BOOLEAN), .fallback = "false", FIELD(signature_fallback)},
	{KEY("saved_model_tags", TEXT), .not_empty = true, FIELD(saved_model_tags)},
	{KEY("graph_file", TEXT), .not_empty = true, FIELD(graph_file)},
	{KEY("input_names", TEXT), FIELD(input_names)},
	{KEY("output_names", TEXT), .not_empty = true, FIELD(output_names)},
	{KEY("model_store_type", TEXT), .required = true, .has_effect = true,
		.allowed = "local", .unsupported = "oss hdfs"},
	{KEY("feature_store_type", TEXT), .required = true,
		.allowed = "memory local redis cluster_redis", FIELD(feature_store_type)},
	{KEY("serialize_protocol", TEXT), .required = true, .has_effect = true,
		.allowed = "protobuf", .unsupported = "flatbuffer"},

	/* For log lines. */
	{KEY("model_name", TEXT), .not_empty = true, FIELD(model_name)},
	/* The words are in the order of sp_log_level and sp_log_format. */
	{KEY("log_level", TEXT), .allowed = "debug info warning error", FIELD(log_level)},
	{KEY("log_format", TEXT), .allowed = "text json", FIELD(log_format)},

	/* How to serve it. */
	{KEY("session_num", INTEGER), .fallback = "0", .min = 0, .max = SP_MAX_SESSIONS,
		FIELD(session_num)},
	/* The words are in the order of sp_session_policy. */
	{KEY("select_session_policy", TEXT), .fallback = "\"MOD\"", .allowed = "MOD RR",
		FIELD(select_session_policy)},
	{KEY("max_waiting", INTEGER), .fallback = "1024", .min = 0, .max = 1 << 20,
		FIELD(max_waiting)},
	{KEY("split_batch_rows", INTEGER), .fallback = "0", .min = 0, .max = INT32_MAX,
		FIELD(split_batch_rows)},
	{KEY("cpusets", TEXT), FIELD(cpusets)},
	{KEY("session_workspace_bytes", INTEGER), .fallback = "1073741824",
		.min = 1 << 20, .max = INT64_C(1) << 46, FIELD(session_workspace_bytes)},
	{KEY("status_codes", TEXT), .fallback = "\"deeprec\"", .allowed = "deeprec http",
		FIELD(status_codes)},
	{KEY("request_timeout_ms", INTEGER), .fallback = "60000", .min = 0, .max = 86400000,
		FIELD(request_timeout_ms)},
	{KEY("init_timeout_minutes", INTEGER), .fallback = "1", .min = -1, .max = 525600,
		FIELD(init_timeout_minutes)},
	{KEY("update_poll_interval_ms", INTEGER), .fallback = "1000", .min = 10, .max = 86400000,
		FIELD(update_poll_interval_ms)},
	{KEY("update_wait_for_full_seconds", NUMBER), .fallback = "5", .min = 0, .max = 31536000,
		FIELD(update_wait_for_full_seconds)},
	{KEY("pin_file", TEXT), .not_empty = true, FIELD(pin_file)},
	{KEY("savedmodel_settle_ms", INTEGER), .fallback = "1000", .min = 0, .max = 3600000,
		FIELD(savedmodel_settle_ms)},
	{KEY("update_check_finite", BOOLEAN), .fallback = "false", FIELD(embeddings.only_finite)},
	{KEY("update_new_key", TEXT), .fallback = "\"insert\"", .allowed = "insert ignore",
		FIELD(update_new_key)},
	/* The words are in the order of sp_old_key. */
	{KEY("update_old_key", TEXT), .fallback = "\"replace\"",
		.allowed = "replace replace_if_newer blend", FIELD(embeddings.old_key)},
	{KEY("update_old_percent", INTEGER), .fallback = "0", .min = 0, .max = 99,
		FIELD(embeddings.old_percent)},
	{KEY("update_max_new_percent", INTEGER), .fallback = "0", .min = 0, .max = 1000000,
		FIELD(embeddings.max_new_percent)},
	{KEY("update_max_drift_percent", INTEGER), .fallback = "0", .min = 0, .max = 1000000,
		FIELD(embeddings.max_drift_percent)},
	{KEY("update_fold_after_seconds", NUMBER), .fallback = "120", .min = 0, .max = 31536000,
		FIELD(update_fold_after_seconds)},
	{KEY("update_fold_min_percent", INTEGER), .fallback = "1", .min = 0, .max = 1000000,
		FIELD(update_fold_min_percent)},
	{KEY("update_fold_image", BOOLEAN), .fallback = "false", FIELD(update_fold_image)},
	{KEY("update_replay_file", TEXT), .not_empty = true, FIELD(update_replay_file)},
	{KEY("update_max_score_change", NUMBER), .fallback = "0", .min = 0, .max = 1000000000,
		FIELD(update_max_score_change)},
	{KEY("model_update_nice", INTEGER), .fallback = "2", .min = 0, .max = 19,
		FIELD(model_update_nice)},
	{KEY("model_update_memory_mb", INTEGER), .fallback = "0", .min = 0, .max = INT64_C(1) << 32,
		FIELD(model_update_memory_mb)},
	{KEY("model_update_rows_per_second", INTEGER), .fallback = "0",
		.min = 0, .max = INT64_C(1) << 53, FIELD(embeddings.rows_per_second)},
	{KEY("model_update_bytes_per_second", INTEGER), .fallback = "0",
		.min = 0, .max = INT64_C(1) << 53, FIELD(embeddings.bytes_per_second)},
	{KEY("model_update_cpus", TEXT), .not_empty = true, FIELD(model_update_cpus)},
	{KEY("warmup_file_name", TEXT), FIELD(warmup_file_name)},
	{KEY("reference_kernels", BOOLEAN), .fallback = "false", FIELD(reference_kernels)},

	/* Which rows of embeddings are held, and how. */
	{KEY("unseen_key_policy", TEXT), .fallback = "\"initializer\"",
		.allowed = "initializer zeros", FIELD(unseen_key_policy)},
	{KEY("serve_frequency_threshold", INTEGER_RULES), .min = 0, .max = INT64_C(1) << 53,
		FIELD(embeddings.frequency_thresholds)},
	/* The words are in the order of sp_row_format. */
	{KEY("ev_row_format", TEXT_RULES), .allowed = "fp32 fp16 bf16 int8 int4",
		FIELD(embeddings.row_formats)},
	{KEY("ev_image_path", TEXT), FIELD(embeddings.image_folder)},
	{KEY("ev_image_keep", INTEGER), .fallback = "2", .min = 1, .max = 1000,
		FIELD(image_keep)},
	{KEY("shard_embedding", BOOLEAN), .fallback = "false", FIELD(shard_embedding)},
	{KEY("embedding_names", TEXT), FIELD(embedding_names)},
	/* DeepRec divides keys into 1000 buckets. */
	{KEY("shard_instance_count", INTEGER), .min = 1, .max = 1000, FIELD(shard_instance_count)},
	{KEY("shard_instance_id", INTEGER), .fallback = "-1", .min = -1, .max = INT64_C(1) << 53,
		FIELD(shard_instance_id)},
	{KEY("id_type", TEXT), .has_effect = true, .allowed = "string int64"},
	{KEY("model_update_intra_threads", INTEGER), .fallback = "0", .min = 0, .max = 1024,
		FIELD(model_update_intra_threads)},

	/* Where they are held. */
	{KEY("ev_storage_type", INTEGER), .fallback = "0", .allowed = "0 1 12",
		FIELD(ev_storage_type)},
	{KEY("ev_storage_path", TEXT), FIELD(ev_storage_path)},
	{KEY("ev_storage_size", INTEGERS), .fallback = "[1073741824]",
		.min = 1, .max = INT64_C(1) << 53, FIELD(ev_storage_size)},
	/* The words are in the order of sp_row_cache_policy. */
	{KEY("ev_cache_policy", TEXT), .fallback = "\"lfu\"", .allowed = "lfu lru",
		FIELD(ev_cache_policy)},
	{KEY("ev_storage_read_threads", INTEGER), .fallback = "16", .min = 1, .max = 256,
		FIELD(ev_storage_read_threads)},

	/* Rows in Redis. */
	{KEY("redis_url", TEXT), .not_empty = true, FIELD(redis_url)},
	{KEY("redis_user", TEXT), FIELD(redis_user)},
	{KEY("redis_password", TEXT), FIELD(redis_password)},
	/* The words are in the order of sp_redis_layout. */
	{KEY("redis_layout", TEXT), .fallback = "\"versioned\"",
		.allowed = "versioned deeprec hps tfra", FIELD(redis_layout)},
	{KEY("redis_model", TEXT), .not_empty = true, FIELD(redis_model)},
	{KEY("redis_partitions", INTEGER), .fallback = "0", .min = 0,
		.max = SP_REDIS_MAX_PARTITIONS, FIELD(redis_partitions)},
	{KEY("redis_read_replicas", BOOLEAN), .fallback = "false", FIELD(redis_read_replicas)},
	{KEY("redis_timeout_ms", INTEGER), .fallback = "5", .min = 1, .max = 60000,
		FIELD(redis_timeout_ms)},
	{KEY("redis_on_timeout", TEXT), .fallback = "\"default\"", .allowed = "default fail",
		FIELD(redis_on_timeout)},

	/* Which requests are traced. */
	{KEY("timeline_start_step", INTEGER), .fallback = "-1", .min = -1, .max = INT32_MAX,
		FIELD(timeline_start_step)},
	{KEY("timeline_interval_step", INTEGER), .fallback = "-1", .min = -1, .max = INT32_MAX,
		FIELD(timeline_interval_step)},
	{KEY("timeline_trace_count", INTEGER), .fallback = "-1", .min = -1, .max = INT32_MAX,
		FIELD(timeline_trace_count)},
	{KEY("timeline_path", TEXT), FIELD(timeline_path)},

	/* Known, checked for their type, and ignored here. */
	{KEY("use_per_session_threads", BOOLEAN)},
	{KEY("gpu_ids_list", TEXT)},
	{KEY("use_multi_stream", BOOLEAN)},
	{KEY("enable_device_placement_optimization", BOOLEAN)},
	{KEY("enable_inline_execute", BOOLEAN)},
	{KEY("omp_num_threads", INTEGER_OR_TEXT)},
	{KEY("kmp_blocktime", INTEGER_OR_TEXT)},
	{KEY("inter_op_parallelism_threads", INTEGER)},
	{KEY("intra_op_parallelism_threads", INTEGER)},
	{KEY("model_update_inter_threads", INTEGER)},
	{KEY("read_thread_num", INTEGER)},
	{KEY("update_thread_num", INTEGER)},
	{KEY("lock_timeout", INTEGER)},
	{KEY("oss_endpoint", TEXT)},
	{KEY("oss_access_id", TEXT)},
	{KEY("oss_access_key", TEXT)},
	/* An earlier release replaced tables one by one if memory was short. */
	{KEY("model_update_when_memory_is_short", TEXT), .was_removed = true},
	{.name = NULL},
};
