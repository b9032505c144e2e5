#include "engine/graph/op.h"

#include "engine/ops/array/elements.h"
#include "engine/ops/sparse/sparse.h"

/*
 * SparseDenseCwiseMul, Div and Add: combines every value of a sparse tensor with the element of a
 * dense one that is broadcast to its shape.
 *
 * Numerics: integers wrap around; half and bfloat16 are computed in float.  Division by zero is
 * refused for every type, as in TensorFlow.
 */
typedef struct pairs {
	const void *values;
	const void *dense;
	const size_t *cells; /* [count] elements of `dense` */
	size_t count;
	void *out;
} pairs;

/* False on a division by zero. */
typedef bool combine_fn(const pairs *p);

#define COMBINE(name, type, wide, LOAD, STORE, impossible, expression)        \
	static bool name(const pairs *p)                                      \
	{                                                                     \
		for (size_t i = 0; i < p->count; i++) {                       \
			wide a = LOAD(((const type *)p->values)[i]);          \
			wide b = LOAD(((const type *)p->dense)[p->cells[i]]); \
                                                                              \
			if (impossible)                                       \
				return false;                                 \
			((type *)p->out)[i] = STORE(expression);              \
		}                                                             \
		return true;                                                  \
	}

#define MULTIPLY_AND_ADD(suffix, type, wide, LOAD, STORE)                     \
	COMBINE(multiply_##suffix, type, wide, LOAD, STORE, false, (a) * (b)) \
	COMBINE(add_##suffix, type, wide, LOAD, STORE, false, (a) + (b))

#define DIVIDE(suffix, type, wide, LOAD, STORE) \
	COMBINE(divide_##suffix, type, wide, LOAD, STORE, b == 0, (a) / (b))

/* The smallest integer divided by -1 is itself. */
#define DIVIDE_SIGNED(suffix, type, unsigned_type)             \
	COMBINE(divide_##suffix, type, type, , (type), b == 0, \
		b == -1 ? (type)(0 - (unsigned_type)a) : (type)(a / b))

MULTIPLY_AND_ADD(u8, uint8_t, uint64_t, , (uint8_t))
MULTIPLY_AND_ADD(u16, uint16_t, uint64_t, , (uint16_t))
MULTIPLY_AND_ADD(u32, uint32_t, uint64_t, , (uint32_t))
MULTIPLY_AND_ADD(u64, uint64_t, uint64_t, , )
MULTIPLY_AND_ADD(f32, float, float, , )
MULTIPLY_AND_ADD(f64, double, double, , )
MULTIPLY_AND_ADD(f16, uint16_t, float, sp_half_to_float, sp_half_from_float)
MULTIPLY_AND_ADD(bf16, uint16_t, float, sp_bfloat16_to_float, sp_bfloat16_from_float)

DIVIDE_SIGNED(i8, int8_t, uint8_t)
DIVIDE_SIGNED(i16, int16_t, uint16_t)
DIVIDE_SIGNED(i32, int32_t, uint32_t)
DIVIDE_SIGNED(i64, int64_t, uint64_t)
DIVIDE(u8, uint8_t, uint8_t, , (uint8_t))
DIVIDE(u16, uint16_t, uint16_t, , (uint16_t))
DIVIDE(u32, uint32_t, uint32_t, , )
DIVIDE(u64, uint64_t, uint64_t, , )
DIVIDE(f32, float, float, , )
DIVIDE(f64, double, double, , )
DIVIDE(f16, uint16_t, float, sp_half_to_float, sp_half_from_float)
DIVIDE(bf16, uint16_t, float, sp_bfloat16_to_float, sp_bfloat16_from_float)

typedef enum operation { MULTIPLY, DIVISION, ADDITION, OPERATION_COUNT } operation;

static combine_fn *const kernels_of[SP_DTYPE_COUNT][OPERATION_COUNT] = {
	[SP_INT8] = {multiply_u8, divide_i8, add_u8},
	[SP_INT16] = {multiply_u16, divide_i16, add_u16},
	[SP_INT32] = {multiply_u32, divide_i32, add_u32},
	[SP_INT64] = {multiply_u64, divide_i64, add_u64},
	[SP_UINT8] = {multiply_u8, divide_u8, add_u8},
	[SP_UINT16] = {multiply_u16, divide_u16, add_u16},
	[SP_UINT32] = {multiply_u32, divide_u32, add_u32},
	[SP_UINT64] = {multiply_u64, divide_u64, add_u64},
	[SP_FLOAT] = {multiply_f32, divide_f32, add_f32},
	[SP_DOUBLE] = {multiply_f64, divide_f64, add_f64},
	[SP_HALF] = {multiply_f16, divide_f16, add_f16},
	[SP_BFLOAT16] = {multiply_bf16, divide_bf16, add_bf16},
};

typedef struct cwise_state {
	combine_fn *combine;
} cwise_state;

/* Only the dense operand may be broadcast. */
static sp_status check_broadcast(const sp_call *call, const sp_sparse *in)
{
	const sp_shape *dense = &call->in[3]->shape;
	size_t ahead = in->rank - (size_t)dense->rank;
	bool fits = (size_t)dense->rank <= in->rank;
	char text[SP_SHAPE_TEXT_SIZE];

	for (size_t d = 0; fits && d < (size_t)dense->rank; d++)
		fits = dense->dims[d] == in->dims[ahead + d] ||
		       (dense->dims[d] == 1 && in->dims[ahead + d] > 0);
	if (fits)
		return SP_OK;
	return sp_call_invalid(call,
			       "a dense tensor of shape %s cannot be broadcast to the sparse "
			       "one",
			       sp_shape_text(dense, text));
}

static sp_status find_cells(const sp_call *call, const sp_sparse *in, size_t *cells)
{
	const sp_shape *dense = &call->in[3]->shape;
	size_t ahead = in->rank - (size_t)dense->rank;
	char text[SP_SHAPE_TEXT_SIZE];

	for (size_t i = 0; i < in->count; i++) {
		const int64_t *index = in->indices + i * in->rank;

		cells[i] = 0;
		for (size_t d = 0; d < in->rank; d++) {
			if (index[d] < 0 || index[d] >= in->dims[d])
				return sp_call_invalid(
					call, "indices[%zu] = %s is out of bounds", i,
					sp_sparse__index_text(index, in->rank, text));
			if (d >= ahead && dense->dims[d - ahead] != 1)
				cells[i] = cells[i] * (size_t)dense->dims[d - ahead] +
					   (size_t)index[d];
		}
	}
	return SP_OK;
}

static sp_status run_cwise(const sp_call *call)
{
	const cwise_state *state = call->state;
	pairs p = {.dense = call->in[3]->data};
	sp_sparse in;
	size_t *cells;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &in));
	SP_TRY(check_broadcast(call, &in));
	cells = sp_call_bytes(call, in.count, sizeof(*cells));
	if (cells == NULL)
		return sp_call_no_memory(call);
	SP_TRY(find_cells(call, &in, cells));
	SP_TRY(sp_call_output_over(call, 0, 1, in.values->dtype));
	p.values = in.values->data;
	p.cells = cells;
	p.count = in.count;
	p.out = call->out[0]->data;
	if (!state->combine(&p))
		return sp_call_invalid(call, "cannot divide by zero, but the dense tensor contains "
					     "zero");
	return SP_OK;
}

static sp_status prepare_any(sp_prepare *prepare, operation operation_kind, sp_error *err)
{
	cwise_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %s", prepare->node->op_name);
	SP_TRY(sp_prepare_inputs(prepare, 4, err));
	SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	dtype = prepare->in_dtypes[1];
	SP_TRY(sp_prepare_input_dtype(prepare, 3, dtype, err));
	if (dtype < SP_DTYPE_COUNT)
		state->combine = kernels_of[dtype][operation_kind];
	if (state->combine == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

#define CWISE(Name, kind)                                                   \
	static sp_status prepare_##Name(sp_prepare *prepare, sp_error *err) \
	{                                                                   \
		return prepare_any(prepare, kind, err);                     \
	}                                                                   \
	const sp_op sp_op_##Name = {.name = #Name, .prepare = prepare_##Name, .run = run_cwise};

CWISE(SparseDenseCwiseMul, MULTIPLY)
CWISE(SparseDenseCwiseDiv, DIVISION)
CWISE(SparseDenseCwiseAdd, ADDITION)
