#include "engine/ops/math/broadcast.h"

#include <string.h>

#include "engine/tensor/workspace.h"

/* Dimension i of `shape` as if it had `rank` dimensions, with 1s in front. */
static int64_t aligned_dim(const sp_shape *shape, int rank, int i)
{
	int own = i - (rank - shape->rank);

	return own < 0 ? 1 : shape->dims[own];
}

bool sp_broadcast__shape(sp_shape *out, const sp_shape *a, const sp_shape *b)
{
	sp_shape shape = {.rank = a->rank > b->rank ? a->rank : b->rank};

	for (int i = 0; i < shape.rank; i++) {
		int64_t x = aligned_dim(a, shape.rank, i), y = aligned_dim(b, shape.rank, i);

		if (x != y && x != 1 && y != 1)
			return false;
		shape.dims[i] = x == 1 ? y : x;
	}
	*out = shape;
	return true;
}

bool sp_broadcast__plan(sp_broadcast *b, const sp_shape *const *shapes, size_t operands)
{
	*b = (sp_broadcast){.operands = operands, .shape = *shapes[0]};
	for (size_t k = 1; k < operands; k++)
		if (!sp_broadcast__shape(&b->shape, &b->shape, shapes[k]))
			return false;
	/* For now `strides` holds the aligned dims; sp_broadcast__start() computes the strides. */
	for (size_t k = 0; k < operands; k++)
		for (int i = 0; i < b->shape.rank; i++)
			b->strides[i][k] = (size_t)aligned_dim(shapes[k], b->shape.rank, i);
	return true;
}

sp_status sp_broadcast__init(sp_broadcast *b, const sp_call *call, size_t operands)
{
	const sp_shape *shapes[SP_BROADCAST_OPERANDS] = {NULL};
	char text[SP_BROADCAST_OPERANDS][SP_SHAPE_TEXT_SIZE];

	for (size_t k = 0; k < operands; k++)
		shapes[k] = &call->in[k]->shape;
	if (sp_broadcast__plan(b, shapes, operands))
		return SP_OK;
	for (size_t k = 0; k < operands; k++)
		sp_shape_text(shapes[k], text[k]);
	if (operands == 2)
		return sp_call_invalid(call, "incompatible shapes: %s and %s", text[0], text[1]);
	return sp_call_invalid(call, "incompatible shapes: %s, %s and %s", text[0], text[1],
			       text[2]);
}

/*
 * Drops dimensions of size 1 and merges neighbouring dimensions in which the same operands
 * broadcast.  On entry `strides` holds each operand's dims; on return 1 where it advances, 0 where
 * it broadcasts.
 */
static void merge_dimensions(sp_broadcast *b)
{
	int rank = 0;

	for (int i = 0; i < b->shape.rank; i++) {
		size_t dim = (size_t)b->shape.dims[i];
		size_t steps[SP_BROADCAST_OPERANDS];

		if (dim == 1)
			continue;
		for (size_t k = 0; k < b->operands; k++)
			steps[k] = b->strides[i][k] != 1;
		if (rank > 0 &&
		    memcmp(steps, b->strides[rank - 1], b->operands * sizeof(steps[0])) == 0) {
			b->dims[rank - 1] *= dim;
			continue;
		}
		memcpy(b->strides[rank], steps, b->operands * sizeof(steps[0]));
		b->dims[rank++] = dim;
	}
	b->rank = rank;
}

/* Replaces the 1s in `strides` by the stride in elements. */
static void set_strides(sp_broadcast *b)
{
	size_t extent[SP_BROADCAST_OPERANDS] = {1, 1, 1, 1};

	for (int i = b->rank - 1; i >= 0; i--)
		for (size_t k = 0; k < b->operands; k++) {
			if (b->strides[i][k] == 0)
				continue;
			b->strides[i][k] = extent[k];
			extent[k] *= b->dims[i];
		}
}

void sp_broadcast__start(sp_broadcast *b)
{
	b->more = true;
	for (int i = 0; i < b->shape.rank; i++)
		b->more = b->more && b->shape.dims[i] != 0;
	if (!b->more)
		return;
	merge_dimensions(b);
	set_strides(b);
	if (b->rank == 0) {
		b->run = 1;
		for (size_t k = 0; k < b->operands; k++)
			b->step[k] = 1;
		return;
	}
	b->rank--;
	b->run = b->dims[b->rank];
	memcpy(b->step, b->strides[b->rank], sizeof(b->step));
}

void sp_broadcast__next(sp_broadcast *b)
{
	b->out += b->run;
	for (int i = b->rank - 1; i >= 0; i--) {
		b->index[i]++;
		for (size_t k = 0; k < b->operands; k++)
			b->at[k] += b->strides[i][k];
		if (b->index[i] < b->dims[i])
			return;
		for (size_t k = 0; k < b->operands; k++)
			b->at[k] -= b->strides[i][k] * b->dims[i];
		b->index[i] = 0;
	}
	b->more = false;
}

sp_status sp_broadcast__output(const sp_broadcast *b, const sp_call *call, sp_dtype dtype)
{
	for (size_t k = 0; k < b->operands; k++)
		if ((call->in_dies >> k & 1) && sp_tensor_is_sole(call->in[k]) &&
		    sp_dtype_size(call->in[k]->dtype) == sp_dtype_size(dtype) &&
		    sp_shape_equal(&call->in[k]->shape, &b->shape))
			return sp_call_output_over(call, 0, k, dtype);
	return sp_call_output(call, 0, dtype, &b->shape);
}
