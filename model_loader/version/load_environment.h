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
 * What the operations of a load program may read: one checkpoint, perhaps with a
 * delta on it, and the files of the model's directory.
 *
 * Its restores read the full checkpoint with the delta taken in
 * (model_loader/checkpoint/delta.h), whichever of the two prefixes they ask for by name
 * first: there is one state of every variable, and that is the newest.
 * Embeddings are noted while the program runs and loaded after it.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_load_environment {
	sp_environment calls;                   /* for sp_run.environment */
	sp_bundle *full;                        /* NULL: the model has no checkpoint */
	sp_bundle *delta;                       /* NULL: none */
	const struct sp_load_environment *base; /* whose `full` it is; NULL: its own */
	sp_map restored; /* "<name>\0<slice>" -> const sp_tensor *, what programs have restored */
	sp_map origins;  /* data of a value restored under a delta -> sp_value_origin */
	size_t restored_bytes; /* without what the base has lent */
	size_t memory_limit;
	const char *file_root;
	sp_load_policy policy;
	sp_embedding_set embeddings; /* noted while programs run, loaded after them */
} sp_load_environment;

typedef struct sp_load_environment_options {
	/* NULL: none; restores are SP_NOT_FOUND.  A tensor that the checkpoint lacks is SP_INVALID.
	 */
	const char *checkpoint_prefix;
	const char *delta_prefix; /* NULL: none */

	/*
	 * NULL, or the environment in which the full checkpoint was loaded without a
	 * delta: checkpoint_prefix is not looked at, nothing of the full checkpoint is
	 * read again, also if its files are gone, and what the delta leaves as it was
	 * is shared.  Its tables were taken, and it outlives this one.  Those that
	 * the delta's rows lie over are in base_resources, which outlives it, too.
	 */
	sp_load_environment *base;
	const sp_resources *base_resources; /* NULL without a base */

	const sp_load_policy *policy; /* NULL: DeepRec's way; its texts outlive the environment */
	sp_ssd_store *ssd; /* in place of policy->ssd; the environment takes a reference */

	/* Handles that the graph asks by key (model_loader/embedding/part_routes.h); NULL: not
	 * known. */
	const sp_map *by_key;

	/* Bytes of variables that may be restored; 0: any.  More is SP_NO_MEMORY. */
	size_t memory_limit;

	/* Graphs may read files below this folder and no others; NULL: none at all. */
	const char *file_root;
} sp_load_environment_options;

/*
 * Opens the bundles.  `arena`, the model version's, must outlive the
 * environment; nothing else of `options` is needed afterwards.
 */
SP_MUST_CHECK sp_status sp_load_environment_create(sp_load_environment **out,
						   const sp_load_environment_options *options,
						   sp_arena *arena, sp_error *err);

/* The prefix of the full checkpoint; NULL when there is none. */
const char *sp_load_environment_prefix(const sp_load_environment *environment);

/* Destroys the tables that were not taken.  NULL is fine. */
void sp_load_environment_destroy(sp_load_environment *environment);

/* Whether the full checkpoint or the delta has such a variable, or rows of it. */
bool sp_load_environment_has(const sp_load_environment *environment, sp_bytes name);

/*
 * After the load programs: loads those embeddings among resources
 * indices[0 ... count - 1] that have no table yet.  Handles of the parts of one
 * EmbeddingVariable share one table where that cannot change an answer.
 *
 * SP_INVALID when a program has not said with which defaults or from where an
 * embedding is to be loaded, or the checkpoint lacks it; else as sp_embedding_find() and
 * sp_embedding_load() (model_loader/embedding/embedding_variable.h).
 */
SP_MUST_CHECK sp_status sp_load_environment_load_tables(sp_load_environment *environment,
							sp_resources *resources,
							const uint32_t *indices, size_t count,
							sp_error *err);

/* Where a value is from that programs have restored under a delta. */
typedef enum sp_value_origin {
	SP_VALUE_ELSEWHERE, /* it was not restored, or has been copied */
	SP_VALUE_OF_FULL,   /* the delta has left it alone */
	SP_VALUE_OF_DELTA,  /* all of it, or rows of it */
} sp_value_origin;

sp_value_origin sp_load_environment_origin(const sp_load_environment *environment,
					   const sp_tensor *value);

#endif
