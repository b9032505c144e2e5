#ifndef SP_ENGINE_MOVE_VARIANTS_H
#define SP_ENGINE_MOVE_VARIANTS_H

#include "engine/graph/op.h"

/*
 * Operators with SP_OP_MOVES on arrays of variants (engine/tensor/tensor_list.h): lists, ragged
 * tensors and optionals are packed, gathered, sliced and reshaped like any other elements.
 *
 * The operator runs on numbers that stand for the elements, and each number of its output becomes a
 * reference to its element.  An element that the operator did not write (between the indices of a
 * DynamicStitch) is unset.
 *
 * Threads: pure functions.
 */

/* Instead of op->prepare: some inputs are VARIANT. */
SP_MUST_CHECK sp_status sp_move_variants__prepare(sp_prepare *prepare, const sp_op *op,
						  sp_error *err);

/* Instead of op->run. */
SP_MUST_CHECK sp_status sp_move_variants__run(const sp_call *call);

#endif
