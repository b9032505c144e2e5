#ifndef SP_ENGINE_OPS_GEMM_H
#define SP_ENGINE_OPS_GEMM_H

#include <stddef.h>

#include "engine/tensor/dtype.h"
#include "engine/ops/math/broadcast.h"

/*
 * The matrix product c = a * b.
 *
 * a [m, k] and b [k, n] have any strides, in elements; a transposed matrix has its strides
 * exchanged. c [m, n] is dense and must not overlap a or b.  m, n and k may be 0.
 *
 * Numerics: k is summed in spans of SP_GEMM_SPAN terms, and these sums are added: with u = 2^-24
 * for float and 2^-53 for double an element is within (SP_GEMM_SPAN + k / SP_GEMM_SPAN + 2) * u *
 * sum |a b| of the exact one (twice that for float without FMA).  Half and bfloat16 are multiplied
 * and summed as floats and rounded once per element.  Integers wrap around.  The bits of floats
 * depend on the instruction set and on m.
 * Threads: pure.
 */
enum { SP_GEMM_SPAN = 256 };

typedef struct sp_gemm {
	size_t m, n, k;
	const void *a;
	size_t a_row, a_column;
	const void *b;
	size_t b_row, b_column;
	void *c;
} sp_gemm;

typedef void sp_gemm_fn(const sp_gemm *gemm);

/*
 * For all numbers, complex ones too; NULL for other types, and for integers of 8 bits and
 * unsigned ones of 16.
 */
sp_gemm_fn *sp_gemm__find(sp_dtype dtype);

/* The kernels of gemm_float.c. */
sp_gemm_fn sp_gemm__float, sp_gemm__half, sp_gemm__bfloat16;

/*
 * The products of a batch, with elements of `size` bytes.  a, b and c of `first` are the first
 * matrices of dense arrays of matrices; `batches` broadcasts those of a and b (operands 0 and 1).
 * The batch must not be empty.
 */
void sp_gemm__batch(sp_gemm_fn *kernel, const sp_gemm *first, sp_broadcast *batches, size_t size);

#endif
