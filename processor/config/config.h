#ifndef SP_PROCESSOR_CONFIG_CONFIG_H
#define SP_PROCESSOR_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/status.h"
#include "model_loader/embedding/load_policy.h"
#include "object_store/object_store.h"
#include "session_group/session_homes.h"
#include "storage/shards/shard_server.h"

/*
 * The configuration given to initialize(): DeepRec's keys and a few of ours, all described in
 * docs/configuration.md.
 *
 * Threads: immutable once parsed.
 */
/* DeepRec's number for tables in memory and on an SSD. */
enum { SP_STORAGE_DRAM_SSDHASH = 12 };

/* Where models are: the words of model_store_type. */
typedef enum sp_config_store {
	SP_CONFIG_STORE_LOCAL,
	SP_CONFIG_STORE_OSS,
	SP_CONFIG_STORE_HDFS,
	SP_CONFIG_STORE_S3,
	SP_CONFIG_STORE_HTTP,
	SP_CONFIG_STORE_HTTPS,
} sp_config_store;

/* Where full checkpoints' rows are. */
typedef enum sp_feature_store {
	SP_FEATURES_IN_MEMORY,
	SP_FEATURES_LOCAL, /* the same */
	SP_FEATURES_IN_REDIS,
	SP_FEATURES_IN_REDIS_CLUSTER,
} sp_feature_store;

typedef struct sp_config {
	sp_arena *arena;        /* holds the texts */
	const char *model_name; /* for log lines */
	int64_t log_level;      /* an sp_log_level; -1: unchanged */
	int64_t log_format;     /* an sp_log_format; -1: unchanged */
	const char *signature_name;
	const char *savedmodel_dir;
	const char *saved_model_tags; /* NULL: "serve", or the only tag set in the file */
	const char *graph_file;       /* NULL: saved_model.pb */
	const char *input_names;      /* NULL: those of the file's signatures */
	const char *output_names;
	int64_t model_store_type; /* an sp_config_store */
	sp_object_settings store; /* derived from the keys below and store_... */
	int64_t store_addressing; /* an sp_object_addressing */
	const char *oss_endpoint, *oss_access_id, *oss_access_key;
	const char *checkpoint_dir;    /* NULL: the SavedModel's own weights */
	const char *warmup_file_name;  /* NULL: synthetic warm-up */
	int64_t session_num;           /* resolved: at least 1 */
	int64_t select_session_policy; /* an sp_session_policy */
	int64_t max_waiting;
	int64_t split_batch_rows; /* 0: requests are not split */
	const char *cpusets;
	sp_session_homes *homes; /* derived from cpusets; may be NULL */
	int64_t session_workspace_bytes;
	int64_t status_codes;         /* of process(): 0 DeepRec's, 1 HTTP's */
	int64_t request_timeout_ms;   /* 0: none */
	int64_t init_timeout_minutes; /* -1: no limit */
	sp_load_policy embeddings;    /* derived from the keys below */
	int64_t unseen_key_policy;    /* 1: zeros */
	const char *embedding_names;  /* "a;b"; NULL: none */
	int64_t shard_instance_count; /* 0: not given */
	int64_t shard_instance_id;    /* -1: taken from the environment */
	int64_t image_keep;
	int64_t model_update_intra_threads; /* 0: one per processor */
	bool shard_embedding;
	const char *shard_peers;  /* NULL: all rows are here */
	const char *shard_listen; /* NULL: nobody else is answered */
	int64_t shard_threads, shard_keep_seconds;
	int64_t shard_timeout_ms, shard_hedge_ms;
	int64_t shard_on_timeout; /* 1: the request fails */
	/* Of the processor, set when it opens; NULL without the keys above. */
	sp_shard_client *shard_client;
	sp_shard_server *shard_server;
	int64_t ev_storage_type; /* 12: rows that do not fit in memory are put on an SSD */
	const char *ev_storage_path;
	int64_t ev_storage_size[2]; /* bytes per table in memory; of the file of rows in Redis */
	int64_t ev_cache_policy;    /* an sp_row_cache_policy */
	int64_t ev_storage_read_threads;
	int64_t feature_store_type; /* an sp_feature_store */
	const char *redis_url;      /* NULL: not given; so the next two */
	const char *redis_user;
	const char *redis_password;
	int64_t redis_layout;    /* an sp_redis_layout */
	const char *redis_model; /* in names in Redis; resolved */
	int64_t redis_partitions;
	bool redis_read_replicas;
	int64_t redis_timeout_ms;
	int64_t redis_cache_seconds;
	int64_t redis_on_timeout; /* 1: the request fails */
	bool redis_publish;       /* rows that Redis lacks are published */
	int64_t redis_row_format; /* of what is published, an sp_row_format; so the next */
	int64_t redis_rows_per_second, redis_keep_seconds, lock_timeout;
	const char *row_stream_brokers; /* NULL: no rows are streamed */
	int64_t row_stream_format;      /* 1: HPS's */
	const char *row_stream_model;   /* in names of topics; resolved */
	int64_t row_stream_start;       /* 1: at the end */
	int64_t row_stream_interval_ms, row_stream_key_bytes, row_stream_memory_mb;
	int64_t row_stream_catch_up_seconds;
	const char *row_stream_properties; /* of librdkafka; may have passwords */
	int64_t update_poll_interval_ms;
	double update_wait_for_full_seconds;
	const char *pin_file;           /* NULL: a pin is not stored */
	int64_t savedmodel_settle_ms;   /* how long the files must stay unchanged; 0: not checked */
	const char *update_replay_file; /* NULL: nothing is replayed */
	double update_max_score_change;
	int64_t update_new_key;           /* 1: ignore */
	double update_fold_after_seconds; /* 0: never */
	int64_t update_fold_min_percent;
	bool update_fold_image;
	int64_t model_update_nice;
	int64_t model_update_memory_mb; /* 0: no limit */
	const char *model_update_cpus;  /* "0-3,8"; NULL: any */
	int64_t timeline_start_step;    /* -1: not given; so the next two */
	int64_t timeline_interval_step;
	int64_t timeline_trace_count;
	const char *timeline_path;
	bool reference_kernels;
	bool signature_fallback;
	const char *const *remarks; /* keys without effect, one log line each */
	size_t remark_count;
} sp_config;

