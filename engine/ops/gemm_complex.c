#include <string.h>

#include "engine/ops/gemm.h"

/*
 * complex64, in the order of Eigen 3.4 with TensorFlow 2.15, for packets of four and a processor
 * whose first cache has 48 KiB.  All products and sums are rounded.
 *
 * - Several rows by several columns: k is cut into slices, whose sums are added in order.  The four
 *   products of parts that a term has are summed apart, and joined at the end of a slice.  Rows in
 *   fours by columns in pairs have a sum of the even terms and one of the odd, up to the last
 *   whole eight; rows that are left over one sum; a column that is left over four sums, one for
 *   every fourth term.  What is left over of both is a sum of complex products.
 * - One row by several columns: a sum of complex products; of 128 terms and more, one for every 16
 *   (4 where rows are longer than 32,000 bytes), added in order.
 * - Rows of which one is multiplied with all: four sums, one for every fourth term.
 * - One row by one column, and small products of a batch: in order, or eight sums where the
 *   elements of both lie side by side.
 */
typedef struct number {
	float re, im;
} number;

enum {
	ROWS = 16,
	COLUMNS = 16,
	DEPTH = 64, /* of a piece */
	PEELED = 8, /* terms of one turn of Eigen's loop */
	QUAD = 4,   /* rows, or numbers of a packet */
	LONG_SUM = 128,
	LONG_ROW = 32000, /* bytes */
	TINY = 20,
};

static number product(number a, number b)
{
	return (number){a.re * b.re - a.im * b.im, a.im * b.re + a.re * b.im};
}

static number plus(number a, number b)
{
	return (number){a.re + b.re, a.im + b.im};
}

static void add_product(number *sum, number a, number b)
{
	*sum = plus(*sum, product(a, b));
}

/* --------------------------------------------------------- rows by columns */

/* The sums of products of parts, side by side for some columns. */
typedef struct parts {
	float re_re[COLUMNS], im_im[COLUMNS], im_re[COLUMNS], re_im[COLUMNS];
} parts;

/* Some rows of b, their parts apart. */
typedef struct piece {
	float re[DEPTH][COLUMNS], im[DEPTH][COLUMNS];
} piece;

typedef struct tile {
	piece b;
	parts sums[ROWS][2]; /* of even and of odd terms */
	size_t row, column, height, width;
} tile;

static size_t slice_length(size_t k)
{
	size_t rest = k % SP_GEMM_COMPLEX_SPAN;

	if (k <= SP_GEMM_COMPLEX_SPAN || rest == 0)
		return SP_GEMM_COMPLEX_SPAN;
	return SP_GEMM_COMPLEX_SPAN - PEELED * ((SP_GEMM_COMPLEX_SPAN - 1 - rest) /
						(PEELED * (k / SP_GEMM_COMPLEX_SPAN + 1)));
}

static void take_rows(const sp_gemm *g, tile *t, size_t k, size_t depth)
{
	const number *b = (const number *)g->b + k * g->b_row + t->column * g->b_column;

	for (size_t i = 0; i < depth; i++)
		for (size_t j = 0; j < t->width; j++) {
			t->b.re[i][j] = b[i * g->b_row + j * g->b_column].re;
			t->b.im[i][j] = b[i * g->b_row + j * g->b_column].im;
		}
}

static void add_term(parts *sums, number a, const float *re, const float *im)
{
	for (size_t j = 0; j < COLUMNS; j++) {
		sums->re_re[j] += a.re * re[j];
		sums->im_im[j] += a.im * im[j];
		sums->im_re[j] += a.im * re[j];
		sums->re_im[j] += a.re * im[j];
	}
}

static void add_sums(parts *to, const parts *from)
{
	for (size_t j = 0; j < COLUMNS; j++) {
		to->re_re[j] += from->re_re[j];
		to->im_im[j] += from->im_im[j];
		to->im_re[j] += from->im_re[j];
		to->re_im[j] += from->re_im[j];
	}
}

/* Terms `k` to `end` of a row; those before `paired` have two sums. */
static void add_terms(const sp_gemm *g, tile *t, size_t i, size_t k, size_t end, size_t paired)
{
	const number *a = (const number *)g->a + (t->row + i) * g->a_row;

	for (size_t at = k; at < end; at++)
		add_term(&t->sums[i][at < paired ? at % 2 : 0], a[at * g->a_column],
			 t->b.re[at - k], t->b.im[at - k]);
}

