#include "engine/graph/op.h"

#include <string.h>

#include "base/size.h"
#include "engine/ops/sparse/sparse.h"

/*
 * SparseReshape: converts indices to another shape with as many elements. Indices outside the shape
 * are not refused here; operators that use them check them.
 */
typedef struct wide_shape {
	size_t rank;
	int64_t dims[SP_SPARSE_MAX_RANK];
	int64_t cells; /* their product */
} wide_shape;

static sp_status multiply(const sp_call *call, int64_t *product, int64_t dim)
{
	if (!sp_i64_mul(product, *product, dim))
		return sp_call_invalid(call, "a sparse shape has too many cells");
	return SP_OK;
}

static sp_status read_input_shape(const sp_call *call, wide_shape *out)
{
	const sp_tensor *dims = call->in[1];

	out->rank = dims->count;
	out->cells = 1;
	for (size_t d = 0; d < out->rank; d++) {
		out->dims[d] = sp_tensor_i64(dims)[d];
		if (out->dims[d] < 0)
			return sp_call_invalid(call, "dimension %zu of a sparse shape is %lld", d,
					       (long long)out->dims[d]);
		SP_TRY(multiply(call, &out->cells, out->dims[d]));
	}
	return SP_OK;
}

/* Reads the new dims and infers the one that is -1, so that their product is `cells`. */
static sp_status read_target_shape(const sp_call *call, int64_t cells, wide_shape *out)
{
	const sp_tensor *dims = call->in[2];
	size_t unknown = SIZE_MAX;

	out->rank = dims->count;
	out->cells = 1;
	for (size_t d = 0; d < out->rank; d++) {
		int64_t dim = sp_tensor_i64(dims)[d];

		if (dim == -1 && unknown != SIZE_MAX)
			return sp_call_invalid(call, "output dimensions %zu and %zu are both -1",
					       unknown, d);
		if (dim < -1)
			return sp_call_invalid(call, "size %zu must be non-negative, not %lld", d,
					       (long long)dim);
		out->dims[d] = dim;
		if (dim == -1)
			unknown = d;
		else
			SP_TRY(multiply(call, &out->cells, dim));
	}
	if (unknown != SIZE_MAX) {
		if (out->cells == 0)
			return sp_call_invalid(call, "cannot infer the missing size from zeros");
		out->dims[unknown] = cells / out->cells;
		SP_TRY(multiply(call, &out->cells, out->dims[unknown]));
	}
	if (out->cells != cells)
		return sp_call_invalid(call, "%lld cells cannot be reshaped to %lld",
				       (long long)cells, (long long)out->cells);
	return SP_OK;
}

static bool same_dims(const wide_shape *a, const wide_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (size_t d = 0; d < a->rank; d++)
		if (a->dims[d] != b->dims[d])
			return false;
	return true;
}

/* The arithmetic may wrap, because indices are not checked. */
static void reshape(int64_t *out, const wide_shape *to, const int64_t *indices,
		    const wide_shape *from, size_t count)
{
	int64_t strides[SP_SPARSE_MAX_RANK];
	int64_t stride = 1;

	for (size_t d = to->rank; d-- > 0;) {
		strides[d] = stride;
		stride *= to->dims[d];
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t cell = 0;
		int64_t rest;

		for (size_t d = 0; d < from->rank; d++)
			cell = cell * (uint64_t)from->dims[d] +
			       (uint64_t)indices[i * from->rank + d];
		rest = (int64_t)cell;
		for (size_t d = 0; d < to->rank; d++) {
			out[i * to->rank + d] = rest / strides[d];
			rest %= strides[d];
		}
	}
}

static sp_status check_inputs(const sp_call *call)
{
	SP_TRY(sp_call_need_rank(call, 0, 2));
	for (size_t i = 1; i < 3; i++) {
		SP_TRY(sp_call_need_rank(call, i, 1));
		if (call->in[i]->count > SP_SPARSE_MAX_RANK)
			return sp_call_invalid(call, "a sparse shape of rank %zu is too large",
					       call->in[i]->count);
	}
	if (call->in[0]->shape.dims[1] != call->in[1]->shape.dims[0])
		return sp_call_invalid(call, "input rank %lld must match input shape length %lld",
				       (long long)call->in[0]->shape.dims[1],
				       (long long)call->in[1]->shape.dims[0]);
	return SP_OK;
}

static sp_status run_reshape(const sp_call *call)
{
	size_t count;
	wide_shape from, to;

	SP_TRY(check_inputs(call));
	SP_TRY(read_input_shape(call, &from));
	SP_TRY(read_target_shape(call, from.cells, &to));
	if (same_dims(&from, &to)) {
		sp_call_forward(call, 0, 0, &call->in[0]->shape);
		sp_call_forward(call, 1, 1, &call->in[1]->shape);
		return SP_OK;
	}
	count = (size_t)call->in[0]->shape.dims[0];
	if (count != 0 && from.cells == 0)
		return sp_call_invalid(call, "%zu values in a sparse shape without cells", count);
	SP_TRY(sp_call_output_matrix(call, 0, SP_INT64, (int64_t)count, (int64_t)to.rank));
	reshape(sp_tensor_i64(call->out[0]), &to, sp_tensor_i64(call->in[0]), &from, count);
	SP_TRY(sp_call_output_vector(call, 1, SP_INT64, (int64_t)to.rank));
	memcpy(call->out[1]->data, to.dims, to.rank * sizeof(int64_t));
	return SP_OK;
}

SP_DEFINE_TYPED_OP(SparseReshape, "output_indices output_shape", 0,
		   "int64 int64 int64 -> int64 int64", run_reshape);
