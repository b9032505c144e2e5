#ifndef SP_STORAGE_REDIS_REDIS_TIER_H
#define SP_STORAGE_REDIS_REDIS_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/cache/row_cache.h"
#include "storage/redis/layout.h"
#include "storage/redis/redis_client.h"
#include "storage/remote/row_file.h"
#include "storage/table/tier.h"

/*
 * Tables whose rows are in Redis, in one of its layouts (storage/redis/layout.h), with the cache
 * and the rules of storage/remote/remote_tier.h.  The misses of a call are one batch: a command per
 * hash, several for more than 512 keys of one hash.
 *
 * A key counts as absent only if the rest of the table is known to be there: in our layout the hash
 * still has its mark, in DeepRec's the database still has the version.  Otherwise the key has no
 * result, and neither has a row of another size.  The cause is logged, with a rate limit for each
 * cause.  If replicas are read, only the master decides that a hash is missing.
 *
 * Rows of the layouts hps and tfra may change at any time, so they have a maximum age.
 */

/* Shared by the tables of one model version. */
typedef struct sp_redis_store sp_redis_store;

typedef struct sp_redis_store_options {
	const sp_redis_address *address;
	bool is_cluster;
	bool read_replicas;
	sp_redis_layout layout;
	const char *model; /* in names of keys */
	int64_t full;      /* step of the full checkpoint; versioned and deeprec */
	uint64_t content;  /* versioned: identifies the checkpoint's rows; 0: not compared */
	size_t partitions; /* hps: 0 means 16; tfra: slices, 0 means 1; otherwise read from Redis */

	int64_t timeout_ms;      /* of a call; 0: 5 */
	bool fail_on_timeout;    /* a call fails if a key has no result in time */
	int64_t max_age_s;       /* hps, tfra: maximum age in the cache; 0: none */
	int64_t open_timeout_ms; /* of opening; 0: 5000 */

	size_t cache_bytes; /* memory of each table; but see sp_redis_store_divide_cache() */
	sp_row_cache_policy policy;
	sp_row_file_options file; /* folder NULL: none */
} sp_redis_store_options;

/*
 * Connects, and finds the version.  SP_NOT_FOUND if Redis does not have it (yet), SP_IO or
 * SP_DEADLINE if Redis cannot be reached.  `options` are not needed afterwards.
 */
SP_MUST_CHECK sp_status sp_redis_store_open(sp_redis_store **out,
					    const sp_redis_store_options *options, sp_error *err);

/* Each tier holds a reference.  NULL is fine.  Threads: thread-safe. */
sp_redis_store *sp_redis_store_retain(sp_redis_store *store);
void sp_redis_store_release(sp_redis_store *store);

size_t sp_redis_store_cache_bytes(const sp_redis_store *store);

/* Whether all tables share cache_bytes, because their numbers of rows are unknown. */
bool sp_redis_store_shares_cache(const sp_redis_store *store);

/*
 * If so: gives each table its share, with which it can cache as many rows as the others; until then
 * it caches sixteen.  Called after the last table was opened, and before the first read.
 */
SP_MUST_CHECK sp_status sp_redis_store_divide_cache(sp_redis_store *store, sp_error *err);

/*
 * Whether Redis was found to have lost rows of the version since the last call, in our layout: a
 * hash without its mark.  Threads: thread-safe.
 */
bool sp_redis_store_had_loss(sp_redis_store *store);

typedef struct sp_redis_table_options {
	const char *name; /* copied */
	size_t dim;       /* elements of a row, >= 1 */
	size_t key_size;  /* 4 or 8, of the model's keys */

	/*
	 * deeprec: the numbers of the variable's parts among the graph's variables; a key's row is
	 * in part key % 1000 % feature_count.  Copied.
	 */
	const uint64_t *features;
	size_t feature_count;
} sp_redis_table_options;

/* SP_IO if Redis does not have the table; in the layouts hps and tfra that is not checked. */
SP_MUST_CHECK sp_status sp_redis_tier_open(sp_tier **out, sp_redis_store *store,
					   const sp_redis_table_options *options, sp_error *err);

#endif
