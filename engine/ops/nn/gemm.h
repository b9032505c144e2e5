#ifndef SP_ENGINE_OPS_GEMM_H
#define SP_ENGINE_OPS_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tensor/dtype.h"
#include "engine/ops/math/broadcast.h"

/*
 * The matrix product c = a * b.
 *
 * a [m, k] and b [k, n] have any strides, in elements, so that a transposed
 * matrix is one with its strides exchanged; c [m, n] is dense and must not
 * overlap them.  Any of m, n and k may be 0.
 *
 * Numerics: floats are summed in TensorFlow's order, engine/kernels/float_product.h has it and its
 * bounds; small ones within (SP_GEMM_PASS + k / 304 + 4) * u * sum |a b|.  Half and bfloat16 round
 * every product and every sum to their type, in the order that TensorFlow 2.15 has without oneDNN;
 * TensorFlow cuts a long sum in more places where it spreads a large product over threads.  (Its
 * MatMul of bfloat16 is another one: engine/ops/nn/matmul.c.)  Of the other types each element of c
 * is summed over k in the element type, SP_GEMM_SPAN terms in order and then these sums in order;
 * integers wrap around.  With u = 2^-53 for double an element is within (SP_GEMM_SPAN + k /
 * SP_GEMM_SPAN + 2) * u * sum |a b| of the exact one; with u = 2^-11 for half and 2^-8 for
 * bfloat16 within 2 * k * u * sum |a b|, as long as k * u is small.
 * Where terms of a long sum cancel, another order (a processor's without fused
 * multiply-add, TensorFlow's with oneDNN) can differ by more than 1e-5 of what is left.
 * Threads: pure.
 */
enum { SP_GEMM_SPAN = 256, SP_GEMM_PASS = 608, SP_GEMM_WIDE_TAIL = 64 };

typedef struct sp_gemm {
	size_t m, n, k;
	const void *a;
	size_t a_row, a_column;
	const void *b;
	size_t b_row, b_column;
	void *c;
	size_t before,
		after; /* floats: further rows of the same product, multiplied in other calls */
	bool small;    /* floats: one of a batch that TensorFlow multiplies by another
			  product of Eigen's */

	/*
	 * Half and bfloat16: the operand lies there as floats of the type's values, b with
	 * SP_GEMM_WIDE_TAIL more that may be read.
	 */
	bool a_wide, b_wide;
} sp_gemm;

typedef void sp_gemm_fn(const sp_gemm *gemm);

/*
 * For all numbers, complex ones too; NULL for other types, and for integers of 8 bits and
 * unsigned ones of 16.
 */
sp_gemm_fn *sp_gemm__find(sp_dtype dtype);

/* The kernels for floats, halves and bfloat16, in files of their own. */
void sp_gemm__float(const sp_gemm *gemm);
void sp_gemm__half(const sp_gemm *gemm);
void sp_gemm__bfloat16(const sp_gemm *gemm);

/*
 * Floats whose c is one column, rows of a and b dense, k >= 1: each element as sp_product_head()
 * sums it, which is TensorFlow's order in convolutions to one output.
 */
void sp_gemm__heads(const sp_gemm *gemm);

/* For floats that are `small`, gemm_small.c; m and n are at least 2. */
void sp_gemm__small(const sp_gemm *gemm);

/* Whether TensorFlow takes Eigen's product for matrices of a batch, as it does for small ones. */
bool sp_gemm__is_small(size_t batch, size_t m, size_t n, size_t k);

/*
 * Whether it matters to the order of sums which of a matrix's rows and columns lie side by side: of
 * vectors, and of few elements.
 */
bool sp_gemm__goes_by_strides(size_t m, size_t n, size_t k);

/*
 * The products of a batch, of elements of `size` bytes, as TensorFlow's BatchMatMul has them.  a, b
 * and c of `first` are where the matrices of each lie one after the other; `batches` is how those
 * of a and b (operands 0 and 1) go together.  `small` is found out.  There is at least one element.
 */
void sp_gemm__batch(sp_gemm_fn *kernel, const sp_gemm *first, sp_broadcast *batches, size_t size);

#endif
