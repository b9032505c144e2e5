#ifndef SP_MODEL_LOADER_VERSION_LOAD_ENVIRONMENT_H
#define SP_MODEL_LOADER_VERSION_LOAD_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "engine/graph/environment.h"
#include "engine/tensor/resource.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/embedding/embedding_set.h"
#include "model_loader/embedding/load_policy.h"
#include "storage/table/table.h"

/*
 * What the operations of a load program may read: one checkpoint, optionally with a delta, and the
 * files of the model's directory.
 *
 * Restores read the full checkpoint with the delta applied (model_loader/checkpoint/delta.h),
 * whichever of the two prefixes they name: each variable has only one state, the newest.
 * Embeddings are noted while the program runs and loaded after it.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_load_environment {
	sp_environment calls;                   /* for sp_run.environment */
	sp_bundle *full;                        /* NULL: the model has no checkpoint */
	sp_bundle *delta;                       /* NULL: none */
	const struct sp_load_environment *base; /* the owner of `full`; NULL: this environment */
	sp_map restored; /* "<name>\0<slice>" -> const sp_tensor *: values restored by programs */
	sp_map origins;  /* data of a value restored under a delta -> sp_value_origin */
	size_t restored_bytes; /* without values shared with the base */
	size_t memory_limit;
	const char *file_root;
	sp_load_policy policy;
	sp_embedding_set embeddings; /* noted while programs run, loaded afterwards */
} sp_load_environment;

typedef struct sp_load_environment_options {
	/*
	 * NULL: none; restores are SP_NOT_FOUND.  A missing tensor of a checkpoint is SP_INVALID.
	 */
	const char *checkpoint_prefix;
	const char *delta_prefix; /* NULL: none */

	/*
	 * NULL, or the environment in which the full checkpoint was loaded without a delta.
	 * checkpoint_prefix is then ignored, and unchanged values are shared: the full checkpoint
	 * is not read again, even if its files are deleted.  The tables of `base` must have been
	 * taken; those below the delta's rows are in base_resources.  Both must outlive the
	 * environment.
	 */
	sp_load_environment *base;
	const sp_resources *base_resources; /* NULL without a base */

	const sp_load_policy *policy; /* NULL: as DeepRec; its texts must outlive the environment */
	sp_ssd_store *ssd;            /* replaces policy->ssd; the environment takes a reference */
	sp_redis_store *redis;        /* the same for policy->redis */
	sp_shard_store *shards;       /* and for policy->shards */
	const sp_map *features;       /* replaces policy->features */

	/*
	 * Handles whose lookups the graph routes by key (model_loader/embedding/part_routes.h);
	 * NULL: unknown.
	 */
	const sp_map *by_key;

	/* Limit on the bytes of restored variables; 0: none.  SP_NO_MEMORY above it. */
	size_t memory_limit;

	/* Graphs may read files below this folder only; NULL: no files. */
	const char *file_root;
} sp_load_environment_options;

/*
 * Opens the bundles.  `arena`, that of the model version, must outlive the environment; `options`
 * are not needed afterwards.
 */
SP_MUST_CHECK sp_status sp_load_environment_create(sp_load_environment **out,
						   const sp_load_environment_options *options,
						   sp_arena *arena, sp_error *err);

/* The prefix of the full checkpoint; NULL: none. */
const char *sp_load_environment_prefix(const sp_load_environment *environment);

/* Destroys the tables that were not taken.  NULL is fine. */
void sp_load_environment_destroy(sp_load_environment *environment);

/* Whether the full checkpoint or the delta has this variable, or rows of it. */
bool sp_load_environment_has(const sp_load_environment *environment, sp_bytes name);

/*
 * After the load programs: loads the embeddings among resources indices[0 ... count - 1] that have
 * no table yet.  Handles of the parts of one EmbeddingVariable share a table if that cannot change
 * an answer.
 *
 * SP_INVALID when no program has declared defaults or origin of an embedding, or the checkpoint
 * lacks it; else as sp_embedding_find() and sp_embedding_load()
 * (model_loader/embedding/embedding_variable.h).
 */
SP_MUST_CHECK sp_status sp_load_environment_load_tables(sp_load_environment *environment,
							sp_resources *resources,
							const uint32_t *indices, size_t count,
							sp_error *err);

/* Where a value restored under a delta comes from. */
typedef enum sp_value_origin {
	SP_VALUE_ELSEWHERE, /* it was not restored, or was copied since */
	SP_VALUE_OF_FULL,   /* unchanged by the delta */
	SP_VALUE_OF_DELTA,  /* all of it, or some rows */
} sp_value_origin;

sp_value_origin sp_load_environment_origin(const sp_load_environment *environment,
					   const sp_tensor *value);

#endif
