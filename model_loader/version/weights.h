#ifndef SP_MODEL_LOADER_VERSION_WEIGHTS_H
#define SP_MODEL_LOADER_VERSION_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "engine/runtime/program.h"
#include "model_loader/embedding/load_policy.h"
#include "model_loader/version/model.h"
#include "storage/table/table.h"

/*
 * One version of a model's weights: variables, lookup tables, embeddings, and everything that the
 * program computes from these alone.
 *
 * Threads: immutable once loaded; loaded and destroyed by one thread at a time.
 */
typedef struct sp_weights sp_weights;

typedef struct sp_weights_options {
	/* NULL: the SavedModel's own, variables/variables, which a model of constants may lack. */
	const char *checkpoint_prefix;
	/* A delta on that checkpoint, for sp_weights_load_delta(); NULL: none. */
	const char *delta_prefix;

	const sp_load_policy *policy; /* NULL: as DeepRec */
	sp_ssd_store *ssd;      /* for tables larger than its memory; NULL: all stay in memory */
	sp_redis_store *redis;  /* has the rows; NULL: they are read from the checkpoint */
	sp_shard_store *shards; /* has rows of policy->peers_names; NULL: likewise */

	/*
	 * Limit on the bytes of a full checkpoint's weights, estimated from its index; 0: none.
	 * Above it SP_NO_MEMORY, before any embedding is read.
	 */
	size_t memory_limit;
} sp_weights_options;

/*
 * Restores and initialises with the graph's own operations, then checks that everything that a
 * servable signature reads has a value.
 *
 * The first weights of a model decide which signatures it has: those that lack a value are taken
 * out, unless they must be servable.  Later weights that lack a value are refused (SP_INVALID).
 * SP_NOT_FOUND is for missing files only, not for tensors that a checkpoint lacks.
 *
 * `model` must outlive the weights.  `options` are not needed afterwards.
 */
SP_MUST_CHECK sp_status sp_weights_load(sp_weights **out, sp_model *model,
					const sp_weights_options *options, sp_error *err);

/*
 * Applies a delta to `full`, which was loaded without one.  Its rows lie over those of `full`, its
 * dense variables replace theirs, and everything else is shared: the full checkpoint is not read
 * again, even if its files are deleted.  The new weights keep `full` alive.
 *
 * SP_CORRUPT when the two do not belong together, for instance when the delta has nothing of the
 * model; SP_NOT_FOUND when files are missing, or when `full` has been folded with a delta that has
 * keys which this one lacks (sp_weights_fold).
 */
SP_MUST_CHECK sp_status sp_weights_load_delta(sp_weights **out, sp_weights *full,
					      const sp_weights_options *options, sp_error *err);

/*
 * The full checkpoint's weights below these, which may have been folded; without a delta, `weights`
 * itself.
 */
sp_weights *sp_weights_base(sp_weights *weights);

/* The path of the image that embeddings are mapped from; NULL: none.  Lives with the weights. */
const char *sp_weights_image(const sp_weights *weights);

/*
 * The image of the weights is damaged: requests fail until the weights are loaded again.
 * Thread-safe.
 */
bool sp_weights_are_broken(const sp_weights *weights);

/* The tables of embeddings, in any order; owned by the weights. */
size_t sp_weights_table_count(const sp_weights *weights);
const sp_table *sp_weights_table(const sp_weights *weights, size_t i);

/*
 * Copies the weights of a delta, with `folded`, made from table `i` (storage/table/layers_fold.h),
 * in its place.  Everything except the replaced layers is shared and kept alive.  Answers do not
 * change, and later deltas apply to the copy's base; but sp_weights_load_delta() returns
 * SP_NOT_FOUND for a delta that lacks a folded key, because the full checkpoint's row is no longer
 * in memory.
 */
SP_MUST_CHECK sp_status sp_weights_fold(sp_weights **out, sp_weights *weights, size_t i,
					const sp_table *folded, sp_error *err);

/* Whether rows of a delta were folded into them, so that they differ from the full checkpoint. */
bool sp_weights_are_folded(const sp_weights *weights);

/*
 * Bytes freed with the weights: variables, values computed from them, embeddings.  For a delta,
 * without its full checkpoint.
 */
size_t sp_weights_footprint(const sp_weights *weights);

/* Adds a user, who must also destroy it; returns `weights`. */
sp_weights *sp_weights_share(sp_weights *weights);

/*
 * Checks by the index whether all files are complete: SP_NOT_FOUND, SP_CORRUPT or SP_IO while they
 * are still being copied.
 */
SP_MUST_CHECK sp_status sp_weights_find_files(const sp_weights_options *options, sp_error *err);

/* Drops a user; the last one frees, and drops the base.  NULL is fine. */
void sp_weights_destroy(sp_weights *weights);

const sp_snapshot *sp_weights_snapshot(const sp_weights *weights);

#endif
