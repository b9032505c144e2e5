#ifndef SP_ENGINE_KERNELS_FLOAT_PRODUCT_H
#define SP_ENGINE_KERNELS_FLOAT_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Sums of float32 products, in the order in which TensorFlow 2.15 takes them on an x86
 * processor with oneDNN off: there a model's answers are often the same to the bit.
 *
 * - Several rows by several columns: k is cut into spans (sp_product_span_end), a span is
 *   one running sum of fused multiply-adds, the spans are added in order.  A last row or column
 *   that is left over when these are cut into blocks (sp_product_left_over()) has an order of its
 *   own: the row one running sum of all terms, the column sp_product_of_rest().
 * - One row by several columns, or by one to which a bias is added: below 128 terms one running
 * sum, else one for every 16 terms, added in order; each product is rounded.
 * - Rows of which one is multiplied with all: eight running sums, one for every eighth term,
 *   and the terms that are left over; each product is rounded.
 * - One row by one column, and products whose rows, columns and terms are fewer than
 *   SP_PRODUCT_TINY together: sp_product_inner() or sp_product_in_order().
 * - Several rows by one column to which a bias is added, convolutions to one output: k in slices, a
 * slice eight running sums of fused multiply-adds, their sum, and those of 8, 4, 2 and 1 terms that
 * are left over.
 *
 * Numerics: with u = 2^-24 and s the sum of the terms' sizes an element is within
 *     (SP_PRODUCT_SPAN + k / 304 + 4) * u * s      in spans,
 *     (k + 1) * u * s                              in order, or in a row that is left over
 *     (SP_PRODUCT_SHORT + k / 8 + 12) * u * s      otherwise
 * of the exact sum.  A processor without fused multiply-add rounds the products: one u * s
 * more.
 * Threads: pure.
 */
enum {
	SP_PRODUCT_COLUMNS = 64, /* of a tile */
	SP_PRODUCT_SPAN = 384,   /* no span is longer */
	SP_PRODUCT_SHORT = 128,
	SP_PRODUCT_TINY = 20,
};

/* Where the span that holds term `at` < k ends. */
size_t sp_product_span_end(size_t k, size_t at);

/*
 * Whether blocks of [rows, columns], several of each, leave a last row or column over.  It says so
 * only where that has another order: of rows where there are several spans.
 *
 * Source: computeProductBlockingSizes() of Eigen 3.4 with TensorFlow 2.15's
 * TensorContractionBlocking, for one thread and a processor with caches of 48 KiB and 1 MiB.
 */
typedef struct sp_product_rest {
	bool row, column; /* never both */
} sp_product_rest;

sp_product_rest sp_product_left_over(size_t rows, size_t columns, size_t k);

/* False if no number of rows leaves the last column over. */
bool sp_product_may_leave_column(size_t columns, size_t k);

/*
 * sums[i][j] += a[i][k] * b[k][j], term by term.
 * Of b as many columns are read as make up `width` rounded up to 16.
 */
typedef struct sp_product_tile {
	const float *a;
	size_t a_row, a_column; /* strides */
	const float *b;
	size_t b_row;
	size_t rows;
	size_t width; /* <= SP_PRODUCT_COLUMNS */
	size_t depth;
	float (*sums)[SP_PRODUCT_COLUMNS];
} sp_product_tile;

void sp_product_tile_add(const sp_product_tile *tile);

/*
 * One row times w [k, width], where w may come in pieces: start, then add each piece in
 * order, then finish.
 */
typedef struct sp_product_row {
	size_t block; /* terms of one sum */
	size_t left;  /* of these, to come */
	float sums[SP_PRODUCT_COLUMNS];
	float totals[SP_PRODUCT_COLUMNS];
} sp_product_row;

/* `k` >= 1 counts the terms of all pieces; each has the same `width` <= SP_PRODUCT_COLUMNS. */
void sp_product_row_start(sp_product_row *row, size_t k);
void sp_product_row_add(sp_product_row *row, const float *x, size_t x_step, size_t k,
			const float *w, size_t w_row, size_t width);
void sp_product_row_finish(const sp_product_row *row, float *y, size_t count);

/*
 * The sum of a[i] * b[i] over k terms, as of rows of which one is multiplied with all.
 * `alone`: it is the last of an odd number of rows, whose four terms left over have sums of
 * their own.
 */
float sp_product_dot(const float *a, const float *b, size_t k, bool alone);

/*
 * The same of x and each column of w [k, width], which may come in pieces: start, then add each
 * piece in order, then finish.
 */
enum { SP_PRODUCT_RUNNING = 8 };

typedef struct sp_product_dots {
	size_t at, whole; /* terms so far, and those that the running sums take */
	float sums[SP_PRODUCT_RUNNING][SP_PRODUCT_COLUMNS];
	float left_over[SP_PRODUCT_RUNNING][SP_PRODUCT_COLUMNS];
} sp_product_dots;

/* `k` counts the terms of all pieces; each has the same `width` <= SP_PRODUCT_COLUMNS. */
void sp_product_dots_start(sp_product_dots *dots, size_t k);
void sp_product_dots_add(sp_product_dots *dots, const float *x, size_t k, const float *w,
			 size_t w_row, size_t width);
/* The first `count` columns, of which the last may be alone. */
void sp_product_dots_finish(const sp_product_dots *dots, float *y, size_t count, bool alone);

/*
 * The same for one row and one column: sixteen running sums if both are given as rows (b is
 * transposed), else one.
 */
float sp_product_inner(const float *a, const float *b, size_t k);
float sp_product_in_order(const float *a, size_t a_step, const float *b, size_t b_step, size_t k);

/* The same, one of several rows by one column with a bias, or of a convolution to one output; k
 * >= 1. */
float sp_product_head(const float *a, const float *b, size_t k);

/*
 * The same, one of several rows by a column that is left over, k <= 608.  `apart`:
 * the matrix is not transposed, so that the column lies apart; then slices are of 512.
 */
float sp_product_of_rest(const float *a, size_t a_step, const float *b, size_t b_step, size_t k,
			 bool apart);

#endif
