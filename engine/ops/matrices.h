#ifndef SP_ENGINE_OPS_MATRICES_H
#define SP_ENGINE_OPS_MATRICES_H

#include "engine/kernels/matrix_factor.h"
#include "engine/op.h"

/*
 * Matrices that are the two innermost dimensions of a tensor of float, double, complex64 or
 * complex128 (or half, where an operator says so), and are computed with in double complex.
 */

/* SP_UNSUPPORTED unless it is one of these. */
SP_MUST_CHECK sp_status sp_matrices__prepare(const sp_prepare *prepare, sp_dtype dtype, bool half,
					     sp_error *err);

typedef struct sp_matrices {
	size_t count, rows, columns;
} sp_matrices;

/* Of input i. */
SP_MUST_CHECK sp_status sp_matrices__read(const sp_call *call, size_t i, sp_matrices *out);

/* The shape of input 0's batch with other matrices. */
sp_shape sp_matrices__shape(const sp_call *call, size_t rows, size_t columns);

/* rows * columns numbers among the request's bytes; NULL past the limit. */
sp_complex *sp_matrices__room(const sp_call *call, size_t rows, size_t columns);

/* Run `which` of `count` numbers, as they lie. */
void sp_matrices__load(const sp_tensor *tensor, size_t which, size_t count, sp_complex *to);
void sp_matrices__store(const sp_tensor *tensor, size_t which, size_t count,
			const sp_complex *from);

/* One number. */
sp_complex sp_matrices__get(const sp_tensor *tensor, size_t i);
void sp_matrices__put(const sp_tensor *tensor, size_t i, sp_complex value);

#endif