static void join_parts(const parts *sums, size_t width, number *c)
{
	for (size_t j = 0; j < width; j++)
		c[j] = plus(c[j], (number){sums->re_re[j] - sums->im_im[j],
					   sums->im_re[j] + sums->re_im[j]});
}

static bool is_in_quad(const sp_gemm *g, size_t row)
{
	return row < g->m / QUAD * QUAD;
}

/* Terms `start` to `end`, a slice, of a tile of pairs of columns. */
static void add_slice(const sp_gemm *g, tile *t, size_t start, size_t end)
{
	size_t paired = start + (end - start) / PEELED * PEELED;

	memset(t->sums, 0, t->height * sizeof(t->sums[0]));
	for (size_t k = start, to; k < end; k = to) {
		to = k < paired ? paired : end;
		to = to - k < DEPTH ? to : k + DEPTH;
		take_rows(g, t, k, to - k);
		for (size_t i = 0; i < t->height; i++) {
			bool quad = is_in_quad(g, t->row + i);

			add_terms(g, t, i, k, to, quad ? paired : k);
			if (quad && to == paired)
				add_sums(&t->sums[i][0], &t->sums[i][1]);
		}
	}
	for (size_t i = 0; i < t->height; i++)
		join_parts(&t->sums[i][0], t->width,
			   (number *)g->c + (t->row + i) * g->n + t->column);
}

/* As add_term(), of one column. */
static void add_to_column(float sums[4], number a, number b)
{
	sums[0] += a.re * b.re;
	sums[1] += a.im * b.im;
	sums[2] += a.im * b.re;
	sums[3] += a.re * b.im;
}

/* Of a row in a quad by the column that is left over. */
static number slice_of_column(const number *a, size_t a_step, const number *b, size_t b_step,
			      size_t depth)
{
	float sums[QUAD][4] = {{0}};
	size_t whole = depth / QUAD * QUAD;

	for (size_t k = 0; k < whole; k++)
		add_to_column(sums[k % QUAD], a[k * a_step], b[k * b_step]);
	for (size_t i = 0; i < 4; i++)
		sums[0][i] = (sums[0][i] + sums[1][i]) + (sums[2][i] + sums[3][i]);
	for (size_t k = whole; k < depth; k++)
		add_to_column(sums[0], a[k * a_step], b[k * b_step]);
	return (number){sums[0][0] - sums[0][1], sums[0][2] + sums[0][3]};
}

static number sum_in_order(const number *a, size_t a_step, const number *b, size_t b_step, size_t k)
{
	number sum = {0, 0};

	for (size_t i = 0; i < k; i++)
		add_product(&sum, a[i * a_step], b[i * b_step]);
	return sum;
}

static void add_slice_of_last_column(const sp_gemm *g, size_t start, size_t end)
{
	const number *a = (const number *)g->a + start * g->a_column;
	const number *b = (const number *)g->b + start * g->b_row + (g->n - 1) * g->b_column;
	number *c = (number *)g->c + g->n - 1;

	for (size_t i = 0; i < g->m; i++, a += g->a_row, c += g->n)
		if (is_in_quad(g, i))
			*c = plus(*c, slice_of_column(a, g->a_column, b, g->b_row, end - start));
		else
			*c = plus(*c, sum_in_order(a, g->a_column, b, g->b_row, end - start));
}

static void multiply_tiles(const sp_gemm *g, size_t start, size_t end)
{
	size_t columns = g->n / 2 * 2;
	tile t;

	memset(&t.b, 0, sizeof(t.b)); /* columns that are not there are multiplied, too */
	for (t.column = 0; t.column < columns; t.column += COLUMNS)
		for (t.row = 0; t.row < g->m; t.row += ROWS) {
			t.height = g->m - t.row < ROWS ? g->m - t.row : ROWS;
			t.width = columns - t.column < COLUMNS ? columns - t.column : COLUMNS;
			add_slice(g, &t, start, end);
		}
}

static void multiply_matrices(const sp_gemm *g)
{
	size_t length = slice_length(g->k);

	memset(g->c, 0, g->m * g->n * sizeof(number));
	for (size_t start = 0; start < g->k; start += length) {
		size_t end = g->k - start < length ? g->k : start + length;

		multiply_tiles(g, start, end);
		if (g->n % 2 != 0)
			add_slice_of_last_column(g, start, end);
	}
}

/* ----------------------------------------------------------------- vectors */

/* A row (or, c being a column, a column) times a matrix: y[j] = sum of x[k] w[k][j]. */
typedef struct vector_product {
	const number *x;
	size_t x_step;
	const number *w;
	size_t w_row, w_column;
	size_t k, n;
	number *y;
} vector_product;

