#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"

/* Reshape, ExpandDims, Squeeze, EnsureShape: the same bytes under another shape. */

/* ----------------------------------------------------------------- Reshape */

/*
 * Reads the requested shape.  *inferred is the dimension that is -1, or -1 without one; *product is
 * the product of the dimensions that are neither -1 nor 0.
 */
static sp_status read_sizes(const sp_call *call, sp_shape *out, int *inferred, int64_t *product)
{
	const sp_tensor *sizes = call->in[1];

	if (sizes->shape.rank > 1)
		return sp_call_need_rank(call, 1, 1);
	SP_TRY(sp_array__rank(call, (int64_t)sizes->count));
	out->rank = (int32_t)sizes->count;
	*inferred = -1;
	*product = 1;
	for (int i = 0; i < out->rank; i++) {
		int64_t size = sp_tensor_index(sizes, (size_t)i);

		out->dims[i] = size;
		if (size == -1) {
			if (*inferred >= 0)
				return sp_call_invalid(call, "dimensions %d and %d are both -1",
						       *inferred, i);
			*inferred = i;
		} else if (size < 0) {
			return sp_call_invalid(call, "dimension %d is %lld", i, (long long)size);
		} else if (size != 0 && !sp_i64_mul(product, *product, size)) {
			return sp_call_invalid(call, "the wanted shape is too large");
		}
	}
	return SP_OK;
}

static bool has_zero(const sp_shape *shape)
{
	for (int i = 0; i < shape->rank; i++)
		if (shape->dims[i] == 0)
			return true;
	return false;
}

/*
 * Computes the dimension that is -1.  If both shapes have a dimension 0, the other dimensions
 * determine it: [0, 6] as [0, 2, -1] is [0, 2, 3].
 */
static sp_status infer_dimension(const sp_call *call, sp_shape *out, int inferred, int64_t product)
{
	const sp_tensor *in = call->in[0];
	bool zero_wanted = has_zero(out), zero_left_out = false;
	int64_t count = 1;

	for (int i = 0; i < in->shape.rank; i++) {
		if (in->shape.dims[i] == 0 && zero_wanted)
			zero_left_out = true;
		else if (!sp_i64_mul(&count, count, in->shape.dims[i]))
			return sp_call_invalid(call, "the input's shape is too large to reshape");
	}
	if (!zero_left_out && count % product != 0)
		return sp_call_invalid(call, "cannot reshape %lld elements to a multiple of %lld",
				       (long long)count, (long long)product);
	out->dims[inferred] = count / product;
	return SP_OK;
}

static sp_status run_reshape(const sp_call *call)
{
	char text[SP_SHAPE_TEXT_SIZE];
	sp_shape shape;
	int64_t product = 1;
	size_t count;
	int inferred = -1;

	SP_TRY(read_sizes(call, &shape, &inferred, &product));
	if (inferred >= 0)
		SP_TRY(infer_dimension(call, &shape, inferred, product));
	if (!sp_shape_count(&shape, &count) || count != call->in[0]->count)
		return sp_call_invalid(call, "a tensor of %zu elements cannot be reshaped to %s",
				       call->in[0]->count, sp_shape_text(&shape, text));
	sp_call_forward(call, 0, 0, &shape);
	return SP_OK;
}

/* -------------------------------------------------------------- ExpandDims */

/* Variants are refused here and in Squeeze, as in TensorFlow. */
static sp_status run_expand_dims(const sp_call *call)
{
	const sp_shape *in = &call->in[0]->shape;
	sp_shape shape = {.rank = in->rank + 1};
	int64_t dim;
	int axis;

	if (call->in[1]->count != 1)
		return sp_call_invalid(call, "the dimension must be one number, not %zu",
				       call->in[1]->count);
	dim = sp_tensor_index(call->in[1], 0);
	SP_TRY(sp_call_axis(call, dim, shape.rank, &axis));
	SP_TRY(sp_array__rank(call, shape.rank));
	memcpy(shape.dims, in->dims, (size_t)axis * sizeof(in->dims[0]));
	shape.dims[axis] = 1;
	memcpy(shape.dims + axis + 1, in->dims + axis,
	       (size_t)(in->rank - axis) * sizeof(in->dims[0]));
	sp_call_forward(call, 0, 0, &shape);
	return SP_OK;
}

/* ----------------------------------------------------------------- Squeeze */

typedef struct squeeze_state {
	const int64_t *dims;
	size_t count;
} squeeze_state;

static sp_status prepare_squeeze(sp_prepare *prepare, sp_error *err)
{
	squeeze_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_attr *dims;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "E -> E", err));
	SP_TRY(sp_node_attr_list(prepare->node, "squeeze_dims", SP_ATTR_INT, &dims, err));
	state->dims = dims->i_list;
	state->count = dims->count;
	return SP_OK;
}

static sp_status run_squeeze(const sp_call *call)
{
	const squeeze_state *state = call->state;
	const sp_shape *in = &call->in[0]->shape;
	sp_shape shape = {.rank = 0};
	bool gone[SP_MAX_RANK] = {false};

	for (size_t i = 0; i < state->count; i++) {
		int axis;

		SP_TRY(sp_call_axis(call, state->dims[i], in->rank, &axis));
		if (in->dims[axis] != 1)
			return sp_call_invalid(call, "dimension %d is %lld: it cannot be squeezed",
					       axis, (long long)in->dims[axis]);
		gone[axis] = true;
	}
	for (int i = 0; i < in->rank; i++)
		if (state->count != 0 ? !gone[i] : in->dims[i] != 1)
			shape.dims[shape.rank++] = in->dims[i];
	sp_call_forward(call, 0, 0, &shape);
	return SP_OK;
}

/* ------------------------------------------------------------- EnsureShape */

static sp_status prepare_ensure_shape(sp_prepare *prepare, sp_error *err)
{
	const sp_attr *shape = sp_node_attr(prepare->node, "shape");

	SP_TRY(sp_prepare_types(prepare, "T -> T", err));
	if (shape == NULL || shape->kind != SP_ATTR_SHAPE)
		return sp_error_set(err, SP_INVALID, "attribute 'shape' is not a shape");
	prepare->state = (void *)shape->shape;
	return SP_OK;
}

static sp_status run_ensure_shape(const sp_call *call)
{
	const sp_partial_shape *wanted = call->state;
	const sp_shape *in = &call->in[0]->shape;
	char text[SP_SHAPE_TEXT_SIZE], wanted_text[SP_SHAPE_TEXT_SIZE];
	sp_shape shown = {.rank = wanted->rank};
	bool same = wanted->rank < 0 || wanted->rank == in->rank;

	for (int i = 0; same && i < wanted->rank; i++)
		same = wanted->dims[i] < 0 || wanted->dims[i] == in->dims[i];
	if (!same) {
		memcpy(shown.dims, wanted->dims, sizeof(shown.dims));
		return sp_call_invalid(call, "a tensor of shape %s is not of the expected shape %s",
				       sp_shape_text(in, text), sp_shape_text(&shown, wanted_text));
	}
	sp_call_forward(call, 0, 0, in);
	return SP_OK;
}

SP_DEFINE_OP(EnsureShape, NULL, 0, prepare_ensure_shape, run_ensure_shape);
SP_DEFINE_TYPED_OP(ExpandDims, NULL, 0, "E index -> E", run_expand_dims);
SP_DEFINE_TYPED_OP(Reshape, NULL, SP_OP_MOVES, "T index -> T", run_reshape);
SP_DEFINE_OP(Squeeze, NULL, 0, prepare_squeeze, run_squeeze);
