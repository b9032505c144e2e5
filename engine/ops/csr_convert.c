#include <string.h>

#include "engine/ops/array.h"
#include "engine/ops/csr.h"
#include "engine/ops/elements.h"
#include "engine/ops/sparse.h"

/*
 * Sparse matrices (engine/ops/csr.h) from and to other tensors:
 *
 *   SparseTensorToCSRSparseMatrix  of a sparse tensor of 2 or 3 dimensions, row by row
 *   DenseToCSRSparseMatrix         of what stands at the indices [count, 2 or 3], row by row
 *   CSRSparseMatrixToSparseTensor  and back
 *   CSRSparseMatrixToDense         zeros elsewhere; of values in one place the last one
 *   CSRSparseMatrixComponents      rows, columns and values of matrix `index`
 *   SparseMatrixNNZ                how many values there are, in each of a batch
 *
 * float, double, complex64 and complex128.  Indices that are not in the order of rows are
 * refused; TensorFlow mixes rows up then.
 */
typedef struct csr_state {
	sp_dtype dtype; /* of the values */
} csr_state;

static sp_status prepare_matrix(sp_prepare *prepare, size_t inputs, csr_state **out, sp_error *err)
{
	*out = sp_prepare_state(prepare, sizeof(**out));
	if (*out == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	return sp_csr__prepare(prepare, inputs, "type", &(*out)->dtype, err);
}

/* ------------------------------------------------------------------- to sparse */

/* Counts the values of every row; SP_INVALID when an index is out of place. */
static sp_status count_rows(const sp_call *call, const int64_t *indices, size_t count, sp_csr *m)
{
	size_t rank = (size_t)m->shape.rank;
	char text[SP_SHAPE_TEXT_SIZE];

	memset(m->rows, 0, m->batch * (m->height + 1) * sizeof(*m->rows));
	for (size_t i = 0; i < count; i++, indices += rank) {
		size_t b = rank == 3 ? (size_t)indices[0] : 0;
		bool inside = i == 0 || sp_sparse__compare(indices - rank, indices, rank - 1) <= 0;

		for (size_t d = 0; d < rank; d++)
			inside &= indices[d] >= 0 && indices[d] < m->shape.dims[d];
		if (!inside)
			return sp_call_invalid(call, "index %s (%zu) is out of bounds or order",
					       sp_sparse__index_text(indices, rank, text), i);
		m->rows[b * (m->height + 1) + (size_t)indices[rank - 2] + 1]++;
		m->columns[i] = (int32_t)indices[rank - 1];
	}
	sp_csr__add_up(m);
	return SP_OK;
}

static sp_status prepare_from_sparse(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	SP_TRY(sp_csr__check_dtype(prepare, prepare->in_dtypes[1], err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status run_from_sparse(const sp_call *call)
{
	sp_sparse sparse = {0};
	sp_shape shape;
	sp_csr m;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &sparse));
	if (sparse.rank != 2 && sparse.rank != 3)
		return sp_call_invalid(call, "a sparse tensor of %zu dimensions is no matrix",
				       sparse.rank);
	shape.rank = (int32_t)sparse.rank;
	memcpy(shape.dims, sparse.dims, sparse.rank * sizeof(shape.dims[0]));
	SP_TRY(sp_csr__create(call, &shape, sparse.count, sparse.values->dtype, &m));
	if (sparse.count != 0)
		memcpy(m.values.data, sparse.values->data,
		       sparse.count * sp_dtype_size(sparse.values->dtype));
	return count_rows(call, sparse.indices, sparse.count, &m);
}

static sp_status prepare_from_dense(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT64, err));
	SP_TRY(sp_csr__check_dtype(prepare, prepare->in_dtypes[0], err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status run_from_dense(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t rank = (size_t)in->shape.rank, count;
	const int64_t *indices = sp_tensor_i64(call->in[1]);
	sp_csr m;

	SP_TRY(sp_array__need_rank(call, 1, 2));
	if ((rank != 2 && rank != 3) || call->in[1]->shape.dims[1] != in->shape.rank)
		return sp_call_invalid(call, "%lld numbers per index for %zu dimensions",
				       (long long)call->in[1]->shape.dims[1], rank);
	count = call->in[1]->count / rank;
	SP_TRY(sp_csr__create(call, &in->shape, count, in->dtype, &m));
	SP_TRY(count_rows(call, indices, count, &m));
	for (size_t i = 0; i < count; i++, indices += rank) {
		size_t row = (rank == 3 ? (size_t)indices[0] * m.height : 0) +
			     (size_t)indices[rank - 2];

		sp_element__copy(m.values.data, i, in->data, row * m.width + (size_t)m.columns[i],
				 sp_dtype_size(in->dtype));
	}
	return SP_OK;
}

/* ----------------------------------------------------------------- from sparse */

static sp_status prepare_to_sparse(sp_prepare *prepare, sp_error *err)
{
	csr_state *state;

	SP_TRY(prepare_matrix(prepare, 1, &state, err));
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT64, err));
	prepare->out_dtypes[1] = state->dtype;
	return SP_OK;
}

static void put_indices(const sp_csr *m, int64_t *to)
{
	for (size_t b = 0; b < m->batch; b++)
		for (size_t i = 0; i < m->height; i++)
			for (size_t j = sp_csr__first(m, b, i); j < sp_csr__end(m, b, i); j++) {
				if (m->shape.rank == 3)
					*to++ = (int64_t)b;
				*to++ = (int64_t)i;
				*to++ = m->columns[j];
			}
}

static sp_status run_to_sparse(const sp_call *call)
{
	const csr_state *state = call->state;
	sp_shape shape;
	sp_csr m = {0};

	SP_TRY(sp_csr__read(call, 0, state->dtype, &m));
	shape = sp_shape_matrix((int64_t)m.values.count, m.shape.rank);
	SP_TRY(sp_call_output(call, 0, SP_INT64, &shape));
	shape = sp_shape_vector((int64_t)m.values.count);
	SP_TRY(sp_call_output(call, 1, state->dtype, &shape));
	shape = sp_shape_vector(m.shape.rank);
	SP_TRY(sp_call_output(call, 2, SP_INT64, &shape));
	put_indices(&m, sp_tensor_i64(call->out[0]));
	if (m.values.count != 0)
		memcpy(call->out[1]->data, m.values.data,
		       m.values.count * sp_dtype_size(state->dtype));
	memcpy(call->out[2]->data, m.shape.dims, (size_t)m.shape.rank * sizeof(m.shape.dims[0]));
	return SP_OK;
}

static sp_status prepare_to_dense(sp_prepare *prepare, sp_error *err)
{
	csr_state *state;

	SP_TRY(prepare_matrix(prepare, 1, &state, err));
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

static sp_status run_to_dense(const sp_call *call)
{
	const csr_state *state = call->state;
	size_t size = sp_dtype_size(state->dtype);
	sp_csr m = {0};

	SP_TRY(sp_csr__read(call, 0, state->dtype, &m));
	SP_TRY(sp_call_output(call, 0, state->dtype, &m.shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	memset(call->out[0]->data, 0, call->out[0]->count * size);
	for (size_t row = 0; row < m.batch * m.height; row++) {
		size_t b = row / m.height, i = row % m.height;

		for (size_t j = sp_csr__first(&m, b, i); j < sp_csr__end(&m, b, i); j++)
			sp_element__copy(call->out[0]->data, row * m.width + (size_t)m.columns[j],
					 m.values.data, j, size);
	}
	return SP_OK;
}

static sp_status prepare_components(sp_prepare *prepare, sp_error *err)
{
	csr_state *state;

	SP_TRY(prepare_matrix(prepare, 2, &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT32, err));
	prepare->out_dtypes[2] = state->dtype;
	return SP_OK;
}

static sp_status run_components(const sp_call *call)
{
	const csr_state *state = call->state;
	size_t size = sp_dtype_size(state->dtype), first, count, b;
	sp_shape shape;
	sp_csr m = {0};

	SP_TRY(sp_csr__read(call, 0, state->dtype, &m));
	SP_TRY(sp_array__need_rank(call, 1, 0));
	b = (size_t)*sp_tensor_i32(call->in[1]);
	if (b >= m.batch)
		return sp_call_invalid(call, "index %d is not one of %zu matrices",
				       *sp_tensor_i32(call->in[1]), m.batch);
	first = (size_t)m.batches[b];
	count = (size_t)m.batches[b + 1] - first;
	shape = sp_shape_vector((int64_t)m.height + 1);
	SP_TRY(sp_call_output(call, 0, SP_INT32, &shape));
	shape = sp_shape_vector((int64_t)count);
	SP_TRY(sp_call_output(call, 1, SP_INT32, &shape));
	SP_TRY(sp_call_output(call, 2, state->dtype, &shape));
	memcpy(call->out[0]->data, m.rows + b * (m.height + 1), (m.height + 1) * sizeof(*m.rows));
	if (count == 0)
		return SP_OK;
	memcpy(call->out[1]->data, m.columns + first, count * sizeof(*m.columns));
	memcpy(call->out[2]->data, (const char *)m.values.data + first * size, count * size);
	return SP_OK;
}

static sp_status prepare_count(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_VARIANT, err));
	return sp_prepare_outputs(prepare, 1, SP_INT32, err);
}

static sp_status run_count(const sp_call *call)
{
	sp_shape shape = sp_shape_scalar();
	sp_csr m = {0};

	SP_TRY(sp_csr__read(call, 0, SP_INVALID_DTYPE, &m));
	if (m.shape.rank == 3)
		shape = sp_shape_vector(m.shape.dims[0]);
	SP_TRY(sp_call_output(call, 0, SP_INT32, &shape));
	for (size_t b = 0; b < m.batch; b++)
		sp_tensor_i32(call->out[0])[b] = m.batches[b + 1] - m.batches[b];
	return SP_OK;
}

#define CSR_OP(op, outs, prepare_fn, run_fn)                  \
	const sp_op sp_op_##op = {.name = #op,                \
				  .outputs = outs,            \
				  .flags = SP_OP_PER_REQUEST, \
				  .prepare = prepare_fn,      \
				  .run = run_fn}

CSR_OP(CSRSparseMatrixComponents, "row_ptrs col_inds values", prepare_components, run_components);
CSR_OP(CSRSparseMatrixToDense, "dense_output", prepare_to_dense, run_to_dense);
CSR_OP(CSRSparseMatrixToSparseTensor, "indices values dense_shape", prepare_to_sparse,
       run_to_sparse);
CSR_OP(DenseToCSRSparseMatrix, "sparse_output", prepare_from_dense, run_from_dense);
CSR_OP(SparseMatrixNNZ, "nnz", prepare_count, run_count);
CSR_OP(SparseTensorToCSRSparseMatrix, "sparse_matrix", prepare_from_sparse, run_from_sparse);
