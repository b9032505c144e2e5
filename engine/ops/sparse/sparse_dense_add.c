#include <complex.h>
#include <string.h>

#include "engine/graph/op.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/array/element_types.h"
#include "engine/ops/sparse/sparse.h"

/*
 * SparseTensorDenseAdd: adds the values of a sparse tensor to a dense one of the same shape.
 *
 * Numerics: added in the order of the values; integers wrap around, half and bfloat16 are rounded
 * after every addition.
 */
typedef void add_fn(void *cell, const void *value);

#define ADD(type, ...)                                                                         \
	static void add_##type(void *cell, const void *value)                                  \
	{                                                                                      \
		sp_wrap_##type a = (sp_wrap_##type)SP_LOAD_##type(*(sp_element_##type *)cell); \
		sp_wrap_##type b = (sp_wrap_##type)SP_LOAD_##type(                             \
			*(const sp_element_##type *)value);                                    \
                                                                                               \
		*(sp_element_##type *)cell = SP_STORE_##type(a + b);                           \
	}

SP_FOR_ARITHMETIC(ADD, )

static add_fn *const kernels[SP_DTYPE_COUNT] = {SP_TABLE_ARITHMETIC(add)};

typedef struct add_state {
	add_fn *add;
} add_state;

static sp_status check_inputs(const sp_call *call)
{
	const sp_tensor *indices = call->in[0], *values = call->in[1], *dims = call->in[2];
	const sp_shape *dense = &call->in[3]->shape;
	char text[SP_SHAPE_TEXT_SIZE];

	if (indices->shape.rank != 2 || values->shape.rank != 1 || dims->shape.rank != 1)
		return sp_call_invalid(call, "a_indices, a_values and a_shape must be a matrix and "
					     "two vectors");
	if (indices->shape.dims[0] != values->shape.dims[0])
		return sp_call_invalid(call, "there are %lld indices and %zu values",
				       (long long)indices->shape.dims[0], values->count);
	if (indices->shape.dims[1] != dims->shape.dims[0] || dims->count != (size_t)dense->rank)
		return sp_call_invalid(call,
				       "%lld numbers in an index, %zu dimensions of the "
				       "sparse tensor and %d of the dense one differ",
				       (long long)indices->shape.dims[1], dims->count, dense->rank);
	if (dense->rank == 0)
		return sp_call_invalid(call, "the tensors have no dimensions");
	for (size_t d = 0; d < dims->count; d++)
		if (sp_tensor_index(dims, d) != dense->dims[d])
			return sp_call_invalid(call,
					       "dimension %zu of the sparse tensor is %lld, the "
					       "dense one is %s",
					       d, (long long)sp_tensor_index(dims, d),
					       sp_shape_text(dense, text));
	return SP_OK;
}

static sp_status find_cell(const sp_call *call, const int64_t *index, size_t *out)
{
	const sp_shape *shape = &call->in[3]->shape;
	char text[SP_SHAPE_TEXT_SIZE];

	*out = 0;
	for (int d = 0; d < shape->rank; d++) {
		if (index[d] < 0 || index[d] >= shape->dims[d])
			return sp_call_invalid(
				call, "index %s is out of bounds",
				sp_sparse__index_text(index, (size_t)shape->rank, text));
		*out = *out * (size_t)shape->dims[d] + (size_t)index[d];
	}
	return SP_OK;
}

static sp_status run_add(const sp_call *call)
{
	const add_state *state = call->state;
	const sp_tensor *values = call->in[1], *dense = call->in[3];
	size_t size = sp_dtype_size(dense->dtype), cell;
	const int64_t *indices;

	SP_TRY(check_inputs(call));
	SP_TRY(sp_elements__widen(call, call->in[0], &indices));
	SP_TRY(sp_call_output(call, 0, dense->dtype, &dense->shape));
	if (dense->count > 0)
		memcpy(call->out[0]->data, dense->data, dense->count * size);
	for (size_t i = 0; i < values->count; i++) {
		SP_TRY(find_cell(call, indices + i * (size_t)dense->shape.rank, &cell));
		state->add((char *)call->out[0]->data + cell * size,
			   (const char *)values->data + i * size);
	}
	return SP_OK;
}

static sp_status prepare_add(sp_prepare *prepare, sp_error *err)
{
	add_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for SparseTensorDenseAdd");
	SP_TRY(sp_prepare_inputs(prepare, 4, err));
	SP_TRY(sp_prepare_input_index(prepare, 0, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, prepare->in_dtypes[0], err));
	dtype = prepare->in_dtypes[1];
	SP_TRY(sp_prepare_input_dtype(prepare, 3, dtype, err));
	state->add = kernels[dtype];
	if (state->add == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

SP_DEFINE_OP(SparseTensorDenseAdd, NULL, 0, prepare_add, run_add);
