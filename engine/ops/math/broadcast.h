#ifndef SP_ENGINE_OPS_BROADCAST_H
#define SP_ENGINE_OPS_BROADCAST_H

#include "engine/graph/op.h"

/*
 * Broadcasting of two to four operands, as numpy does it: shapes are aligned
 * at their last dimension, and where sizes differ one of them must be 1.
 *
 * Neighbouring dimensions in which the same operands repeat are taken as one.
 * What is left is walked in runs along the last one, within which each operand
 * either advances by one element (step 1) or stays (step 0):
 *
 *     sp_broadcast b;
 *     SP_TRY(sp_broadcast__init(&b, call, operands, 2));
 *     SP_TRY(sp_call_output(call, 0, dtype, &b.shape));
 *     for (sp_broadcast__start(&b); b.more; sp_broadcast__next(&b))
 *             b.run elements from b.out on, of operand i from b.at[i] on, step b.step[i]
 *
 * Equal shapes, and a scalar with anything, are one run.
 */
#define SP_BROADCAST_OPERANDS 4

typedef struct sp_broadcast {
	sp_shape shape; /* of the result */

	/* The walk, in elements.  Only meaningful when the result could be counted. */
	bool more;
	size_t run;
	size_t out;
	size_t at[SP_BROADCAST_OPERANDS];
	size_t step[SP_BROADCAST_OPERANDS];

	size_t operands;
	int rank; /* of the dimensions taken together, without the last */
	size_t dims[SP_MAX_RANK];
	size_t strides[SP_MAX_RANK][SP_BROADCAST_OPERANDS];
	size_t index[SP_MAX_RANK];
} sp_broadcast;

/*
 * The shape that both broadcast to; false when there is none.  `out` may be one
 * of them.
 */
bool sp_broadcast__shape(sp_shape *out, const sp_shape *a, const sp_shape *b);

/* The first `operands` (2 to 4) inputs of the call.  SP_INVALID with the shapes in words. */
SP_MUST_CHECK sp_status sp_broadcast__init(sp_broadcast *b, const sp_call *call, size_t operands);

/* The same for shapes; false when they do not fit. */
bool sp_broadcast__plan(sp_broadcast *b, const sp_shape *const *shapes, size_t operands);

/* Call when b->shape has been found countable, by making a tensor of it. */
void sp_broadcast__start(sp_broadcast *b);

void sp_broadcast__next(sp_broadcast *b);

/*
 * Output 0 of the call becomes a tensor of b->shape and `dtype`, in the bytes of
 * an operand where that is allowed (sp_call_output_over).
 */
SP_MUST_CHECK sp_status sp_broadcast__output(const sp_broadcast *b, const sp_call *call,
					     sp_dtype dtype);

#endif
