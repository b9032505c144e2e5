#ifndef SP_ENGINE_KERNELS_MATRIX_SCHUR_H
#define SP_ENGINE_KERNELS_MATRIX_SCHUR_H

#include "engine/kernels/matrix_factor.h"

/*
 * Schur's form of square matrices of double complex numbers, and functions of triangles.
 * Matrices are row-major [n, n]; of a triangle what is below the diagonal is 0.
 *
 * Threads: pure.
 * Source:  G. H. Golub and C. F. Van Loan, "Matrix Computations", 7.4-7.5 and 9.1-9.4;
 *          N. J. Higham, "Evaluating Padé approximants of the matrix logarithm", 2001.
 */

/*
 * a = u t u^*, u unitary and t an upper triangle, which a becomes; eigenvalues stand on its
 * diagonal.  Givens' rotations and the QR iteration with Wilkinson's shift.  False when that
 * does not come to an end, as with NaN.
 */
bool sp_matrix_schur(sp_complex *a, size_t n, sp_complex *u);

/* v becomes the eigenvector of t that belongs to t[k, k], of length 1 once u is applied. */
void sp_triangle_vector(const sp_complex *t, size_t n, size_t k, sp_complex *v);

/* t becomes its principal square root; not finite where there is none. */
void sp_triangle_sqrt(sp_complex *t, size_t n);

/*
 * t becomes its principal logarithm: square roots until it is near 1, then Padé's approximation
 * by partial fractions.  False when t has the eigenvalue 0, or is not finite.  scratch is
 * [3, n, n].
 */
bool sp_triangle_log(sp_complex *t, size_t n, sp_complex *scratch);

/* out = u t u^*; scratch is [n, n]. */
void sp_matrix_unschur(const sp_complex *u, const sp_complex *t, size_t n, sp_complex *scratch,
		       sp_complex *out);

#endif
