#include "engine/graph/op.h"

#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/sparse/sparse.h"

typedef struct to_dense_state {
	bool validate;
} to_dense_state;

typedef struct scatter {
	const int64_t *indices; /* [count, rank] */
	size_t count;
	size_t rank;
	sp_shape shape;
} scatter;

static sp_status read_inputs(const sp_call *call, scatter *s)
{
	const sp_tensor *indices = call->in[0], *shape = call->in[1], *values = call->in[2];
	char text[SP_SHAPE_TEXT_SIZE];

	if (indices->shape.rank > 2)
		return sp_call_invalid(call, "sparse_indices of shape %s have too high a rank",
				       sp_shape_text(&indices->shape, text));
	s->count = indices->shape.rank > 0 ? (size_t)indices->shape.dims[0] : 1;
	s->rank = indices->shape.rank > 1 ? (size_t)indices->shape.dims[1] : 1;
	if (shape->shape.rank != 1 || shape->count != s->rank)
		return sp_call_invalid(call, "output_shape of shape %s should be a vector of %zu",
				       sp_shape_text(&shape->shape, text), s->rank);
	if (values->shape.rank > 1 || (values->shape.rank == 1 && values->count != s->count))
		return sp_call_invalid(call, "sparse_values of shape %s, not [] or [%zu]",
				       sp_shape_text(&values->shape, text), s->count);
	SP_TRY(sp_call_need_rank(call, 3, 0));
	SP_TRY(sp_array__shape(call, 1, false, &s->shape));
	return sp_elements__widen(call, indices, &s->indices);
}

/* The cell of index i, or SP_INVALID when it lies outside. */
static sp_status find_cell(const sp_call *call, const scatter *s, size_t i, size_t *out)
{
	const int64_t *index = s->indices + i * s->rank;
	size_t cell = 0;

	for (size_t d = 0; d < s->rank; d++) {
		if (index[d] < 0 || index[d] >= s->shape.dims[d]) {
			char have[SP_SHAPE_TEXT_SIZE], bound[SP_SHAPE_TEXT_SIZE];

			return sp_call_invalid(call, "indices[%zu] = %s is out of the bounds %s", i,
					       sp_sparse__index_text(index, s->rank, have),
					       sp_shape_text(&s->shape, bound));
		}
		cell = cell * (size_t)s->shape.dims[d] + (size_t)index[d];
	}
	*out = cell;
	return SP_OK;
}

/* Index i must come after the one before it. */
static sp_status check_order(const sp_call *call, const scatter *s, size_t i)
{
	const int64_t *index = s->indices + i * s->rank;
	char text[SP_SHAPE_TEXT_SIZE];
	int order = sp_sparse__compare(index - s->rank, index, s->rank);

	if (order == 0)
		return sp_call_invalid(call, "indices[%zu] = %s is repeated", i,
				       sp_sparse__index_text(index, s->rank, text));
	if (order > 0)
		return sp_call_invalid(call, "indices[%zu] = %s is out of order", i,
				       sp_sparse__index_text(index, s->rank, text));
	return SP_OK;
}

static sp_status run_to_dense(const sp_call *call)
{
	const to_dense_state *state = call->state;
	const sp_tensor *values = call->in[2];
	size_t size = sp_dtype_size(values->dtype), cell = 0;
	scatter s;

	SP_TRY(read_inputs(call, &s));
	SP_TRY(sp_call_output(call, 0, values->dtype, &s.shape));
	sp_elements__fill(call->out[0]->data, call->out[0]->count, call->in[3]->data, size);
	for (size_t i = 0; i < s.count; i++) {
		SP_TRY(find_cell(call, &s, i, &cell));
		if (state->validate && i > 0)
			SP_TRY(check_order(call, &s, i));
		sp_element__copy(call->out[0]->data, cell, values->data,
				 sp_tensor_is_scalar(values) ? 0 : i, size);
	}
	return SP_OK;
}

static sp_status prepare_to_dense(sp_prepare *prepare, sp_error *err)
{
	to_dense_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "SparseToDense");
	SP_TRY(sp_prepare_types(prepare, "I I T T -> T", err));
	return sp_node_attr_bool(prepare->node, "validate_indices", true, &state->validate, err);
}

SP_DEFINE_OP(SparseToDense, NULL, 0, prepare_to_dense, run_to_dense);
