#include "engine/graph/op.h"

#include <string.h>

#include "base/size.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/sparse/sparse.h"

/* SparseConcat: concatenates sparse tensors along an axis, in row-major order. */
typedef struct concat_state {
	size_t parts;
	int64_t axis;
} concat_state;

/* All parts, concatenated without sorting. */
typedef struct joined {
	int64_t *indices; /* [count, rank] */
	char *values;
	size_t count;
	size_t rank;
	int64_t dims[SP_SPARSE_MAX_RANK];
} joined;

static sp_status read_part(const sp_call *call, size_t part, sp_sparse *out)
{
	const concat_state *state = call->state;

	return sp_sparse__read(call, part, state->parts + part, 2 * state->parts + part, out);
}

/* Computes the shape of the result and its number of values. */
static sp_status measure(const sp_call *call, joined *out, int *axis)
{
	const concat_state *state = call->state;
	sp_sparse part;

	SP_TRY(read_part(call, 0, &part));
	SP_TRY(sp_call_axis(call, state->axis, (int)part.rank, axis));
	out->rank = part.rank;
	out->count = part.count;
	memcpy(out->dims, part.dims, part.rank * sizeof(int64_t));
	for (size_t p = 1; p < state->parts; p++) {
		SP_TRY(read_part(call, p, &part));
		if (part.rank != out->rank)
			return sp_call_invalid(call, "rank %zu expected, not %zu at position %zu",
					       out->rank, part.rank, p);
		out->count += part.count;
		for (size_t d = 0; d < part.rank; d++)
			if ((int)d != *axis && part.dims[d] != out->dims[d])
				return sp_call_invalid(
					call, "%lld expected in dimension %zu, not %lld at %zu",
					(long long)out->dims[d], d, (long long)part.dims[d], p);
		if (!sp_i64_add(&out->dims[*axis], out->dims[*axis], part.dims[*axis]))
			return sp_call_invalid(call, "dimension %d of the whole is too large",
					       *axis);
	}
	return SP_OK;
}

/*
 * TensorFlow first sorts each part with the axis as the leading dimension, then all values.  This
 * affects only equal indices.
 */
static sp_status order_part(const sp_call *call, const sp_sparse *part, size_t axis,
			    const size_t **order)
{
	int64_t *turned;

	*order = NULL;
	if (sp_sparse__is_ordered(part->indices, part->count, part->rank))
		return SP_OK;
	SP_CALL_ARRAY(turned, call, part->count * part->rank);
	for (size_t i = 0; i < part->count; i++) {
		const int64_t *row = part->indices + i * part->rank;
		int64_t *to = turned + i * part->rank;

		memcpy(to + 1, row, axis * sizeof(*row));
		memcpy(to + 1 + axis, row + axis + 1, (part->rank - axis - 1) * sizeof(*row));
		to[0] = row[axis];
	}
	return sp_sparse__order(call, turned, part->count, part->rank, order);
}

/* Appends a part after the first `at` rows; `offset` is added to its indices along the axis. */
static sp_status append(const sp_call *call, joined *out, size_t at, const sp_sparse *part,
			int axis, int64_t offset)
{
	size_t size = sp_dtype_size(part->values->dtype);
	int64_t *rows = out->indices + at * out->rank;
	const size_t *order;

	if (part->count == 0)
		return SP_OK;
	SP_TRY(order_part(call, part, (size_t)axis, &order));
	for (size_t i = 0; i < part->count; i++) {
		size_t from = order != NULL ? order[i] : i;

		memcpy(rows + i * part->rank, part->indices + from * part->rank,
		       part->rank * sizeof(*rows));
		sp_element__copy(out->values, at + i, part->values->data, from, size);
	}
	for (size_t i = 0; i < part->count; i++)
		if (!sp_i64_add(&rows[i * out->rank + (size_t)axis],
				rows[i * out->rank + (size_t)axis], offset))
			return sp_call_invalid(call, "an index of dimension %d is too large", axis);
	return SP_OK;
}

static sp_status join(const sp_call *call, joined *out, int axis)
{
	const concat_state *state = call->state;
	int64_t offset = 0;
	size_t at = 0;

	for (size_t p = 0; p < state->parts; p++) {
		sp_sparse part;

		SP_TRY(read_part(call, p, &part));
		SP_TRY(append(call, out, at, &part, axis, offset));
		offset += part.dims[axis];
		at += part.count;
	}
	return SP_OK;
}

static sp_status run_concat(const sp_call *call)
{
	const concat_state *state = call->state;
	sp_dtype dtype = call->in[state->parts]->dtype;
	size_t size = sp_dtype_size(dtype), row;
	const size_t *order;
	joined all;
	int axis = 0;

	SP_TRY(measure(call, &all, &axis));
	row = all.rank * sizeof(*all.indices);
	SP_CALL_BYTES(all.indices, call, all.count, row);
	SP_CALL_BYTES(all.values, call, all.count, size);
	SP_TRY(join(call, &all, axis));
	SP_TRY(sp_sparse__order(call, all.indices, all.count, all.rank, &order));
	SP_TRY(sp_call_output_matrix(call, 0, SP_INT64, (int64_t)all.count, (int64_t)all.rank));
	SP_TRY(sp_call_output_vector(call, 1, dtype, (int64_t)all.count));
	for (size_t i = 0; i < all.count; i++) {
		size_t from = order != NULL ? order[i] : i;

		memcpy((char *)call->out[0]->data + i * row, all.indices + from * all.rank, row);
		sp_element__copy(call->out[1]->data, i, all.values, from, size);
	}
	SP_TRY(sp_call_output_vector(call, 2, SP_INT64, (int64_t)all.rank));
	memcpy(call->out[2]->data, all.dims, all.rank * sizeof(int64_t));
	return SP_OK;
}

static sp_status prepare_concat(sp_prepare *prepare, sp_error *err)
{
	concat_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "SparseConcat");
	state->parts = prepare->in_count / 3;
	if (state->parts == 0 || prepare->in_count != 3 * state->parts)
		return sp_error_set(err, SP_INVALID,
				    "SparseConcat takes triples of inputs, not %zu",
				    prepare->in_count);
	for (size_t p = 0; p < state->parts; p++) {
		SP_TRY(sp_prepare_input_dtype(prepare, p, SP_INT64, err));
		SP_TRY(sp_prepare_input_dtype(prepare, 2 * state->parts + p, SP_INT64, err));
		SP_TRY(sp_prepare_input_dtype(prepare, state->parts + p,
					      prepare->in_dtypes[state->parts], err));
	}
	SP_TRY(sp_node_attr_int(prepare->node, "concat_dim", 0, &state->axis, err));
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT64, err));
	prepare->out_dtypes[1] = prepare->in_dtypes[state->parts];
	return SP_OK;
}

SP_DEFINE_OP(SparseConcat, "output_indices output_values output_shape", SP_OP_MOVES, prepare_concat,
	     run_concat);
