#ifndef SP_STORAGE_REDIS_PUBLICATION_INTERNAL_H
#define SP_STORAGE_REDIS_PUBLICATION_INTERNAL_H

#include "base/arena.h"
#include "base/bytes.h"
#include "storage/redis/publication.h"
#include "storage/redis/redis_client.h"

enum {
	SP_REDIS_MAX_IN_FLIGHT = 8, /* batches of rows */
	SP_REDIS_MAX_SLICE = 1024,  /* rows of a batch */
	SP_REDIS_SAMPLES = 256,     /* rows of a table that are read back */
	SP_REDIS_LEFTOVER = 604800, /* seconds after which an abandoned publication expires */
};

/* A row that will be read back.  Sampling depends on the key, so the key's last row is known. */
typedef struct sp_redis_sample {
	int64_t key;
	char *row; /* as it is stored */
} sp_redis_sample;

/* The table that is being written. */
typedef struct sp_redis_writing {
	sp_redis_publication_table table;
	const char **hashes; /* [partitions]; versioned */
	size_t row_size;     /* as stored */
	size_t slice;        /* rows of a batch */
	uint64_t seen;       /* rows delivered */
	uint64_t there;      /* the first rows, which were acknowledged before */
	uint32_t crc;        /* of the keys and rows seen */
	uint32_t there_crc;  /* of the first `there` rows, as written before */
	uint32_t acknowledged_crc;
	uint64_t distinct; /* keys in Redis: those found at the beginning, and those added since */
	uint64_t acknowledged; /* rows, in order */
	uint64_t losses;       /* of the client, when the table began */
	int64_t saved_ns;      /* when the progress was last written */

	sp_redis_batch *batches[SP_REDIS_MAX_IN_FLIGHT]; /* a ring */
	size_t batch_rows[SP_REDIS_MAX_IN_FLIGHT];
	uint32_t batch_crc[SP_REDIS_MAX_IN_FLIGHT]; /* of all rows up to the batch's last */
	size_t first, in_flight;

	sp_redis_sample samples[SP_REDIS_SAMPLES];
	size_t sample_count;
	unsigned sample_bits; /* keys whose hash ends in so many zero bits are sampled */
} sp_redis_writing;

struct sp_redis_publication {
	sp_redis_publication_options options;
	sp_redis_client *client;       /* of the database that is written */
	sp_redis_client *other_client; /* deeprec: of the other database */
	sp_redis_client *lock_client;  /* one of the two */
	sp_arena *arena;
	const char *lock, *current, *record, *versions, *tables;
	int64_t database;  /* deeprec: the one that is written */
	bool is_published; /* deeprec: the version is there already */
	uint64_t total;    /* deeprec: rows of all tables */
	char token[64];    /* the value of the lock; "": not held */
	int64_t renew_ns;  /* when the lock is to be renewed */
	int64_t paid_ns;   /* when the next rows may be sent, at the allowed rate */
	bool is_full;      /* Redis is out of memory */
	bool has_failed;   /* rows could not be written */

	const char **names; /* of the tables so far */
	size_t name_count, name_capacity;

	sp_redis_writing writing;
	uint32_t *order; /* [SP_REDIS_MAX_SLICE] rows of a slice by partition */
	uint32_t *ends;  /* [partitions + 1] */
	char *row;       /* one stored row; grows */
	size_t row_capacity;
	sp_redis_publication_counts counts;
};

/* ---- commands (publication_commands.c) ---- */

int64_t sp_redis__patience_ns(const sp_redis_publication *p);

/* An empty batch. */
SP_MUST_CHECK sp_status sp_redis__batch_make(sp_redis_batch **out, sp_redis_client *client,
					     sp_error *err);

