#include <string.h>

#include "engine/kernels/float_product.h"
#include "engine/kernels/narrow.h"
#include "engine/ops/nn/gemm.h"

enum {
	SPAN = SP_PRODUCT_SPAN,
	PANEL = SP_PRODUCT_MAX_PANEL,
	ROWS = 256,         /* that share a copied panel */
	NARROW_ROWS = 32,   /* that are converted to float together */
	IN_PLACE_ROWS = 24, /* up to this many rows b is read in place: copying would cost more */
	DOT_ROWS = 3,       /* up to this many rows are dot products if b is transposed */
};

_Static_assert((int)SP_GEMM_SPAN == (int)SP_PRODUCT_SPAN, "one bound for all types");

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Rows k ... k + depth - 1 and columns column ... column + width - 1 of b in the layout of the
 * kernel: in place, or in `copy`, padded with zeros to the right.
 */
static const float *panel_of(const sp_gemm *g, size_t k, size_t depth, size_t column, size_t width,
			     float copy[SPAN * PANEL], size_t *stride)
{
	const float *b = (const float *)g->b + k * g->b_row + column * g->b_column;
	size_t panel = sp_product_panel();

	*stride = g->b_row;
	if (g->b_column == 1 && g->m <= IN_PLACE_ROWS && width % (panel / 2) == 0)
		return b;
	*stride = panel;
	if (width < panel)
		memset(copy, 0, depth * panel * sizeof(*copy));
	if (g->b_column == 1)
		for (size_t i = 0; i < depth; i++)
			memcpy(copy + i * panel, b + i * g->b_row, width * sizeof(*copy));
	else
		for (size_t j = 0; j < width; j++)
			for (size_t i = 0; i < depth; i++)
				copy[i * panel + j] = b[i * g->b_row + j * g->b_column];
	return copy;
}

static void multiply_panels(const sp_gemm *g)
{
	_Alignas(64) float copy[SPAN * PANEL];
	size_t panel = sp_product_panel();

	for (size_t row = 0; row < g->m; row += ROWS)
		for (size_t j = 0; j < g->n; j += panel)
			for (size_t k = 0; k < g->k; k += SPAN) {
				sp_product p = {.rows = least(g->m - row, ROWS),
						.depth = least(g->k - k, SPAN),
						.width = least(g->n - j, panel),
						.a = (const float *)g->a + row * g->a_row +
						     k * g->a_column,
						.a_row = g->a_row,
						.a_column = g->a_column,
						.c = (float *)g->c + row * g->n + j,
						.c_row = g->n,
						.add = k != 0};

				p.b = panel_of(g, k, p.depth, j, p.width, copy, &p.b_row);
				sp_product_run(&p);
			}
}

void sp_gemm__float(const sp_gemm *g)
{
	sp_gemm transposed = *g;

	if (g->k == 0) {
		memset(g->c, 0, g->m * g->n * sizeof(float));
		return;
	}
	if (g->n == 1 && g->m > 1) { /* a column is a row of the transposed product */
		transposed = (sp_gemm){.m = 1,
				       .n = g->m,
				       .k = g->k,
				       .a = g->b,
				       .a_row = g->b_column,
				       .a_column = g->b_row,
				       .b = g->a,
				       .b_row = g->a_column,
				       .b_column = g->a_row,
				       .c = g->c};
		g = &transposed;
	}
	if (g->m > DOT_ROWS || g->b_row != 1 || g->a_column != 1) {
		multiply_panels(g);
		return;
	}
	for (size_t i = 0; i < g->m; i++)
		for (size_t j = 0; j < g->n; j++)
			((float *)g->c)[i * g->n + j] = sp_product_dot(
				(const float *)g->a + i * g->a_row,
				(const float *)g->b + j * g->b_column, g->k);
}

/* ------------------------------------------------------- types of 16 bits */

/* Converts a block [count, width] at (row, column) to floats, in rows `to_row` apart. */
static void widen_block(sp_widen_fn *widen, const uint16_t *from, size_t row, size_t column,
			size_t count, size_t width, float *to, size_t to_row)
{
	for (size_t i = 0; i < count; i++, from += row, to += to_row) {
		uint16_t line[SPAN];

		if (column == 1) {
			widen(from, to, width);
			continue;
		}
		for (size_t j = 0; j < width; j++)
			line[j] = from[j * column];
		widen(line, to, width);
	}
}

static void multiply_narrow(const sp_gemm *g, sp_widen_fn *widen, sp_narrow_fn *narrow)
{
	_Alignas(64) float a[NARROW_ROWS * SPAN], b[SPAN * PANEL] = {0}, c[NARROW_ROWS * PANEL];
	size_t panel = sp_product_panel();

	for (size_t j = 0; j < g->n; j += panel)
		for (size_t row = 0; row < g->m; row += NARROW_ROWS) {
			sp_product p = {.rows = least(g->m - row, NARROW_ROWS),
					.width = least(g->n - j, panel),
					.a = a,
					.a_row = SPAN,
					.a_column = 1,
					.b = b,
					.b_row = panel,
					.c = c,
					.c_row = panel};

			memset(c, 0, sizeof(c));
			p.add = true;
			for (size_t k = 0; k < g->k; k += SPAN) {
				p.depth = least(g->k - k, SPAN);
				widen_block(widen,
					    (const uint16_t *)g->a + row * g->a_row +
						    k * g->a_column,
					    g->a_row, g->a_column, p.rows, p.depth, a, SPAN);
				widen_block(widen,
					    (const uint16_t *)g->b + k * g->b_row + j * g->b_column,
					    g->b_row, g->b_column, p.depth, p.width, b, panel);
				sp_product_run(&p);
			}
			for (size_t i = 0; i < p.rows; i++)
				narrow(c + i * panel, (uint16_t *)g->c + (row + i) * g->n + j,
				       p.width);
		}
}

void sp_gemm__half(const sp_gemm *g)
{
	multiply_narrow(g, sp_widen_half, sp_narrow_half);
}

void sp_gemm__bfloat16(const sp_gemm *g)
{
	multiply_narrow(g, sp_widen_bfloat16, sp_narrow_bfloat16);
}
