#include <string.h>

#include "engine/kernels/float_product.h"
#include "engine/ops/nn/gemm.h"

/* As gemm.c does it, in the order of engine/kernels/float_product.h. */
enum { ROWS = 32, COLUMNS = SP_PRODUCT_COLUMNS, DEPTH = 64, LANES = 16 };

/* A row (or, c being a column, a column) times a matrix: y[j] = sum of x[k] w[k][j]. */
typedef struct vector_product {
	const float *x;
	size_t x_step;
	const float *w;
	size_t w_row, w_column;
	size_t k, n;
	float *y;
} vector_product;

static void multiply_rows(const vector_product *p)
{
	sp_product_row row;

	for (size_t j = 0; j < p->n; j += COLUMNS) {
		size_t width = p->n - j < COLUMNS ? p->n - j : COLUMNS;

		sp_product_row_start(&row, p->k);
		sp_product_row_add(&row, p->x, p->x_step, p->k, p->w + j, p->w_row, width);
		sp_product_row_finish(&row, p->y + j, width);
	}
}

typedef float four __attribute__((vector_size(4 * sizeof(float)), aligned(4)));

/* A row of c as sp_product_in_order() has its elements, four side by side where b's are. */
static void multiply_in_order(const sp_gemm *g, const float *a, float *c)
{
	const float *b = g->b;
	size_t j = 0;

	for (; g->b_column == 1 && j + 4 <= g->n; j += 4) {
		four sums = {0};

		for (size_t k = 0; k < g->k; k++)
			sums += *(const four *)(b + k * g->b_row + j) * a[k * g->a_column];
		*(four *)(c + j) = sums;
	}
	for (; j < g->n; j++)
		c[j] = sp_product_in_order(a, g->a_column, b + j * g->b_column, g->b_row, g->k);
}

/*
 * Element by element: rows of a times rows of a transposed b side by side, all else in order.  The
 * strides say which it is even of a single row or column.
 */
static void multiply_elements(const sp_gemm *g)
{
	bool side_by_side = g->a_row == g->k && g->b_column == g->k;

	for (size_t i = 0; i < g->m; i++) {
		const float *a = (const float *)g->a + i * g->a_row, *b = g->b;
		float *c = (float *)g->c + i * g->n;

		if (!side_by_side)
			multiply_in_order(g, a, c);
		else
			for (size_t j = 0; j < g->n; j++)
				c[j] = sp_product_inner(a, b + j * g->b_column, g->k);
	}
}

/* Whether TensorFlow takes Eigen's product of matrices, and that takes element by element. */
static bool goes_by_elements(const sp_gemm *g)
{
	bool vector = g->m == 1 || g->n == 1;

	return (g->m == 1 && g->n == 1) ||
	       ((vector || g->small) && g->m + g->n + g->k < SP_PRODUCT_TINY);
}

/* False for strides that have no order of their own. */
static bool multiply_vector(const vector_product *p)
{
	if (p->w_row == 1 && p->x_step == 1)
		for (size_t j = 0; j < p->n; j++)
			p->y[j] = sp_product_dot(p->x, p->w + j * p->w_column, p->k,
						 j % 2 == 0 && j + 1 == p->n);
	else if (p->w_column == 1 && p->k > 0)
		multiply_rows(p);
	else
		return false;
	return true;
}

typedef struct tile {
	/* Lines of the cache, wherever the caller's stack ends. */
	_Alignas(64) float copy[DEPTH * COLUMNS];
	float sums[ROWS][COLUMNS], totals[ROWS][COLUMNS];
	size_t row, column, height, width;
} tile;

/* Rows k.. of b as a tile reads them: where they lie, or copied, with zeros to the right. */
static const float *rows_of_b(const sp_gemm *g, tile *t, size_t k, size_t depth, size_t *stride)
{
	const float *b = (const float *)g->b + k * g->b_row + t->column * g->b_column;
	size_t wide = (t->width + LANES - 1) / LANES * LANES;

	*stride = g->b_row;
	if (g->b_column == 1 && wide == t->width)
		return b;
	*stride = COLUMNS;
	for (size_t i = 0; i < depth; i++) {
		for (size_t j = 0; j < t->width; j++)
			t->copy[i * COLUMNS + j] = b[i * g->b_row + j * g->b_column];
		for (size_t j = t->width; j < wide; j++)
			t->copy[i * COLUMNS + j] = 0;
	}
	return t->copy;
}

