#ifndef SP_MODEL_LOADER_VERSION_WEIGHTS_SWAP_H
#define SP_MODEL_LOADER_VERSION_WEIGHTS_SWAP_H

#include <stddef.h>

#include "base/status.h"
#include "model_loader/version/weights.h"

/*
 * From the weights of one checkpoint to those of another, where memory does not
 * hold both: embedding by embedding, the largest first.
 *
 *   create                 reads the new variables, and of embeddings their index
 *   next, next ...         loads an embedding, all parts of it
 *   finish                 the new weights, complete
 *
 * What next() gives is a mixture: of every embedding the new rows where they are
 * loaded and the old ones where not, with the old variables.  Variables come
 * last: until then one network, the old one, answers, and what it is given moves
 * embedding by embedding, as in training.
 *
 * The embeddings that were loaded stay with the last mixture when a later one
 * cannot be; what they replaced is gone then.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_weights_swap sp_weights_swap;

/*
 * To the full checkpoint of `options`, without a delta; nothing of `options` is
 * needed afterwards.  `from` is what is published, perhaps a mixture itself, and
 * nothing else is based on it or on what it is based on.  An image is neither
 * read nor made.
 *
 * SP_NO_MEMORY when even so it takes more than options->memory_limit beside
 * `from` at some time; everything that can be told before rows are read is told
 * here, too.  `from` is as it was after a failure.
 */
SP_MUST_CHECK sp_status sp_weights_swap_create(sp_weights_swap **out, sp_weights *from,
					       const sp_weights_options *options, sp_error *err);

/* Of a swap that is not finished: the mixtures stay.  NULL is fine. */
void sp_weights_swap_destroy(sp_weights_swap *swap);

/* How many embeddings there are, and how many are loaded. */
size_t sp_weights_swap_count(const sp_weights_swap *swap);
size_t sp_weights_swap_loaded(const sp_weights_swap *swap);

/*
 * Loads the next embedding: *out is the mixture to be published, the caller's.
 * Its old rows go with the weights that were published before, which the caller
 * destroys after their last request, and before the next embedding.  After a
 * failure the mixture before stays what it is.
 */
SP_MUST_CHECK sp_status sp_weights_swap_next(sp_weights_swap *swap, sp_weights **out,
					     sp_error *err);

/* After the last embedding: weights like those of sp_weights_load(). */
SP_MUST_CHECK sp_status sp_weights_swap_finish(sp_weights_swap *swap, sp_weights **out,
					       sp_error *err);

#endif
