#include "engine/graph/op.h"

#include <complex.h>
#include <string.h>

#include "engine/ops/array/elements.h"

/*
 * SparseTensorDenseMatMul: a sparse matrix times a dense one, each optionally transposed (adjoint
 * if complex).
 *
 *     out[m, n] = sum over the values a at [m, k] of a * b[k, n]
 *
 * Numerics: added in the order of the values; half and bfloat16 in float, rounded once.
 */
typedef struct matmul_state {
	bool adjoint_a;
	bool adjoint_b;
	const struct matmul_kernel *kernel;
} matmul_state;

typedef struct product {
	const int64_t *indices; /* [count, 2] */
	size_t count;
	const void *a;
	const void *b;
	void *out; /* [rows, columns], zero */
	int64_t rows, inner, columns;
	bool adjoint_a, adjoint_b;
} product;

typedef void multiply_fn(const product *p);

typedef struct matmul_kernel {
	multiply_fn *multiply;
	sp_dtype sum_dtype; /* the type of the sums */
} matmul_kernel;

#define MULTIPLY(name, type, wide, LOAD, CONJUGATE)                                        \
	static void name(const product *p)                                                 \
	{                                                                                  \
		int64_t row_step = p->adjoint_b ? 1 : p->columns;                          \
		int64_t column_step = p->adjoint_b ? p->inner : 1;                         \
                                                                                           \
		for (size_t i = 0; i < p->count; i++) {                                    \
			int64_t m = p->indices[2 * i + (p->adjoint_a ? 1 : 0)];            \
			int64_t k = p->indices[2 * i + (p->adjoint_a ? 0 : 1)];            \
			const type *b = (const type *)p->b + k * row_step;                 \
			wide a = LOAD(((const type *)p->a)[i]);                            \
			wide *out = (wide *)p->out + m * p->columns;                       \
                                                                                           \
			if (p->adjoint_a)                                                  \
				a = CONJUGATE(a);                                          \
			if (!p->adjoint_b)                                                 \
				for (int64_t n = 0; n < p->columns; n++)                   \
					out[n] += a * LOAD(b[n]);                          \
			else                                                               \
				for (int64_t n = 0; n < p->columns; n++)                   \
					out[n] += a * CONJUGATE(LOAD(b[n * column_step])); \
		}                                                                          \
	}

MULTIPLY(multiply_f32, float, float, , )
MULTIPLY(multiply_f64, double, double, , )
MULTIPLY(multiply_i32, uint32_t, uint32_t, , )
MULTIPLY(multiply_c64, float complex, float complex, , conjf)
MULTIPLY(multiply_c128, double complex, double complex, , conj)
MULTIPLY(multiply_f16, uint16_t, float, sp_half_to_float, )
MULTIPLY(multiply_bf16, uint16_t, float, sp_bfloat16_to_float, )

static const matmul_kernel kernels_of[SP_DTYPE_COUNT] = {
	[SP_FLOAT] = {multiply_f32, SP_FLOAT},
	[SP_DOUBLE] = {multiply_f64, SP_DOUBLE},
	[SP_INT32] = {multiply_i32, SP_INT32},
	[SP_COMPLEX64] = {multiply_c64, SP_COMPLEX64},
	[SP_COMPLEX128] = {multiply_c128, SP_COMPLEX128},
	[SP_HALF] = {multiply_f16, SP_FLOAT},
	[SP_BFLOAT16] = {multiply_bf16, SP_FLOAT},
};

