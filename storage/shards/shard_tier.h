#ifndef SP_STORAGE_SHARDS_SHARD_TIER_H
#define SP_STORAGE_SHARDS_SHARD_TIER_H

#include "storage/remote/remote_tier.h"
#include "storage/shards/shard_client.h"

/*
 * Tables whose rows are held by other processors, a slice by each (storage/shards/shard_rule.h),
 * with the cache and the rules of storage/remote/remote_tier.h.  The misses of a call are one
 * request per slice, or several of up to 8192 keys.
 *
 * A store is for one full checkpoint.  It opens when a holder of each slice has that version. Every
 * request names the version, so no row of another version is returned.
 */
typedef struct sp_shard_store sp_shard_store;

typedef struct sp_shard_store_options {
	sp_shard_client *client; /* outlives the store */
	int64_t full;            /* step of the full checkpoint */
	uint64_t content;        /* identifies the checkpoint's rows */
	int64_t timeout_ms;      /* of a call; 0: 5 */
	bool fail_on_timeout;    /* a call fails if a key has no result in time */
	int64_t open_timeout_ms; /* of opening, while no holder of a slice is connected; 0: 5000 */
	int64_t version_timeout_ms; /* of opening, while the holders do not have the version yet */
	size_t cache_bytes;         /* memory of each table */
	sp_row_cache_policy policy;
	const atomic_bool *closing; /* true: opening ends; NULL: never */
} sp_shard_store_options;

/*
 * SP_NOT_FOUND if the holders of a slice do not have the version (yet), SP_IO if none is connected,
 * SP_INVALID if one holds another slice than configured.
 */
SP_MUST_CHECK sp_status sp_shard_store_open(sp_shard_store **out,
					    const sp_shard_store_options *options, sp_error *err);

/* Each tier holds a reference.  NULL is fine.  Threads: thread-safe. */
sp_shard_store *sp_shard_store_retain(sp_shard_store *store);
void sp_shard_store_release(sp_shard_store *store);

size_t sp_shard_store_cache_bytes(const sp_shard_store *store);

/* SP_INVALID if a holder does not have the table, or its rows have another dim. */
SP_MUST_CHECK sp_status sp_shard_tier_open(sp_tier **out, sp_shard_store *store, const char *name,
					   size_t dim, sp_error *err);

#endif
