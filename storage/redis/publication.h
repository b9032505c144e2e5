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
 * Writes a version's rows to Redis, table by table, and then makes it the one that is served:
 *
 *   open, { begin, put ... put, end } for each table, finish, close
 *
 * Until finish() has returned SP_OK, and after any failure, readers see what they saw before.  A
 * publication that was killed or has failed is resumed by the next one of the same version:
 * complete tables are not written again, nor are the rows of other tables that Redis has
 * acknowledged.  What is not resumed expires after a week; if Redis is out of memory, it is deleted
 * at once.
 *
 * One publication of a model runs at a time: it holds a lock and renews it.  If it is killed, the
 * lock expires after lock_seconds.
 *
 * versioned  The previous version's keys expire after keep_seconds; until then it can be made
 *            current again.  A table's rows are counted, and a sample of them is read back and
 *            compared.
 *
 * deeprec    Rows are written to the database, 0 or 1, that is not active, after it was emptied
 *            (FLUSHDB), which is done only if it holds nothing but what such a publication left.
 *            Then `active` is flipped.  The other database stays as it is until the next
 *            publication, as with DeepRec.
 *
 * Errors: SP_BUSY while another process publishes, or if *stop is true; SP_IO if Redis fails for
 * longer than patience_seconds or rejects a command; SP_CORRUPT if Redis does not hold what was
 * written, or not this layout.
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
	bool never_older;         /* does not make an older version than the current one current */
	bool waits;               /* waits up to lock_seconds for another publisher's lock */
	const atomic_bool *stop;  /* NULL: never */
} sp_redis_publication_options;

typedef struct sp_redis_publication_table {
	const char *name;
	size_t dim;
	size_t key_size; /* deeprec: 4 or 8 */

	/* deeprec: a row's feature is number key % 1000 % feature_count */
	const uint64_t *features;
	size_t feature_count;
} sp_redis_publication_table;

/* Counted over all tables. */
typedef struct sp_redis_publication_counts {
	uint64_t tables;
	uint64_t tables_there; /* of these complete before */
	uint64_t rows;         /* passed to put() */
	uint64_t rows_there;   /* of these acknowledged before */
	uint64_t rows_sent;
	uint64_t bytes_sent;    /* of rows, keys and names */
	uint64_t rows_compared; /* read back */
} sp_redis_publication_counts;

/* Takes the lock.  The texts and addresses in `options` must stay valid. */
SP_MUST_CHECK sp_status sp_redis_publication_open(sp_redis_publication **out,
						  const sp_redis_publication_options *options,
						  sp_error *err);

/* *is_there: the table is complete; put() and end() must not be called then. */
SP_MUST_CHECK sp_status sp_redis_publication_begin(sp_redis_publication *publication,
						   const sp_redis_publication_table *table,
						   bool *is_there, sp_error *err);

/*
 * The next rows, [count, dim] float32.  Their order must be the same whenever the version is
 * published.  Keys -1 and -2 are left out; of a repeated key the last row counts.
 */
SP_MUST_CHECK sp_status sp_redis_publication_put(sp_redis_publication *publication,
						 const int64_t *keys, const void *rows,
						 size_t count, sp_error *err);

/* After the last row. */
SP_MUST_CHECK sp_status sp_redis_publication_end(sp_redis_publication *publication, sp_error *err);

/* After the last table: checks that all tables are complete, and makes the version current. */
SP_MUST_CHECK sp_status sp_redis_publication_finish(sp_redis_publication *publication,
						    sp_error *err);

sp_redis_publication_counts sp_redis_publication_counts_of(const sp_redis_publication *publication);

/* Releases the lock.  NULL is fine. */
void sp_redis_publication_close(sp_redis_publication *publication);

/*
 * Called by readers of a version: if its keys expire, extends that to at least keep_seconds from
 * now.  options->version.full names the version, whose rows must be those of `content`; the rest of
 * options->version is ignored.  SP_NOT_FOUND if it is not there.  In the deeprec layout nothing
 * expires.
 */
SP_MUST_CHECK sp_status sp_redis_publication_keep(const sp_redis_publication_options *options,
						  uint64_t content, sp_error *err);

/*
 * Makes an earlier version current that has not expired: the one of the full checkpoint `full`, or
 * (-1) the previous one.  *out is its record; in the deeprec layout only `full` is set.
 * options->version is ignored.  SP_NOT_FOUND if it is not there.
 */
SP_MUST_CHECK sp_status sp_redis_publication_rollback(sp_redis_version *out,
						      const sp_redis_publication_options *options,
						      int64_t full, sp_error *err);

#endif
