#include "engine/graph/op.h"

#include <complex.h>
#include <string.h>

#include "engine/ops/sparse/sparse.h"

/*
 * SparseReduceSum and SparseReduceMax: a dense tensor over the axes that are kept; an element
 * without values is 0, even of a maximum.
 *
 * Numerics: values are added in their order, in the element type; half and bfloat16 are rounded
 * after every addition, as in TensorFlow.
 */
typedef struct reduced {
	const void *values;
	const size_t *cells; /* [count] the cell of each value */
	size_t count;
	void *out;   /* zero */
	bool *taken; /* for a maximum: whether a cell has a value yet; initially false */
} reduced;

typedef void reduce_fn(const reduced *r);

#define ADD(name, type, wide, LOAD, STORE)                                                       \
	static void name(const reduced *r)                                                       \
	{                                                                                        \
		type *out = r->out;                                                              \
                                                                                                 \
		for (size_t i = 0; i < r->count; i++) {                                          \
			wide a = LOAD(out[r->cells[i]]), b = LOAD(((const type *)r->values)[i]); \
                                                                                                 \
			out[r->cells[i]] = STORE(a + b);                                         \
		}                                                                                \
	}

#define MAXIMUM(name, type, wide, LOAD)                                \
	static void name(const reduced *r)                             \
	{                                                              \
		const type *values = r->values;                        \
		type *out = r->out;                                    \
                                                                       \
		for (size_t i = 0; i < r->count; i++) {                \
			size_t cell = r->cells[i];                     \
			wide a = LOAD(out[cell]), b = LOAD(values[i]); \
                                                                       \
			if (!r->taken[cell] || !(a > b))               \
				out[cell] = values[i];                 \
			r->taken[cell] = true;                         \
		}                                                      \
	}

ADD(add_u8, uint8_t, uint8_t, , (uint8_t))
ADD(add_u16, uint16_t, uint16_t, , (uint16_t))
ADD(add_u32, uint32_t, uint32_t, , )
ADD(add_u64, uint64_t, uint64_t, , )
ADD(add_f32, float, float, , )
ADD(add_f64, double, double, , )
ADD(add_c64, float complex, float complex, , )
ADD(add_c128, double complex, double complex, , )
ADD(add_f16, uint16_t, float, sp_half_to_float, sp_half_from_float)
ADD(add_bf16, uint16_t, float, sp_bfloat16_to_float, sp_bfloat16_from_float)

MAXIMUM(max_i8, int8_t, int8_t, )
MAXIMUM(max_i16, int16_t, int16_t, )
MAXIMUM(max_i32, int32_t, int32_t, )
MAXIMUM(max_i64, int64_t, int64_t, )
MAXIMUM(max_u8, uint8_t, uint8_t, )
MAXIMUM(max_u16, uint16_t, uint16_t, )
MAXIMUM(max_u32, uint32_t, uint32_t, )
MAXIMUM(max_u64, uint64_t, uint64_t, )
MAXIMUM(max_f32, float, float, )
MAXIMUM(max_f64, double, double, )
MAXIMUM(max_f16, uint16_t, float, sp_half_to_float)
MAXIMUM(max_bf16, uint16_t, float, sp_bfloat16_to_float)

static reduce_fn *const sums[SP_DTYPE_COUNT] = {
	[SP_INT8] = add_u8,    [SP_UINT8] = add_u8,      [SP_INT16] = add_u16,
	[SP_UINT16] = add_u16, [SP_INT32] = add_u32,     [SP_UINT32] = add_u32,
	[SP_INT64] = add_u64,  [SP_UINT64] = add_u64,    [SP_FLOAT] = add_f32,
	[SP_DOUBLE] = add_f64, [SP_COMPLEX64] = add_c64, [SP_COMPLEX128] = add_c128,
	[SP_HALF] = add_f16,   [SP_BFLOAT16] = add_bf16,
};

static reduce_fn *const maxima[SP_DTYPE_COUNT] = {
	[SP_INT8] = max_i8,   [SP_UINT8] = max_u8,   [SP_INT16] = max_i16, [SP_UINT16] = max_u16,
	[SP_INT32] = max_i32, [SP_UINT32] = max_u32, [SP_INT64] = max_i64, [SP_UINT64] = max_u64,
	[SP_FLOAT] = max_f32, [SP_DOUBLE] = max_f64, [SP_HALF] = max_f16,  [SP_BFLOAT16] = max_bf16,
};

