#ifndef SP_ENGINE_MOVE_VARIANTS_H
#define SP_ENGINE_MOVE_VARIANTS_H

#include "engine/graph/op.h"

/*
 * Operators with SP_OP_MOVES over variants (engine/tensor/tensor_list.h): an array of lists, of
 * ragged tensors or of optionals is packed, gathered, sliced, reshaped as any other tensor.
 *
 * The operator itself runs over numbers that stand for the elements, and what it made of them
 * is replaced by references to these elements.  Where it put none, as between the indices of a
 * DynamicStitch, an element is not set.  Threads: pure.
 */

/* Instead of op->prepare: some inputs are VARIANT. */
SP_MUST_CHECK sp_status sp_move_variants__prepare(sp_prepare *prepare, const sp_op *op,
						  sp_error *err);

/* Instead of op->run. */
SP_MUST_CHECK sp_status sp_move_variants__run(const sp_call *call);

#endif
