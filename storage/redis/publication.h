#ifndef SP_STORAGE_REDIS_PUBLICATION_H
#define SP_STORAGE_REDIS_PUBLICATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/redis/layout.h"
#include "storage/redis/redis_address.h"

/*
 * Writes a version's rows to Redis, table by table, and only then makes it the one that is served:
 *
 *   open, { begin, put ... put, end } for each table, finish, close
 *
 * Until finish() has returned SP_OK, and after any failure, readers see what they saw before.  A
 * publication that was killed or has failed is gone on with by the next one of the same version:
 * complete tables are not written again, and of the others not the rows that Redis has
 * acknowledged.  What nobody goes on with expires after a week; when Redis is out of memory, what
 * was written is deleted at once.
 *
 * One publication of a model runs at a time: it holds a lock, which it renews, and which ends by
 * itself after lock_seconds if it is killed.
 *
 * versioned  The former version's keys expire after keep_seconds, and can be made current until
 *            then.  A table's rows are counted, and some of them read back and compared.
 *
 * deeprec    Rows go to the database, 0 or 1, that is not active, which is emptied (FLUSHDB) if it
 *            has nothing but what such a publication has left; then `active` is flipped.  The other
 *            one stays as it is until the next publication, as DeepRec leaves it.
 *
 * Errors: SP_BUSY while another one publishes, or *stop is true; SP_IO when Redis fails for longer
 * than patience_seconds or refuses a command; SP_CORRUPT when what Redis has is not what was
 * written, or isn't of this layout.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_redis_publication sp_redis_publication;

typedef struct sp_redis_publication_options {
	const sp_redis_address *address;
	bool is_cluster;
	sp_redis_layout layout; /* SP_REDIS_VERSIONED or SP_REDIS_DEEPREC */
	const char *model;
	sp_redis_version version;

	int64_t rows_per_second;  /* 0: no limit */
	int64_t keep_seconds;     /* 0: a day */
	int64_t lock_seconds;     /* 0: 30 */
	int64_t patience_seconds; /* 0: 30 */
	bool never_older;         /* an older version than the current one isn't made current */
	bool waits;               /* for a lock of somebody else, as long as lock_seconds */
	const atomic_bool *stop;  /* NULL: never */
} sp_redis_publication_options;

typedef struct sp_redis_publication_table {
	const char *name;
	size_t dim;
	size_t key_size; /* deeprec: 4 or 8 */

	/* deeprec: key % 1000 % feature_count decides which feature a row belongs to. */
	const uint64_t *features;
	size_t feature_count;
} sp_redis_publication_table;

/* Counted over all tables. */
typedef struct sp_redis_publication_counts {
	uint64_t tables;
	uint64_t tables_there; /* of them, were complete already */
	uint64_t rows;         /* delivered, without those of complete tables */
	uint64_t rows_there;   /* of them, were acknowledged before */
	uint64_t rows_sent;
	uint64_t bytes_sent;    /* of rows, keys and names */
	uint64_t rows_compared; /* read back */
} sp_redis_publication_counts;

/* Takes the lock.  The texts and addresses of `options` must stay valid. */
SP_MUST_CHECK sp_status sp_redis_publication_open(sp_redis_publication **out,
						  const sp_redis_publication_options *options,
						  sp_error *err);

/* *is_there: the table is complete, so that neither put() nor end() is to be called. */
SP_MUST_CHECK sp_status sp_redis_publication_begin(sp_redis_publication *publication,
						   const sp_redis_publication_table *table,
						   bool *is_there, sp_error *err);

/*
 * The next rows, [count, dim] float32, in the same order whenever the version is published; keys
 * -1 and -2 are left out.  The later row of a repeated key counts.
 */
SP_MUST_CHECK sp_status sp_redis_publication_put(sp_redis_publication *publication,
						 const int64_t *keys, const void *rows,
						 size_t count, sp_error *err);

/* After the last row. */
SP_MUST_CHECK sp_status sp_redis_publication_end(sp_redis_publication *publication, sp_error *err);

/* After the last table: checks that all is there, and makes the version current. */
SP_MUST_CHECK sp_status sp_redis_publication_finish(sp_redis_publication *publication,
						    sp_error *err);

sp_redis_publication_counts sp_redis_publication_counts_of(const sp_redis_publication *publication);

/* Gives the lock back.  NULL is fine. */
void sp_redis_publication_close(sp_redis_publication *publication);

/*
 * For who reads a version: if its keys expire, they do so keep_seconds from now at the earliest.
 * options->version is that of `full` in Redis, whose rows are those of `content`; what it says
 * besides `full` is ignored.  SP_NOT_FOUND if it is not there.  In the deeprec layout nothing
 * expires.
 */
SP_MUST_CHECK sp_status sp_redis_publication_keep(const sp_redis_publication_options *options,
						  uint64_t content, sp_error *err);

/*
 * Makes a version current that was before and has not expired: the one of the full checkpoint
 * `full`, or, -1, the former one.  *out is its record; in the deeprec layout only `full` is set.
 * options->version is ignored.  SP_NOT_FOUND if it is not there.
 */
SP_MUST_CHECK sp_status sp_redis_publication_rollback(sp_redis_version *out,
						      const sp_redis_publication_options *options,
						      int64_t full, sp_error *err);

#endif
