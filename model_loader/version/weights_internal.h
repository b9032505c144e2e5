#ifndef SP_MODEL_LOADER_VERSION_WEIGHTS_INTERNAL_H
#define SP_MODEL_LOADER_VERSION_WEIGHTS_INTERNAL_H

#include "model_loader/version/load_environment.h"
#include "model_loader/version/weights.h"

/*
 * Shared by weights_load.c, which makes weights, and weights.c, which holds them and folds deltas.
 *
 * Values are everything that loading made, except the tables.  A fold makes weights with the same
 * values and other tables; values live as long as any weights that use them.
 */
typedef struct sp_values {
	size_t users; /* weights, and values of deltas based on these */
	sp_arena *arena;
	sp_resources resources;           /* of the weights that were loaded */
	sp_load_environment *environment; /* for a full checkpoint: also used by its deltas */
	sp_snapshot *snapshot;
	struct sp_values *base; /* for a delta: the values of its full checkpoint */
} sp_values;

struct sp_weights {
	sp_model *model;
	sp_values *values;
	sp_weights *base; /* NULL: weights of a full checkpoint */
	size_t users;     /* the loader, and the weights based on these */
	sp_table **tables;
	size_t table_count;
	sp_resources *resources; /* those of the values, or a fold's copy with its tables */
	sp_snapshot *snapshot;   /* likewise; NULL: only a base, never used for answers */
	sp_arena *arena;         /* of a fold's copies; else NULL */
};

/* Creates weights whose resources have no values; *out is set also after a failure. */
SP_MUST_CHECK sp_status sp_weights__create(sp_weights **out, sp_model *model, sp_weights *base,
					   sp_error *err);

/* For each resource whether a servable signature reads it, for sp_free(); NULL: out of memory. */
bool *sp_weights__read_resources(const sp_weights *weights);

/*
 * After the load programs: SP_CORRUPT when the delta has none of the variables that servable
 * signatures read and the full checkpoint has.  If it has some, the missing ones are logged.
 */
SP_MUST_CHECK sp_status sp_weights__check_delta(const sp_weights *weights, sp_error *err);

/* If there are no such variables: checks the rows of embeddings, after everything is loaded. */
SP_MUST_CHECK sp_status sp_weights__check_delta_rows(const sp_weights *weights, sp_error *err);

/*
 * Gives values to variables that the load program has left without one, by the object graphs of
 * SavedModel and checkpoint.  Variables that are not in these stay without a value.
 */
SP_MUST_CHECK sp_status sp_weights__restore_objects(sp_weights *weights, sp_error *err);

#endif
