#ifndef SP_ENGINE_OPS_CSR_H
#define SP_ENGINE_OPS_CSR_H

#include "engine/op.h"

/*
 * Sparse matrices, or a batch of them, as one value: a list (engine/tensor_list.h) of
 *
 *   shape     [2 or 3]             int64: (batch,) rows, columns
 *   batches   [batch + 1]          int32: where the values of a matrix begin
 *   rows      [batch, rows + 1]    int32: where those of a row begin, counted from there
 *   columns   [count]              int32: which column a value is in
 *   values    [count]              float, double, complex64 or complex128
 *
 * What is read has been made here, so it is sound.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_csr {
	sp_shape shape;
	size_t batch, height, width; /* matrices; rows and columns of each */
	int32_t *batches, *rows, *columns;
	sp_tensor values;
} sp_csr;

/* SP_UNSUPPORTED unless it is one of the four. */
SP_MUST_CHECK sp_status sp_csr__check_dtype(const sp_prepare *prepare, sp_dtype dtype,
					    sp_error *err);

/*
 * An operator of `inputs` inputs, the first of them matrices, whose attribute `type` is that of
 * their values.
 */
SP_MUST_CHECK sp_status sp_csr__prepare(const sp_prepare *prepare, size_t inputs, const char *type,
					sp_dtype *out, sp_error *err);

/* Input i, which holds values of that type; *out belongs to the input. */
SP_MUST_CHECK sp_status sp_csr__read(const sp_call *call, size_t i, sp_dtype dtype, sp_csr *out);

/*
 * Output 0 becomes matrices of that shape, of 2 or 3 dimensions, with room for `count` values;
 * all of *out but the shape is to be filled.  SP_INVALID when they are too large for int32.
 */
SP_MUST_CHECK sp_status sp_csr__create(const sp_call *call, const sp_shape *shape, size_t count,
				       sp_dtype dtype, sp_csr *out);

/* Where the values of row i of matrix b begin and end. */
static inline size_t sp_csr__first(const sp_csr *m, size_t b, size_t i)
{
	return (size_t)m->batches[b] + (size_t)m->rows[b * (m->height + 1) + i];
}

static inline size_t sp_csr__end(const sp_csr *m, size_t b, size_t i)
{
	return sp_csr__first(m, b, i + 1);
}

/* Turns counts, in rows[i + 1] of each matrix, into places, and fills batches. */
void sp_csr__add_up(sp_csr *m);

#endif