/* Adds a command of `count` words; the second one is its key, if there is one. */
void sp_redis__command(sp_redis_batch *batch, const char *const *words, size_t count);
#define SP_REDIS_COMMAND(batch, ...)                                   \
	sp_redis__command((batch), (const char *const[]){__VA_ARGS__}, \
			  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Runs the batch and releases it if it has failed. */
SP_MUST_CHECK sp_status sp_redis__run(const sp_redis_publication *p, sp_redis_batch *batch,
				      sp_error *err);

/* Runs the batch and releases it. */
SP_MUST_CHECK sp_status sp_redis__run_all(const sp_redis_publication *p, sp_redis_batch *batch,
					  sp_error *err);

/* GET; *out is in the publication's arena, NULL if there is no such key. */
SP_MUST_CHECK sp_status sp_redis__get(const char **out, const sp_redis_publication *p,
				      sp_redis_client *client, const char *key, sp_error *err);

/* ---- the lock ---- */

SP_MUST_CHECK sp_status sp_redis__lock(sp_redis_publication *p, sp_redis_client *client,
				       const char *key, sp_error *err);

/* Renews the lock if that is due; SP_BUSY if it is lost, or *stop is true. */
SP_MUST_CHECK sp_status sp_redis__check_lock(sp_redis_publication *p, sp_error *err);

/* Fails if the lock is no longer held. */
SP_MUST_CHECK sp_status sp_redis__renew(sp_redis_publication *p, sp_error *err);
void sp_redis__unlock(sp_redis_publication *p);

/* ---- rows (publication_rows.c) ---- */

/* Waits for all batches in flight. */
SP_MUST_CHECK sp_status sp_redis__wait_all(sp_redis_publication *p, sp_error *err);

/* Releases them without waiting. */
void sp_redis__release_in_flight(sp_redis_publication *p);

/* Reads the sampled rows back and compares them. */
SP_MUST_CHECK sp_status sp_redis__compare_samples(sp_redis_publication *p, sp_error *err);

/* ---- progress of a table: "rows=5 distinct=4 crc=123", or "done rows=7 distinct=6 crc=45" ---- */

typedef struct sp_redis_progress {
	bool done;
	uint64_t rows, distinct;
	uint32_t crc; /* of the keys and rows, as they came from the checkpoint */
} sp_redis_progress;

/* out->rows is 0 if there is no progress, or it is malformed. */
SP_MUST_CHECK sp_status sp_redis__progress_read(sp_redis_progress *out,
						const sp_redis_publication *p, const char *table,
						sp_error *err);
SP_MUST_CHECK sp_status sp_redis__progress_write(sp_redis_publication *p, bool done, sp_error *err);

/*
 * The rows that were written before differ from those delivered now: the next publication writes
 * the table from the beginning.  Returns SP_IO.
 */
sp_status sp_redis__restart_table(sp_redis_publication *p, const char *why, sp_error *err);

/* ---- the layouts ---- */

typedef struct sp_redis_tables {
	const char **names;
	size_t count;
} sp_redis_tables;

/* versioned (publication_versioned.c) */
SP_MUST_CHECK sp_status sp_redis__versioned_open(sp_redis_publication *p, sp_error *err);
SP_MUST_CHECK sp_status sp_redis__versioned_begin(sp_redis_publication *p, bool *is_there,
						  sp_error *err);
SP_MUST_CHECK sp_status sp_redis__versioned_end(sp_redis_publication *p, sp_error *err);
SP_MUST_CHECK sp_status sp_redis__versioned_finish(sp_redis_publication *p, sp_error *err);
SP_MUST_CHECK sp_status sp_redis__versioned_rollback(sp_redis_version *out, sp_redis_publication *p,
						     int64_t full, sp_error *err);
SP_MUST_CHECK sp_status sp_redis__versioned_keep(sp_redis_publication *p, uint64_t content,
						 sp_error *err);
void sp_redis__versioned_delete(sp_redis_publication *p);

/* deeprec (publication_deeprec.c) */
SP_MUST_CHECK sp_status sp_redis__deeprec_open(sp_redis_publication *p, sp_error *err);
SP_MUST_CHECK sp_status sp_redis__deeprec_begin(sp_redis_publication *p, bool *is_there,
						sp_error *err);
SP_MUST_CHECK sp_status sp_redis__deeprec_end(sp_redis_publication *p, sp_error *err);
SP_MUST_CHECK sp_status sp_redis__deeprec_finish(sp_redis_publication *p, sp_error *err);
SP_MUST_CHECK sp_status sp_redis__deeprec_rollback(sp_redis_version *out, sp_redis_publication *p,
						   int64_t full, sp_error *err);
void sp_redis__deeprec_delete(sp_redis_publication *p);

#endif
