#ifndef SP_ENGINE_OPS_TRIDIAGONAL_H
#define SP_ENGINE_OPS_TRIDIAGONAL_H

#include "engine/op.h"

/*
 * a x = b of a tridiagonal matrix that may be singular, by elimination with exchanges of rows.
 * A pivot that is too small to divide by is moved away from 0, twice as far each time, beginning
 * with the rounding error of the largest element of the triangle; one that is small, but not too
 * small for its row, is scaled with its row.
 *
 * diagonals  [3, n]  those above, on and below the diagonal; element i stands in row i
 * b, x       [n, k]  may not overlap
 * n, k       >= 1
 * room       SP_TRIDIAGONAL_ROOM(n, k) elements
 *
 * Numerics: every step is rounded to the elements' own type, and in LAPACK's order (xLAGTF and
 *           xLAGTS), since of a singular matrix the rounding errors are the answer.  Rows are
 *           exchanged by their pivots' parts of their sums.  Complex quotients are Smith's.
 *           The bits are TensorFlow's where no number is less than the least normal one, which
 *           its threads take for 0.
 * Threads:  pure.
 * Source:   LAPACK, xLAGTF and xLAGTS (job -1); TensorFlow's kernel of TridiagonalSolve.
 */
#define SP_TRIDIAGONAL_ROOM(n, k) (3 * (n) + (k))

typedef void sp_tridiagonal_fn(const void *diagonals, const void *b, size_t n, size_t k, void *x,
			       void *room);

/* Of float, double, complex64 or complex128. */
sp_tridiagonal_fn *sp_tridiagonal__perturbed(sp_dtype dtype);

#endif