static sp_status check_shapes(const sp_call *call)
{
	const sp_tensor *indices = call->in[0], *values = call->in[1], *shape = call->in[2];

	if (indices->shape.rank != 2 || (indices->count != 0 && indices->shape.dims[1] != 2))
		return sp_call_invalid(call, "a_indices must be a matrix of two columns");
	if (values->shape.rank != 1 || values->shape.dims[0] != indices->shape.dims[0])
		return sp_call_invalid(call, "%zu values for %lld rows of a_indices", values->count,
				       (long long)indices->shape.dims[0]);
	if (shape->shape.rank != 1 || shape->count != 2)
		return sp_call_invalid(call, "a_shape must be a vector of 2, not of %zu",
				       shape->count);
	for (size_t d = 0; d < 2; d++)
		if (sp_tensor_i64(shape)[d] < 0)
			return sp_call_invalid(call, "dimension %zu of a_shape is %lld", d,
					       (long long)sp_tensor_i64(shape)[d]);
	SP_TRY(sp_call_need_rank(call, 3, 2));
	return SP_OK;
}

static sp_status check_indices(const sp_call *call, const product *p)
{
	const int64_t *bounds = sp_tensor_i64(call->in[2]);

	for (size_t i = 0; i < p->count; i++)
		for (size_t d = 0; d < 2; d++)
			if (p->indices[2 * i + d] < 0 || p->indices[2 * i + d] >= bounds[d])
				return sp_call_invalid(
					call, "index [%zu,%zu] is %lld, not below %lld", i, d,
					(long long)p->indices[2 * i + d], (long long)bounds[d]);
	return SP_OK;
}

/* Rounds the float sums of a 16-bit product to its elements. */
static void round_sums(sp_tensor *out, const float *sums)
{
	uint16_t *to = out->data;

	for (size_t i = 0; i < out->count; i++)
		to[i] = out->dtype == SP_HALF ? sp_half_from_float(sums[i])
					      : sp_bfloat16_from_float(sums[i]);
}

static sp_status run_matmul(const sp_call *call)
{
	const matmul_state *state = call->state;
	const sp_tensor *b = call->in[3];
	sp_dtype dtype = b->dtype, sum_dtype = state->kernel->sum_dtype;
	product p = {.count = call->in[1]->count,
		     .a = call->in[1]->data,
		     .b = b->data,
		     .adjoint_a = state->adjoint_a,
		     .adjoint_b = state->adjoint_b};
	int64_t inner;

	SP_TRY(check_shapes(call));
	SP_TRY(sp_elements__widen(call, call->in[0], &p.indices));
	SP_TRY(check_indices(call, &p));
	p.rows = sp_tensor_i64(call->in[2])[p.adjoint_a ? 1 : 0];
	p.inner = sp_tensor_i64(call->in[2])[p.adjoint_a ? 0 : 1];
	inner = b->shape.dims[p.adjoint_b ? 1 : 0];
	p.columns = b->shape.dims[p.adjoint_b ? 0 : 1];
	if (p.inner != inner)
		return sp_call_invalid(call, "the inner dimensions %lld and %lld differ",
				       (long long)p.inner, (long long)inner);
	SP_TRY(sp_call_output_matrix(call, 0, dtype, p.rows, p.columns));
	p.out = sum_dtype == dtype ? call->out[0]->data
				   : sp_call_bytes(call, call->out[0]->count, sizeof(float));
	if (p.out == NULL)
		return sp_call_no_memory(call);
	memset(p.out, 0, call->out[0]->count * sp_dtype_size(sum_dtype));
	if (p.columns != 0)
		state->kernel->multiply(&p);
	if (sum_dtype != dtype)
		round_sums(call->out[0], p.out);
	return SP_OK;
}

static sp_status prepare_matmul(sp_prepare *prepare, sp_error *err)
{
	matmul_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "a matrix product");
	SP_TRY(sp_prepare_types(prepare, "index T int64 T -> T", err));
	dtype = prepare->in_dtypes[1];
	if (dtype >= SP_DTYPE_COUNT || kernels_of[dtype].multiply == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	state->kernel = &kernels_of[dtype];
	SP_TRY(sp_node_attr_bool(prepare->node, "adjoint_a", false, &state->adjoint_a, err));
	return sp_node_attr_bool(prepare->node, "adjoint_b", false, &state->adjoint_b, err);
}

SP_DEFINE_OP(SparseTensorDenseMatMul, NULL, 0, prepare_matmul, run_matmul);
