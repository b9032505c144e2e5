#ifndef SP_ENGINE_KERNELS_ORDERED_MATRIX_H
#define SP_ENGINE_KERNELS_ORDERED_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Dense matrices of float, and of double, computed in that type and in the order in which
 * TensorFlow 2.15 computes its linear algebra on an x86 processor: by Eigen, with vectors of 32
 * bytes, each product and each sum rounded.  So they are the same bits.
 *
 * Sums of products have one of three orders, by where in the result they stand: one running sum;
 * one of even and one of odd terms, for as many whole eights of terms as there are; or eight
 * running sums (four, of double).  Sums of a row by a column have running sums for each of a
 * vector's elements.  Which of them it is depends on the layouts as TensorFlow has them.
 *
 * Views may have any steps, and must not overlap.  All memory is the caller's.
 * Threads: pure.
 */
#define SP_ORDERED_ROOM(n) (48 * 48 + 2 * 48 * (size_t)(n)) /* for reflections of n columns */

#define SP_ORDERED_MATRIX(real, kind)                                                              \
	typedef struct sp_view_##kind {                                                            \
		real *at;                                                                          \
		size_t row, column; /* steps */                                                    \
		bool by_rows;       /* TensorFlow has the elements of a row side by side */        \
	} sp_view_##kind;                                                                          \
                                                                                                   \
	/* c [m, n] += sign * a [m, k] b [k, n]; sign is 1 or -1. */                               \
	void sp_ordered_multiply_##kind(sp_view_##kind c, sp_view_##kind a, sp_view_##kind b,      \
					size_t m, size_t k, size_t n, real sign);                  \
                                                                                                   \
	/* The lower triangle of c [n, n], which is by rows, += sign * a [n, k] a^T. */            \
	void sp_ordered_square_##kind(sp_view_##kind c, sp_view_##kind a, size_t n, size_t k,      \
				      real sign);                                                  \
                                                                                                   \
	/*                                                                                         \
	 * b [n, k] becomes x of a x = b, of a triangle a [n, n]; `unit`: with ones on its         \
	 * diagonal, which is not read.  With a 0 there x is infinite, or NaN.                     \
	 */                                                                                        \
	void sp_ordered_solve_##kind(sp_view_##kind a, bool lower, bool unit, sp_view_##kind b,    \
				     size_t n, size_t k);                                          \
                                                                                                   \
	/*                                                                                         \
	 * a [n, n] becomes both triangles of p a = l u, l with ones on its diagonal; row i of     \
	 * p a is row order[i] of a.  A column without a pivot stays as it is.  Returns p's sign;  \
	 * order and pivots [n], the latter is scratch.                                            \
	 */                                                                                        \
	int sp_ordered_lu_##kind(sp_view_##kind a, size_t n, int64_t *order, int64_t *pivots);     \
                                                                                                   \
	/*                                                                                         \
	 * The lower triangle of a [n, n], by rows, which is all that is read, becomes l of        \
	 * a = l l^T.  False where a is not positive definite; then anything is left there.        \
	 */                                                                                        \
	bool sp_ordered_cholesky_##kind(sp_view_##kind a, size_t n);                               \
                                                                                                   \
	/*                                                                                         \
	 * a [m, n], by rows, becomes r of a = q r, on and above its diagonal; below it, and in    \
	 * tau [the shorter side], is what makes q.  room [SP_ORDERED_ROOM(n)].                    \
	 */                                                                                        \
	void sp_ordered_qr_##kind(sp_view_##kind a, size_t m, size_t n, real *tau, real *room);    \
                                                                                                   \
	/*                                                                                         \
	 * q [m, columns], by rows, becomes the first columns of it, of what sp_ordered_qr() left. \
	 * `square`: all are wanted, and as TensorFlow makes them then.  room                      \
	 * [SP_ORDERED_ROOM(columns)].                                                             \
	 */                                                                                        \
	void sp_ordered_q_##kind(sp_view_##kind a, size_t m, size_t n, const real *tau,            \
				 sp_view_##kind q, size_t columns, bool square, real *room);       \
                                                                                                   \
	/*                                                                                         \
	 * x [n, k] becomes the shortest of those for which |a x - b| is least, all of them by     \
	 * rows. a [m, n] and b [m, k] are destroyed; m, n, k >= 1, room [5 * n +                  \
	 * SP_ORDERED_ROOM(k)], order [n].                                                         \
	 */                                                                                        \
	void sp_ordered_least_squares_##kind(real *a, real *b, real *x, size_t m, size_t n,        \
					     size_t k, real *room, int64_t *order);                \
                                                                                                   \
	/*                                                                                         \
	 * a [n, n], by columns, of which the lower triangle is read, = v diag(values) v^T, values \
	 * ascending; a becomes v, by columns, if that is wanted, and else anything.  room [3 *    \
	 * n], n >= 1.  False when it does not come to an end, as with NaN.  TensorFlow has        \
	 * subnormal numbers here.                                                                 \
	 */                                                                                        \
	bool sp_ordered_eigen_##kind(real *a, size_t n, real *values, bool vectors, real *room);   \
                                                                                                   \
	/*                                                                                         \
	 * a = u diag(values) v^T, values descending, of a matrix with less than 16 columns, which \
	 * is how TensorFlow does it there.  a lies with its longer side down, `turned`: that is   \
	 * its transpose, and u and v change places; it is destroyed.  u and v may be NULL.        \
	 */                                                                                        \
	typedef struct sp_singular_##kind {                                                        \
		real *a; /* [longer, shorter] */                                                   \
		size_t longer, shorter;                                                            \
		bool turned;                                                                       \
		size_t columns; /* of u: longer, or shorter */                                     \
		real *u, *v;    /* [longer, columns], [shorter, shorter] */                        \
	} sp_singular_##kind;                                                                      \
                                                                                                   \
	/*                                                                                         \
	 * room [shorter * (shorter + 3) + SP_ORDERED_ROOM(columns)], order [shorter].  False of   \
	 * what is not finite.                                                                     \
	 */                                                                                        \
	bool sp_ordered_svd_##kind(const sp_singular_##kind *s, real *values, real *room,          \
				   int64_t *order);                                                \
                                                                                                   \
	/* The sum of a[i] * b[i], and of x[i], i < n, as one reduction. */                        \
	real sp_ordered_dot_##kind(const real *a, const real *b, size_t n);                        \
	real sp_ordered_sum_##kind(const real *x, size_t n);

SP_ORDERED_MATRIX(float, f32)
SP_ORDERED_MATRIX(double, f64)

#endif