static void add_piece(const sp_gemm *g, tile *t, size_t k, size_t depth)
{
	sp_product_tile piece = {
		.a = (const float *)g->a + t->row * g->a_row + k * g->a_column,
		.a_row = g->a_row,
		.a_column = g->a_column,
		.rows = t->height,
		.width = t->width,
		.depth = depth,
		.sums = t->sums,
	};

	piece.b = rows_of_b(g, t, k, depth, &piece.b_row);
	sp_product_tile_add(&piece);
}

static void fold(tile *t)
{
	for (size_t i = 0; i < t->height; i++)
		for (size_t j = 0; j < COLUMNS; j++)
			t->totals[i][j] += t->sums[i][j];
	memset(t->sums, 0, t->height * sizeof(t->sums[0]));
}

static void multiply_tile(const sp_gemm *g, tile *t)
{
	float *c = (float *)g->c + t->row * g->n + t->column;

	memset(t->totals, 0, t->height * sizeof(t->totals[0]));
	memset(t->sums, 0, t->height * sizeof(t->sums[0]));
	for (size_t k = 0, end; k < g->k; k = end) {
		end = sp_product_span_end(g->k, k);
		for (size_t at = k; at < end; at += DEPTH)
			add_piece(g, t, at, end - at < DEPTH ? end - at : DEPTH);
		fold(t);
	}
	for (size_t i = 0; i < t->height; i++)
		memcpy(c + i * g->n, t->totals[i], t->width * sizeof(float));
}

static void multiply_tiles(const sp_gemm *g)
{
	tile t;

	for (t.column = 0; t.column < g->n; t.column += COLUMNS)
		for (t.row = 0; t.row < g->m; t.row += ROWS) {
			t.height = g->m - t.row < ROWS ? g->m - t.row : ROWS;
			t.width = g->n - t.column < COLUMNS ? g->n - t.column : COLUMNS;
			multiply_tile(g, &t);
		}
}

/* The last row, which is left over: its sums go on through all spans. */
static void multiply_last_row(const sp_gemm *g)
{
	float *c = (float *)g->c + (g->m - 1) * g->n;
	tile t;

	t.row = g->m - 1;
	t.height = 1;
	for (t.column = 0; t.column < g->n; t.column += COLUMNS) {
		t.width = g->n - t.column < COLUMNS ? g->n - t.column : COLUMNS;
		memset(t.sums, 0, sizeof(t.sums[0]));
		for (size_t k = 0; k < g->k; k += DEPTH)
			add_piece(g, &t, k, g->k - k < DEPTH ? g->k - k : DEPTH);
		memcpy(c + t.column, t.sums[0], t.width * sizeof(float));
	}
}

static void multiply_last_column(const sp_gemm *g)
{
	const float *a = g->a, *b = (const float *)g->b + (g->n - 1) * g->b_column;
	float *c = (float *)g->c + g->n - 1;

	for (size_t i = 0; i < g->m; i++)
		c[i * g->n] = sp_product_of_rest(a + i * g->a_row, g->a_column, b, g->b_row, g->k,
						 g->b_row != 1);
}

static void multiply_matrices(const sp_gemm *g)
{
	sp_product_rest rest = sp_product_left_over(g->before + g->m + g->after, g->n, g->k);

	multiply_tiles(g);
	if (rest.row && g->after == 0)
		multiply_last_row(g);
	if (rest.column)
		multiply_last_column(g);
}

void sp_gemm__float(const sp_gemm *g)
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
	if (g->small)
		sp_gemm__small(g);
	else
		multiply_matrices(g);
}

void sp_gemm__heads(const sp_gemm *g)
{
	const float *a = g->a;
	float *c = g->c;

	for (size_t i = 0; i < g->m; i++)
		c[i] = sp_product_head(a + i * g->a_row, g->b, g->k);
}

bool sp_gemm__is_small(size_t batch, size_t m, size_t n, size_t k)
{
	const size_t most = 128 * 128;

	return batch > 1 && m * n <= most && (m * n == 0 || k <= most / (m * n));
}