/*
 * `json` is JSON with comments of C, C++ and '#' (to the end of the line): an object with the keys,
 * or the JSON of an EAS service, which has that object in its "model_config".  Unknown keys give
 * remarks, null is the same as absent, and of a repeated key the last one counts.
 *
 * SP_INVALID for errors, and SP_UNSUPPORTED for features that only DeepRec has, both naming the
 * key.  The text never contains a value that might be a secret.
 */
SP_MUST_CHECK sp_status sp_config_parse(sp_config *out, const char *json, sp_error *err);
void sp_config_fini(sp_config *config);

/* Whether full checkpoints' rows are in Redis, one server or a cluster. */
static inline bool sp_config_is_in_redis(const sp_config *config)
{
	return config->feature_store_type == SP_FEATURES_IN_REDIS ||
	       config->feature_store_type == SP_FEATURES_IN_REDIS_CLUSTER;
}

/* Whether any path that is read leads into an object store. */
bool sp_config_uses_store(const sp_config *config);

/* Tells the store how the buckets and hosts of the configuration's paths are reached. */
SP_MUST_CHECK sp_status sp_config_set_store(const sp_config *config, sp_error *err);

/* Where Redis is, with user and password; for sp_redis_address_fini(). */
SP_MUST_CHECK sp_status sp_config_redis_address(sp_redis_address *out, const sp_config *config,
						sp_error *err);

/* Logs each remark as a warning. */
void sp_config_log_remarks(const sp_config *config);

/*
 * Reads only the keys for log lines (model_name, log_level, log_format) of a configuration that may
 * be wrong: unreadable ones count as absent; model_name is then NULL.
 */
void sp_config_read_log_keys(sp_config *out, const char *json);

/* Sets level and format of the process's log lines, if the configuration has them. */
void sp_config_set_log(const sp_config *config);

/*
 * The configuration with the members of the object `overrides` replacing its own: a text for
 * sp_free().  A model_name that is replaced becomes the default of redis_model and of
 * row_stream_model.  Syntax errors as in sp_config_parse().
 */
SP_MUST_CHECK sp_status sp_config_override(char **out, const char *json, const char *overrides,
					   sp_error *err);

#endif
