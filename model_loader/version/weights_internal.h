#ifndef SP_MODEL_LOADER_VERSION_WEIGHTS_INTERNAL_H
#define SP_MODEL_LOADER_VERSION_WEIGHTS_INTERNAL_H

#include "model_loader/version/load_environment.h"
#include "model_loader/version/weights.h"

/*
 * The inside of weights, shared by all weights*.c.
 *
 * Values are what the load program made, all but the tables: the variables and
 * what follows from them, and the environment that deltas are loaded in.
 */
struct sp_weights {
	sp_model *model;
	sp_arena *arena;
	sp_resources resources;
	sp_load_environment *environment; /* of a full checkpoint: for the deltas on it, too */
	sp_weights *base;                 /* NULL: these are of a full checkpoint */
	size_t users;                     /* whoever loaded them, and the weights based on them */
	sp_table **tables;
	size_t table_count;
	sp_snapshot *snapshot; /* NULL: they never answer, they are but a base */

	/* Whose values these are; they are kept for as long, and their tables are not.  NULL: they
	 * have their own. */
	sp_weights *lender;
	size_t borrowers;

	/* Of values of a delta: those of its full checkpoint, which they refer to. */
	sp_weights *base_values;
};

/* The weights that have the values of these: themselves, or their lender. */
static inline sp_weights *sp_weights__values(sp_weights *weights)
{
	return weights->lender != NULL ? weights->lender : weights;
}

/* These, kept for somebody who gives them back. */
sp_weights *sp_weights__lend(sp_weights *from);
void sp_weights__give_back(sp_weights *lender); /* NULL is fine */

/* Without anything in it but resources without values; *out is set also by a failure. */
SP_MUST_CHECK sp_status sp_weights__create(sp_weights **out, sp_model *model, sp_weights *base,
					   sp_error *err);

/*
 * With the values of `from`, room for as many tables as there are resources, and
 * no table and no snapshot yet; on `base`, or NULL.  *out is set also by a failure.
 */
SP_MUST_CHECK sp_status sp_weights__borrow(sp_weights **out, sp_weights *from, sp_weights *base,
					   sp_error *err);

/* Runs the load programs: everything gets its value but embeddings. */
SP_MUST_CHECK sp_status sp_weights__load_dense(sp_weights *weights,
					       const sp_weights_options *options, sp_error *err);

/* After that: SP_INVALID when something that a servable signature reaches, but for embeddings,
 * has none. */
SP_MUST_CHECK sp_status sp_weights__check_dense(const sp_weights *weights, sp_error *err);

/*
 * Loads the embeddings that have no table yet, checks that nothing is missing,
 * makes the snapshot.
 */
SP_MUST_CHECK sp_status sp_weights__complete(sp_weights *weights, sp_error *err);

/* For each resource whether a servable signature reads it, for sp_free(); NULL without memory. */
bool *sp_weights__read_resources(const sp_weights *weights);

/* Calls visit(context, i) for every embedding i of the resources that a servable signature reaches.
 */
typedef sp_status sp_weights_visit(void *context, size_t i, sp_error *err);
SP_MUST_CHECK sp_status sp_weights__each_embedding(const sp_weights *weights,
						   sp_weights_visit *visit, void *context,
						   sp_error *err);

/* What its variables, and what follows from them, take. */
size_t sp_weights__dense_size(const sp_weights *weights);

/*
 * That a delta is of the model: SP_CORRUPT when it has none of the variables that servable
 * signatures read and the full checkpoint has given them.  Of those that it lacks beside others a
 * log line tells.  After sp_weights__load_dense().
 */
SP_MUST_CHECK sp_status sp_weights__check_delta(const sp_weights *weights, sp_error *err);

/* The same by the rows of embeddings, where there are no such variables; after all is loaded. */
SP_MUST_CHECK sp_status sp_weights__check_delta_rows(const sp_weights *weights, sp_error *err);

/*
 * Gives values to variables that the load program has left without one, by the
 * objects that SavedModel and checkpoint tell of.  What they do not tell stays
 * without.
 */
SP_MUST_CHECK sp_status sp_weights__restore_objects(sp_weights *weights, sp_error *err);

#endif
