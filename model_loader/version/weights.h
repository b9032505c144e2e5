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
 * One version of a model's weights: variables, lookup tables, embeddings, and
 * what the program computes from them alone.
 *
 * Threads: immutable once loaded; loaded and destroyed by one thread at a time.
 */
typedef struct sp_weights sp_weights;

typedef struct sp_weights_options {
	/* NULL: the SavedModel's own, in variables/variables; none there is fine for constants. */
	const char *checkpoint_prefix;
	/* A delta on that checkpoint; NULL without one.  For sp_weights_load_delta(). */
	const char *delta_prefix;

	const sp_load_policy *policy; /* NULL: DeepRec's way */
	sp_ssd_store *ssd;            /* for tables larger than its memory; NULL: none go there */

	/*
	 * Bytes that the weights of a full checkpoint may take, by what its index says; 0: any.
	 * Those that would take more are SP_NO_MEMORY, and no embedding is read.
	 */
	size_t memory_limit;
} sp_weights_options;

/*
 * Restores and initialises with the graph's own operations, then checks that
 * all that a servable signature reaches has a value.
 *
 * The first weights of a model settle which signatures it has: one that they
 * leave without a value, and that need not be servable, is taken out.  Later
 * weights that lack something are refused (SP_INVALID).  SP_NOT_FOUND is what
 * files are not there, never what a checkpoint lacks.
 *
 * `model` outlives the weights.  Nothing of `options` is needed afterwards.
 */
SP_MUST_CHECK sp_status sp_weights_load(sp_weights **out, sp_model *model,
					const sp_weights_options *options, sp_error *err);

/*
 * The weights that a delta makes of `full`, which were loaded without one.  Its
 * rows lie over those of `full`, its dense variables replace theirs, and all
 * that it leaves as it was is shared: nothing of the full checkpoint is read
 * again, also if its files are gone.  The new weights keep `full` alive.
 *
 * SP_CORRUPT when the two do not belong together, as when the delta has nothing of the
 * model; SP_NOT_FOUND when `full` has been folded, and not for this delta
 * (sp_weights_fold), or files are not there.
 */
SP_MUST_CHECK sp_status sp_weights_load_delta(sp_weights **out, sp_weights *full,
					      const sp_weights_options *options, sp_error *err);

/*
 * The weights of the full checkpoint alone on which these lie: themselves without a delta.
 * They may have been folded.
 */
sp_weights *sp_weights_base(sp_weights *weights);

/* The image that embeddings are mapped from; NULL when they are not.  Lives with the weights. */
const char *sp_weights_image(const sp_weights *weights);

/*
 * Requests fail until the weights are loaded anew, because the image that they
 * came from turned out to be wrong.  Thread-safe.
 */
bool sp_weights_are_broken(const sp_weights *weights);

/* The tables of embeddings, in no particular order; they are the weights'. */
size_t sp_weights_table_count(const sp_weights *weights);
const sp_table *sp_weights_table(const sp_weights *weights, size_t i);

/*
 * The weights of a delta once more, with `folded` in place of table `i`, of which it
 * was made (storage/table/layers_fold.h), and is shared; so is all else, and is kept alive
 * but for the layers.  They answer as before, and so do those that they are based on
 * for the deltas that come: sp_weights_load_delta() is SP_NOT_FOUND when a delta
 * lacks a key of which a row was folded, because the full checkpoint's row is
 * not in memory any more.
 */
SP_MUST_CHECK sp_status sp_weights_fold(sp_weights **out, sp_weights *weights, size_t i,
					const sp_table *folded, sp_error *err);

/* Whether rows of a delta were folded into them: they are no full checkpoint's then. */
bool sp_weights_are_folded(const sp_weights *weights);

/*
 * Bytes of memory that go when they do: variables, what follows from them,
 * embeddings.  Of a delta, what it has beside its full checkpoint.
 */
size_t sp_weights_footprint(const sp_weights *weights);

/* One user more, to be destroyed once more; gives `weights`. */
sp_weights *sp_weights_share(sp_weights *weights);

/*
 * Whether the files are there with all their bytes, as far as the index tells:
 * SP_NOT_FOUND, SP_CORRUPT or SP_IO while they are still being copied.
 */
SP_MUST_CHECK sp_status sp_weights_find_files(const sp_weights_options *options, sp_error *err);

/* Gone with the last user; weights that lie on others use those.  NULL is fine. */
void sp_weights_destroy(sp_weights *weights);

const sp_snapshot *sp_weights_snapshot(const sp_weights *weights);

#endif
