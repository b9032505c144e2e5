#ifndef SP_ENGINE_KERNELS_FLOAT_PRODUCT_H
#define SP_ENGINE_KERNELS_FLOAT_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The float32 matrix product of a few columns: the one kernel under dense layers, MatMul, Einsum,
 * convolutions and recurrent cells.
 *
 *     c[i][j] = sum over k < depth of a[i][k] * b[k][j]
 *
 * It is written for AVX-512, AVX2 with FMA, and for any processor with registers of four floats.
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
 * How many columns of b are best passed side by side: 32, 16 or 8.  The kernel reads b in units of
 * half as many columns.
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
	bool add;          /* to what is in c */
	const float *bias; /* or NULL: added to each row; as long as a row of b */
	bool relu;         /* at last: negative elements become 0, NaN stays */
} sp_product;

void sp_product_run(const sp_product *product);

/* The sum of a[i] * b[i] over k terms, both side by side. */
float sp_product_dot(const float *a, const float *b, size_t k);

#endif
