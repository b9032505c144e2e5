#ifndef SP_ENGINE_KERNELS_FLOAT_PRODUCT_H
#define SP_ENGINE_KERNELS_FLOAT_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The float32 matrix product for a panel of a few columns: the common kernel of dense layers,
 * MatMul, Einsum, convolutions and recurrent cells.
 *
 *     c[i][j] = sum over k < depth of a[i][k] * b[k][j]
 *
 * There are versions for AVX-512, for AVX2 with FMA, and for vectors of four floats.
 *
 * Numerics: with u = 2^-24 an element is within (depth + 1) * u * sum |a b| of the exact sum of the
 * products (twice that without FMA, where products are rounded, too).  Callers cut a long sum into
 * pieces of SP_PRODUCT_SPAN terms and add these, which bounds the error of k terms by
 * (SP_PRODUCT_SPAN + k / SP_PRODUCT_SPAN + 2) * u * sum |a b|.  The bits depend on the instruction
 * set and on the number of rows.
 * Threads: pure.
 */
enum {
	SP_PRODUCT_SPAN = 256,
	SP_PRODUCT_MAX_PANEL = 32,
};

/*
 * The best panel width in columns: 32, 16 or 8.  The kernel reads b in units of half a panel.
 */
size_t sp_product_panel(void);

typedef struct sp_product {
	size_t rows, depth;
	size_t width; /* columns of c, 1 ... sp_product_panel() */
	const float *a;
	size_t a_row, a_column; /* strides */
	const float *b;         /* dense rows; width rounded up to half a panel may be read */
	size_t b_row;
	float *c;
	size_t c_row;
	bool add;          /* adds to c instead of overwriting it */
	const float *bias; /* added to each row, as long as a row of b; or NULL */
	bool relu;         /* at the end negative elements become 0; NaN stays */
} sp_product;

void sp_product_run(const sp_product *product);

/* The sum of a[i] * b[i] for i < k. */
float sp_product_dot(const float *a, const float *b, size_t k);

#endif
