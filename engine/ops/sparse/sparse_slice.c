#include "engine/graph/op.h"

#include <string.h>

#include "base/size.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/sparse/sparse.h"

/*
 * SparseSlice and SparseSplit: the values inside a range of indices, in their order, with indices
 * relative to its start.
 */
typedef struct slice_bounds {
	int64_t start[SP_SPARSE_MAX_RANK];
	int64_t size[SP_SPARSE_MAX_RANK];
} slice_bounds;

static bool contains(const slice_bounds *b, const int64_t *index, size_t rank)
{
	for (size_t d = 0; d < rank; d++)
		if (index[d] < b->start[d] ||
		    (uint64_t)index[d] - (uint64_t)b->start[d] >= (uint64_t)b->size[d])
			return false;
	return true;
}

/* Outputs i, v and s (indices, values, shape) become the part of `in` inside the range. */
static sp_status cut(const sp_call *call, const sp_sparse *in, const slice_bounds *b, size_t i,
		     size_t v, size_t s)
{
	size_t size = sp_dtype_size(in->values->dtype), count = 0, at = 0;
	int64_t *indices;

	for (size_t k = 0; k < in->count; k++)
		count += contains(b, in->indices + k * in->rank, in->rank);
	SP_TRY(sp_call_output_matrix(call, i, SP_INT64, (int64_t)count, (int64_t)in->rank));
	SP_TRY(sp_call_output_vector(call, v, in->values->dtype, (int64_t)count));
	SP_TRY(sp_call_output_vector(call, s, SP_INT64, (int64_t)in->rank));
	memcpy(call->out[s]->data, b->size, in->rank * sizeof(int64_t));
	indices = sp_tensor_i64(call->out[i]);
	for (size_t k = 0; k < in->count && at < count; k++) {
		const int64_t *index = in->indices + k * in->rank;

		if (!contains(b, index, in->rank))
			continue;
		for (size_t d = 0; d < in->rank; d++)
			indices[at * in->rank + d] = index[d] - b->start[d];
		sp_element__copy(call->out[v]->data, at++, in->values->data, k, size);
	}
	return SP_OK;
}

/* ------------------------------------------------------------ SparseSlice */

static sp_status read_box(const sp_call *call, const sp_sparse *in, slice_bounds *b)
{
	for (size_t i = 3; i < 5; i++)
		if (call->in[i]->shape.rank != 1 || call->in[i]->count != in->rank)
			return sp_call_invalid(call, "%s must be a vector of length %zu",
					       i == 3 ? "start" : "size", in->rank);
	for (size_t d = 0; d < in->rank; d++) {
		int64_t start = sp_tensor_i64(call->in[3])[d], size = sp_tensor_i64(call->in[4])[d];
		int64_t rest;

		if (size < 0)
			return sp_call_invalid(call, "a size must be non-negative, not %lld",
					       (long long)size);
		/* As in TensorFlow, a start may be negative. */
		if (!sp_i64_add(&rest, in->dims[d], start == INT64_MIN ? INT64_MAX : -start))
			return sp_call_invalid(call, "start %lld is too far from the shape",
					       (long long)start);
		b->start[d] = start;
		b->size[d] = rest <= 0 ? 0 : rest < size ? rest : size;
	}
	return SP_OK;
}

static sp_status run_slice(const sp_call *call)
{
	sp_sparse in;
	slice_bounds b;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &in));
	SP_TRY(read_box(call, &in, &b));
	return cut(call, &in, &b, 0, 1, 2);
}

/* ------------------------------------------------------------ SparseSplit */

typedef struct split_state {
	size_t parts;
} split_state;

static sp_status check_split(const sp_call *call, const sp_sparse *in)
{
	char text[SP_SHAPE_TEXT_SIZE];
	slice_bounds all = {.start = {0}};

	memcpy(all.size, in->dims, in->rank * sizeof(int64_t));
	for (size_t i = 0; i < in->count; i++)
		if (!contains(&all, in->indices + i * in->rank, in->rank))
			return sp_call_invalid(
				call, "indices[%zu] = %s is out of bounds", i,
				sp_sparse__index_text(in->indices + i * in->rank, in->rank, text));
	return SP_OK;
}

static sp_status run_split(const sp_call *call)
{
	const split_state *state = call->state;
	int64_t parts = (int64_t)state->parts, size;
	sp_sparse in;
	slice_bounds b = {.start = {0}};
	int axis;

	SP_TRY(sp_sparse__read(call, 1, 2, 3, &in));
	SP_TRY(sp_call_need_rank(call, 0, 0));
	SP_TRY(sp_call_axis(call, *sp_tensor_i64(call->in[0]), (int)in.rank, &axis));
	size = in.dims[axis];
	if (parts > size)
		return sp_call_invalid(call, "num_split should be up to %lld, not %lld",
				       (long long)size, (long long)parts);
	SP_TRY(check_split(call, &in));
	memcpy(b.size, in.dims, in.rank * sizeof(int64_t));
	/* When the size is not divisible, the first parts are one larger. */
	for (int64_t k = 0; k < parts; k++) {
		b.size[axis] = size / parts + (k < size % parts ? 1 : 0);
		SP_TRY(cut(call, &in, &b, (size_t)k, (size_t)(parts + k), (size_t)(2 * parts + k)));
		b.start[axis] += b.size[axis];
	}
	return SP_OK;
}

static sp_status prepare_split(sp_prepare *prepare, sp_error *err)
{
	enum { MAX_PARTS = 1 << 16 };
	split_state *state = sp_prepare_state(prepare, sizeof(*state));
	int64_t parts;

	SP_NEED_MEMORY(state, err, "SparseSplit");
	SP_TRY(sp_prepare_types(prepare, "int64 int64 T int64", err));
	SP_TRY(sp_node_attr_int(prepare->node, "num_split", 0, &parts, err));
	if (parts < 1 || parts > MAX_PARTS)
		return sp_error_set(err, SP_INVALID, "num_split %lld is not in [1, %d]",
				    (long long)parts, MAX_PARTS);
	state->parts = (size_t)parts;
	SP_TRY(sp_prepare_outputs(prepare, 3 * state->parts, SP_INT64, err));
	for (size_t k = 0; k < state->parts; k++)
		prepare->out_dtypes[state->parts + k] = prepare->in_dtypes[2];
	return SP_OK;
}

SP_DEFINE_TYPED_OP(SparseSlice, "output_indices output_values output_shape", SP_OP_MOVES,
		   "int64 T int64 int64 int64 -> int64 T int64", run_slice);
SP_DEFINE_OP(SparseSplit, "output_indices:num_split output_values:num_split output_shape:num_split",
	     SP_OP_MOVES, prepare_split, run_split);
