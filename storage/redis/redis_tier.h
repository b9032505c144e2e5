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
 * and the rules of storage/remote/remote_tier.h.  What a call lacks is one batch: a command per
 * hash, and of a long one per 512 keys.
 *
 * A key counts as absent only if the rest of the table is certainly there: in our layout the hash
 * still has its mark, in DeepRec's the database still has the version.  Otherwise it counts as not
 * answered, as do rows of another size.  A log line tells the cause, within a limit for each. Where
 * replicas are read, that a hash is not there counts only by the word of its master.
 *
 * Rows of the layouts hps and tfra may change at any time: they age.
 */

/* Shared by the tables of one model version. */
typedef struct sp_redis_store sp_redis_store;

typedef struct sp_redis_store_options {
	const sp_redis_address *address;
	bool is_cluster;
	bool read_replicas;
	sp_redis_layout layout;
	const char *model; /* in names */
	int64_t full;      /* step of the full checkpoint; versioned and deeprec */
	uint64_t content;  /* versioned: identifies the checkpoint's rows; 0: is not compared */
	size_t partitions; /* hps: 0 is 16; tfra: slices, 0 is 1; otherwise told by Redis */

	int64_t limit_ms;    /* of a call; 0: 5 */
	bool fails;          /* a call without an answer in time fails */
	int64_t keep_s;      /* hps, tfra; 0: what is in memory does not age */
	int64_t patience_ms; /* of opening; 0: 5000 */

	size_t cache_bytes; /* memory of each table; but see sp_redis_store_divide() */
	sp_row_cache_policy policy;
	sp_row_file_options file; /* folder NULL: none */
} sp_redis_store_options;

/*
 * Connects, and finds the version.  SP_NOT_FOUND when Redis does not have it (yet), SP_IO or
 * SP_DEADLINE when it cannot be asked.
 * `options` are not needed afterwards.
 */
SP_MUST_CHECK sp_status sp_redis_store_open(sp_redis_store **out,
					    const sp_redis_store_options *options, sp_error *err);

/* Tiers hold their own references.  NULL is fine.  Threads: thread-safe. */
sp_redis_store *sp_redis_store_retain(sp_redis_store *store);
void sp_redis_store_release(sp_redis_store *store);

size_t sp_redis_store_cache_bytes(const sp_redis_store *store);

/* Whether all tables together have cache_bytes: nobody knows how many rows each has. */
bool sp_redis_store_is_divided(const sp_redis_store *store);

/*
 * Then: gives each table its part, in which it holds as many rows as the others; until then it
 * holds sixteen.  Call it after the last table was opened, and before the first read.
 */
SP_MUST_CHECK sp_status sp_redis_store_divide(sp_redis_store *store, sp_error *err);

/*
 * Whether Redis was met without rows of the version that it once had, in our layout, since this was
 * asked last: a hash lacks its mark.
 * Threads: thread-safe.
 */
bool sp_redis_store_take_loss(sp_redis_store *store);

/* Threads: thread-safe. */
void sp_redis_store_counters(const sp_redis_store *store, sp_redis_counters *out);

typedef struct sp_redis_table {
	const char *name; /* copied */
	size_t dim;       /* elements of a row, >= 1 */
	size_t key_size;  /* 4 or 8, of the model's keys */

	/*
	 * deeprec: the numbers of the variable's parts among the graph's variables: the row of a
	 * key is in part key % 1000 % feature_count.  Copied.
	 */
	const uint64_t *features;
	size_t feature_count;
} sp_redis_table;

/* SP_IO when Redis does not have the table; in the layouts hps and tfra nobody knows. */
SP_MUST_CHECK sp_status sp_redis_tier_open(sp_tier **out, sp_redis_store *store,
					   const sp_redis_table *table, sp_error *err);

#endif
