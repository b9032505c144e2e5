#ifndef SP_MODEL_LOADER_VERSION_WEIGHTS_INTERNAL_H
#define SP_MODEL_LOADER_VERSION_WEIGHTS_INTERNAL_H

#include "model_loader/version/load_environment.h"
#include "model_loader/version/weights.h"

/*
 * The inside of weights: weights_load.c makes them, weights.c holds them and folds a delta.
 *
 * Values are all that loading made but the tables.  A fold makes weights with the
 * same values and other tables; the values live as long as any weights that have them.
 */
typedef struct sp_values {
	size_t users; /* weights, and the values of deltas that refer to these */
	sp_arena *arena;
	sp_resources resources;           /* of the weights that were loaded */
	sp_load_environment *environment; /* of a full checkpoint: for the deltas on it, too */
	sp_snapshot *snapshot;
	struct sp_values *base; /* of a delta: those of its full checkpoint, to which they refer */
} sp_values;

struct sp_weights {
	sp_model *model;
	sp_values *values;
	sp_weights *base; /* NULL: these are of a full checkpoint */
	size_t users;     /* whoever loaded them, and the weights based on them */
	sp_table **tables;
	size_t table_count;
	sp_resources *resources; /* the values', or a copy with the tables of a fold */
	sp_snapshot *snapshot;   /* likewise; NULL: they never answer, they are but a base */
	sp_arena *arena;         /* of the copies; NULL without a fold */
};

/* Without anything in it but resources without values; *out is set also by a failure. */
SP_MUST_CHECK sp_status sp_weights__create(sp_weights **out, sp_model *model, sp_weights *base,
					   sp_error *err);

/* For each resource whether a servable signature reads it, for sp_free(); NULL without memory. */
bool *sp_weights__read_resources(const sp_weights *weights);

/*
 * That a delta is of the model: SP_CORRUPT when it has none of the variables that servable
 * signatures read and the full checkpoint has given them.  A log line names those that it lacks
 * beside others.  After the load programs.
 */
SP_MUST_CHECK sp_status sp_weights__check_delta(const sp_weights *weights, sp_error *err);

/* The same by the rows of embeddings, where there are no such variables; after all is loaded. */
SP_MUST_CHECK sp_status sp_weights__check_delta_rows(const sp_weights *weights, sp_error *err);

/*
 * Gives values to variables that the load program has left without one, by the
 * object graphs of SavedModel and checkpoint.  Those that are not in them stay without.
 */
SP_MUST_CHECK sp_status sp_weights__restore_objects(sp_weights *weights, sp_error *err);

#endif
