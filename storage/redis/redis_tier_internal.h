#ifndef SP_STORAGE_REDIS_REDIS_TIER_INTERNAL_H
#define SP_STORAGE_REDIS_REDIS_TIER_INTERNAL_H

#include <stdatomic.h>

#include "base/log_limit.h"
#include "storage/redis/redis_tier.h"
#include "storage/remote/remote_tier.h"

typedef struct sp_redis_table {
	sp_remote_table base;
	size_t key_size;
	size_t partitions;
	const char **hashes; /* [partitions]; not of deeprec */
	uint64_t *features;  /* [feature_count] */
	size_t feature_count;
} sp_redis_table;

/* Why a reply has no usable rows. */
typedef enum sp_redis_fault {
	SP_REDIS_NO_FAULT,
	SP_REDIS_LOST,       /* the hash has no mark */
	SP_REDIS_OTHER_SIZE, /* of a row */
	SP_REDIS_OTHER_FORM,
	SP_REDIS_OTHER_VERSION, /* deeprec */
	SP_REDIS_WRONG_TYPE,    /* this and the following are error replies */
	SP_REDIS_NO_PERMISSION,
	SP_REDIS_LOADING,
	SP_REDIS_MOVED,
	SP_REDIS_OTHER_ERROR,
	SP_REDIS_FAULTS
} sp_redis_fault;

struct sp_redis_store {
	sp_remote_store remote;
	sp_redis_client *client;
	sp_redis_layout layout;
	bool is_cluster;
	char *model;
	sp_redis_version version;
	char mark[SP_REDIS_MARK_SIZE + 1];
	atomic_bool has_loss; /* a hash without its mark was found */
	int64_t open_timeout_ms;
	sp_log_limit log_limits[SP_REDIS_FAULTS];
	int64_t max_age_s;
};

/* ---- redis_fetch.c: an sp_remote_source's calls ---- */

size_t sp_redis__fetch_state_size(size_t count);
void sp_redis__send(sp_remote_fetch *fetch);
void sp_redis__poll(sp_remote_fetch *fetch, int64_t deadline_ns);
void sp_redis__stop_polling(sp_remote_store *store);

/* ---- redis_tier.c ---- */

extern const sp_remote_source sp_redis__source;

/* ---- redis_store.c ---- */

void sp_redis__store_close(sp_remote_store *store);

/* Creates a table, and finds it in Redis. */
SP_MUST_CHECK sp_status sp_redis__table_create(sp_redis_table **out, sp_redis_store *store,
					       const sp_redis_table_options *options,
					       sp_error *err);

#endif
