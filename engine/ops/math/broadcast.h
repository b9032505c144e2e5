#ifndef SP_ENGINE_OPS_BROADCAST_H
#define SP_ENGINE_OPS_BROADCAST_H

#include "engine/graph/op.h"

/*
 * Broadcasting of two to four operands, as numpy does it: shapes are aligned
 * at their last dimension, and where sizes differ one of them must be 1.
 *
 * Neighbouring dimensions in which the same operands broadcast are merged.  The result is iterated
 * in runs along the last merged dimension; within a run each operand either advances by one element
 * (step 1) or stays (step 0):
 *
 *     sp_broadcast b;
 *     SP_TRY(sp_broadcast__init(&b, call, operands, 2));
 *     SP_TRY(sp_call_output(call, 0, dtype, &b.shape));
 *     for (sp_broadcast__start(&b); b.more; sp_broadcast__next(&b))
 *             b.run elements from b.out on; operand i is read from b.at[i] on with step
 *             b.step[i]
 *
 * Equal shapes are one run, and so are a scalar and any shape.
 */
#define SP_BROADCAST_OPERANDS 4

typedef struct sp_broadcast {
	sp_shape shape; /* of the result */

	/* The iteration state, in elements; valid after sp_broadcast__start(). */
	bool more;
	size_t run;
	size_t out;
	size_t at[SP_BROADCAST_OPERANDS];
	size_t step[SP_BROADCAST_OPERANDS];

	size_t operands;
	int rank; /* number of merged dimensions, without the last */
	size_t dims[SP_MAX_RANK];
	size_t strides[SP_MAX_RANK][SP_BROADCAST_OPERANDS];
	size_t index[SP_MAX_RANK];
} sp_broadcast;

/*
 * The shape that a and b broadcast to; false when they are incompatible.  `out` may be a or b.
 */
bool sp_broadcast__shape(sp_shape *out, const sp_shape *a, const sp_shape *b);

/* For the first `operands` (2 to 4) inputs.  SP_INVALID names the shapes that do not broadcast. */
SP_MUST_CHECK sp_status sp_broadcast__init(sp_broadcast *b, const sp_call *call, size_t operands);

/* The same for shapes; false when they do not broadcast. */
bool sp_broadcast__plan(sp_broadcast *b, const sp_shape *const *shapes, size_t operands);

/* Call after a tensor of b->shape was made, which checks that its element count fits size_t. */
void sp_broadcast__start(sp_broadcast *b);

void sp_broadcast__next(sp_broadcast *b);

/*
 * Output 0 of the call becomes a tensor of b->shape and `dtype`, in the buffer of an operand where
 * that is allowed (sp_call_output_over).
 */
SP_MUST_CHECK sp_status sp_broadcast__output(const sp_broadcast *b, const sp_call *call,
					     sp_dtype dtype);

#endif
