#ifndef SP_TESTS_SUPPORT_SEEN_H
#define SP_TESTS_SUPPORT_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model_loader/version/load_environment.h"
#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"

/*
 * Checkpoints that tell how often, and when last, training has seen the keys of an embedding
 * "t", and their loads.  A load that went wrong says why in `err`.
 */
enum {
	SP_SEEN_DIM = 4,
	SP_SEEN_BOTH = 1 << SP_TABLE_FREQUENCIES | 1 << SP_TABLE_VERSIONS,
};

/* A full checkpoint, or a delta on one. */
typedef struct sp_seen_load {
	sp_load_environment *environment;
	sp_resource items[2];
	sp_resources list;
} sp_seen_load;

typedef struct sp_seen {
	char folder[SP_PATH_SIZE]; /* of all files */
	char full_prefix[SP_PATH_SIZE + 32], delta_prefix[SP_PATH_SIZE + 32];
	sp_checkpoint_tensor tensors[16]; /* of the next checkpoint */
	size_t tensor_count;
	sp_arena *arena;
	sp_seen_load full, delta;
	sp_error err;

	/* To be set. */
	sp_load_policy policy;
	sp_embedding_options settings;
	sp_ssd_store *store;
} sp_seen;

void sp_seen_init(sp_seen *seen);
void sp_seen_fini(sp_seen *seen);

/* Adds a vector, or rows of zeros, to the next checkpoint; writes that. */
void sp_seen_add(sp_seen *seen, const char *name, sp_dtype dtype, const void *data, int64_t count);
void sp_seen_add_rows(sp_seen *seen, const char *name, int64_t count);
void sp_seen_write(sp_seen *seen, const char *prefix);

/* What sp_seen_write_all() writes: four rows, and two keys that a filter has refused. */
extern const int64_t sp_seen_keys[4], sp_seen_freqs[4], sp_seen_versions[4];
extern const int64_t sp_seen_refused[2], sp_seen_refused_freqs[2], sp_seen_refused_versions[2];
extern const float sp_seen_rows[64 * SP_SEEN_DIM];

void sp_seen_write_all(sp_seen *seen);

/* Key 7 again, key 8, which was refused before, and 100, which is new; NULL: it is not said. */
extern const int64_t sp_seen_delta_keys[3];

void sp_seen_write_delta(sp_seen *seen, const int64_t *freqs, const int64_t *versions);

sp_resource sp_seen_resource(const char *name, unsigned columns);

/* Loads the first `handles` of load->items; `resets`: all versions are to be 0. */
sp_status sp_seen_load_tables(sp_seen *seen, sp_seen_load *load,
			      const sp_load_environment_options *options, size_t handles,
			      bool resets);

/* The table of "t", in full.items[0] with these columns, in delta.items[0] with those of full. */
sp_status sp_seen_load_full(sp_seen *seen, unsigned columns);
sp_status sp_seen_load_delta(sp_seen *seen);

/* What a table says of `count` <= 16 keys, or of one. */
void sp_seen_check(const sp_table *table, sp_table_column column, const int64_t *keys,
		   const int64_t *want, size_t count);
void sp_seen_check_one(const sp_table *table, sp_table_column column, int64_t key, int64_t want);

/* Keys that no checkpoint has were never seen. */
void sp_seen_check_absent(const sp_table *table);

#endif