typedef struct reduce_state {
	bool keep_dims;
	bool maximum;
	reduce_fn *reduce;
} reduce_state;

/* Reads the axes to reduce: is_reduced [rank]. */
static sp_status read_axes(const sp_call *call, size_t rank, bool *is_reduced)
{
	const sp_tensor *axes = call->in[3];

	if (axes->shape.rank > 1)
		return sp_call_invalid(call, "reduction_axes are of rank %d, not 0 or 1",
				       axes->shape.rank);
	memset(is_reduced, 0, rank * sizeof(*is_reduced));
	for (size_t i = 0; i < axes->count; i++) {
		int64_t axis = sp_tensor_i32(axes)[i];

		if (axis < -(int64_t)rank || axis >= (int64_t)rank)
			return sp_call_invalid(call, "axis %lld is not one of %zu dimensions",
					       (long long)axis, rank);
		is_reduced[axis < 0 ? axis + (int64_t)rank : axis] = true;
	}
	return SP_OK;
}

static sp_status make_dense(const sp_call *call, const sp_sparse *in, const bool *is_reduced)
{
	const reduce_state *state = call->state;
	sp_shape shape = {.rank = 0};

	for (size_t d = 0; d < in->rank; d++) {
		if (is_reduced[d] && !state->keep_dims)
			continue;
		if (shape.rank == SP_MAX_RANK)
			return sp_call_invalid(call, "the output's rank is above the supported %d",
					       SP_MAX_RANK);
		shape.dims[shape.rank++] = is_reduced[d] ? 1 : in->dims[d];
	}
	SP_TRY(sp_call_output(call, 0, in->values->dtype, &shape));
	if (call->out[0]->count != 0)
		memset(call->out[0]->data, 0,
		       call->out[0]->count * sp_dtype_size(in->values->dtype));
	return SP_OK;
}

/* Indices of reduced axes are not used and therefore not checked. */
static sp_status find_cells(const sp_call *call, const sp_sparse *in, const bool *is_reduced,
			    size_t *cells)
{
	char text[SP_SHAPE_TEXT_SIZE];

	for (size_t i = 0; i < in->count; i++) {
		const int64_t *index = in->indices + i * in->rank;

		cells[i] = 0;
		for (size_t d = 0; d < in->rank; d++) {
			if (is_reduced[d])
				continue;
			if (index[d] < 0 || index[d] >= in->dims[d])
				return sp_call_invalid(
					call, "indices[%zu] = %s is outside the shape", i,
					sp_sparse__index_text(index, in->rank, text));
			cells[i] = cells[i] * (size_t)in->dims[d] + (size_t)index[d];
		}
	}
	return SP_OK;
}

static sp_status run_reduce(const sp_call *call)
{
	const reduce_state *state = call->state;
	bool is_reduced[SP_SPARSE_MAX_RANK];
	sp_tensor *out = call->out[0];
	reduced r = {.taken = NULL};
	size_t *cells;
	sp_sparse in;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &in));
	SP_TRY(read_axes(call, in.rank, is_reduced));
	SP_TRY(make_dense(call, &in, is_reduced));
	SP_CALL_ARRAY(cells, call, in.count);
	SP_TRY(find_cells(call, &in, is_reduced, cells));
	if (state->maximum) {
		SP_CALL_ARRAY(r.taken, call, out->count);
		memset(r.taken, 0, out->count);
	}
	r.values = in.values->data;
	r.cells = cells;
	r.count = in.count;
	r.out = out->data;
	state->reduce(&r);
	return SP_OK;
}

static sp_status prepare_any(sp_prepare *prepare, bool maximum, sp_error *err)
{
	reduce_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "a reduction");
	SP_TRY(sp_prepare_types(prepare, "int64 T int64 int32 -> T", err));
	SP_TRY(sp_node_attr_bool(prepare->node, "keep_dims", false, &state->keep_dims, err));
	dtype = prepare->in_dtypes[1];
	state->maximum = maximum;
	if (dtype < SP_DTYPE_COUNT)
		state->reduce = maximum ? maxima[dtype] : sums[dtype];
	return state->reduce != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status prepare_sum(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, err);
}

static sp_status prepare_max(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, err);
}

SP_DEFINE_OP(SparseReduceSum, NULL, 0, prepare_sum, run_reduce);
SP_DEFINE_OP(SparseReduceMax, NULL, 0, prepare_max, run_reduce);
