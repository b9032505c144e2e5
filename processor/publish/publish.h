#ifndef SP_PROCESSOR_PUBLISH_PUBLISH_H
#define SP_PROCESSOR_PUBLISH_PUBLISH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model_loader/version/model.h"
#include "storage/redis/publication.h"

/*
 * Copies the embeddings of a full checkpoint to Redis: the rows that the model's tables would hold
 * by default, under the names of these tables.  Deltas are not copied: who reads the rows lays the
 * delta of its checkpoint folder over them, so that every request has one version.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_publish_source {
	const char *prefix; /* of the full checkpoint; with `is_own` that of the SavedModel's own */
	uint64_t content;   /* sp_identity_of_rows() (incremental/identity.h); 0 is SP_IO */
	bool is_own;        /* the SavedModel's weights, not a checkpoint's */
	int64_t full_step;  /* -1: none, which is 0 in Redis */
	int64_t delta_step; /* the delta that is there, for people; -1: none */
	bool only_finite;   /* rows with a NaN or an infinity are refused */
} sp_publish_source;

typedef struct sp_publish_options {
	const sp_redis_address *address;
	bool is_cluster;
	sp_redis_layout layout;
	const char *model; /* its name in Redis */
	sp_row_format format;
	size_t partitions; /* 0: 16; in a cluster 64 */
	int64_t rows_per_second, keep_seconds, lock_seconds, patience_seconds; /* 0: default */
	bool never_older; /* as in storage/redis/publication.h, and the next one */
	bool waits;
	const atomic_bool *stop; /* NULL: never */

	/*
	 * NULL, or is told of a table that begins, with an upper bound of its bytes, and of the
	 * bytes of its rows as they come (table NULL).
	 */
	void (*on_bytes)(void *context, const char *table, uint64_t bytes, uint64_t total);
	void *context;
} sp_publish_options;

typedef struct sp_publish_result {
	sp_redis_version version;
	sp_redis_publication_counts counts;
} sp_publish_result;

/*
 * Publishes (storage/redis/publication.h).  The model's graph says which tables there are; its
 * dense weights are loaded, too, and dropped.
 */
SP_MUST_CHECK sp_status sp_publish(sp_publish_result *out, sp_model *model,
				   const sp_publish_source *source,
				   const sp_publish_options *options, sp_error *err);

#endif