static void multiply_columns(const vector_product *p, size_t j, size_t width)
{
	size_t block = p->w_row * sizeof(number) < LONG_ROW ? 16 : 4;
	number sums[COLUMNS];

	block = p->k < LONG_SUM ? p->k : block;
	memset(p->y + j, 0, width * sizeof(*p->y));
	for (size_t start = 0; start < p->k; start += block) {
		size_t end = p->k - start < block ? p->k : start + block;

		memset(sums, 0, sizeof(sums));
		for (size_t k = start; k < end; k++)
			for (size_t i = 0; i < width; i++)
				add_product(&sums[i], p->x[k * p->x_step],
					    p->w[k * p->w_row + j + i]);
		for (size_t i = 0; i < width; i++)
			p->y[j + i] = plus(p->y[j + i], sums[i]);
	}
}

/* The sum of a packet. */
static number join_packet(const number *packet)
{
	return plus(plus(packet[0], packet[2]), plus(packet[1], packet[3]));
}

/* `alone`: the last of an odd number of rows, of which two terms that are left over have a sum. */
static number dot(const number *a, const number *b, size_t k, bool alone)
{
	number sums[QUAD] = {{0, 0}}, sum;
	size_t at = k / QUAD * QUAD;

	for (size_t i = 0; i < at; i++)
		add_product(&sums[i % QUAD], a[i], b[i]);
	sum = join_packet(sums);
	if (alone && k - at >= 2) {
		sum = plus(sum, plus(product(a[at], b[at]), product(a[at + 1], b[at + 1])));
		at += 2;
	}
	for (; at < k; at++)
		add_product(&sum, a[at], b[at]);
	return sum;
}

/* Two packets of sums, and one of what is left over. */
static number inner(const number *a, const number *b, size_t k)
{
	number sums[2 * QUAD] = {{0, 0}}, sum;
	size_t at = k / (2 * QUAD) * (2 * QUAD), whole = k / QUAD * QUAD;

	for (size_t i = 0; i < at; i++)
		add_product(&sums[i % (2 * QUAD)], a[i], b[i]);
	for (size_t i = 0; i < QUAD; i++)
		sums[i] = plus(sums[i], sums[QUAD + i]);
	for (; at < whole; at++)
		add_product(&sums[at % QUAD], a[at], b[at]);
	sum = join_packet(sums);
	for (; at < k; at++)
		add_product(&sum, a[at], b[at]);
	return sum;
}

/* False for strides that have no order of their own. */
static bool multiply_vector(const vector_product *p)
{
	if (p->w_row == 1 && p->x_step == 1)
		for (size_t j = 0; j < p->n; j++)
			p->y[j] = dot(p->x, p->w + j * p->w_column, p->k,
				      j % 2 == 0 && j + 1 == p->n);
	else if (p->w_column == 1)
		for (size_t j = 0; j < p->n; j += COLUMNS)
			multiply_columns(p, j, p->n - j < COLUMNS ? p->n - j : COLUMNS);
	else
		return false;
	return true;
}

/* As in gemm_float.c. */
static void multiply_elements(const sp_gemm *g)
{
	bool side_by_side = g->a_row == g->k && g->b_column == g->k;

	for (size_t i = 0; i < g->m; i++)
		for (size_t j = 0; j < g->n; j++) {
			const number *a = (const number *)g->a + i * g->a_row;
			const number *b = (const number *)g->b + j * g->b_column;

			((number *)g->c)[i * g->n + j] = side_by_side
								 ? inner(a, b, g->k)
								 : sum_in_order(a, g->a_column, b,
										g->b_row, g->k);
		}
}

static bool goes_by_elements(const sp_gemm *g)
{
	bool vector = g->m == 1 || g->n == 1;

	return (g->m == 1 && g->n == 1) || ((vector || g->small) && g->m + g->n + g->k < TINY);
}

void sp_gemm__complex64(const sp_gemm *g)
{
	if (goes_by_elements(g)) {
		multiply_elements(g);
		return;
	}
	if (g->m == 1 && multiply_vector(&(vector_product){g->a, g->a_column, g->b, g->b_row,
							   g->b_column, g->k, g->n, g->c}))
		return;
	if (g->n == 1 && multiply_vector(&(vector_product){g->b, g->b_row, g->a, g->a_column,
							   g->a_row, g->k, g->m, g->c}))
		return;
	multiply_matrices(g);
}
