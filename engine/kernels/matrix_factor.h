#ifndef SP_ENGINE_KERNELS_MATRIX_FACTOR_H
#define SP_ENGINE_KERNELS_MATRIX_FACTOR_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Factors of dense matrices of double complex numbers, row-major.  All memory is the caller's.
 * Results of real matrices are real.
 *
 * Errors:  false when the iteration does not come to an end, as with NaN.
 * Threads: pure.
 */
typedef double complex sp_complex;

/*
 * a [m, n] = q r by Householder's reflections: a becomes r, which stands on and above the
 * diagonal; below it, and in tau [min(m, n)], is what makes q.  The diagonal of r is real and
 * of the other sign than what stood there.
 */
void sp_matrix_qr(sp_complex *a, size_t m, size_t n, sp_complex *tau);

/* The first `columns` columns of q [m, columns], of what sp_matrix_qr() left. */
void sp_matrix_q(const sp_complex *a, size_t m, size_t n, const sp_complex *tau, sp_complex *q,
		 size_t columns);

/*
 * a [n, n] = v diag(values) v^*, of which the lower triangle is read; values ascend.  a is
 * destroyed.  Jacobi's method; the phase of a vector is that of no rule.
 */
bool sp_matrix_eigen(sp_complex *a, size_t n, double *values, sp_complex *v);

/*
 * a [m, n] = u diag(s) v^* with m >= n; s [n] descends, v is [n, n].  Column i of a becomes
 * that of u, if s[i] is not 0, else 0.  Hestenes' method.
 */
bool sp_matrix_svd(sp_complex *a, size_t m, size_t n, double *s, sp_complex *v);

/*
 * Columns known ... columns - 1 of u [m, columns] become such that all are orthonormal, as those
 * before are.  columns <= m; residual [m] is scratch.
 */
void sp_matrix_complete(sp_complex *u, size_t m, size_t columns, size_t known, double *residual);

/*
 * The lower triangle of a [n, n], which is all that is read, becomes l of a = l l^*.  False where
 * a is not positive definite; then anything is left there.
 */
bool sp_matrix_factor_positive(sp_complex *a, size_t n);

/*
 * b [n, k] becomes x of a x = b, of a positive definite a [n, n], which is destroyed.  False
 * when it is not one.
 */
bool sp_matrix_solve_positive(sp_complex *a, size_t n, sp_complex *b, size_t k);

#endif
