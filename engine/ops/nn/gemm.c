#include "engine/ops/nn/gemm.h"

#include <stdbool.h>
#include <string.h>

#include "engine/ops/array/element_types.h"

/*
 * c is computed in tiles of ROWS x COLUMNS.  The sums of a tile stay in the cache while k advances
 * in pieces of DEPTH.  A piece of b is read in place if its rows are dense and of the type computed
 * in, else from a copy.  Every SPAN terms of k are summed separately, which bounds the error.
 */
enum { ROWS = 32, COLUMNS = 64, DEPTH = 64, SPAN = SP_GEMM_SPAN, NARROW = 8 };

_Static_assert(SPAN % DEPTH == 0, "a span ends with a piece");

#define GEMM_COPY(type)                                                                    \
	static void copy_##type(const sp_gemm *g, size_t row, size_t column, size_t depth, \
				size_t width, sp_wrap_##type *to)                          \
	{                                                                                  \
		const sp_element_##type *b = g->b;                                         \
                                                                                           \
		b += row * g->b_row + column * g->b_column;                                \
		for (size_t k = 0; k < depth; k++)                                         \
			for (size_t j = 0; j < width; j++)                                 \
				to[k * COLUMNS + j] = (sp_wrap_##type)SP_LOAD_##type(      \
					b[k * g->b_row + j * g->b_column]);                \
	}

/*
 * sums[j] += sum of a[k] * b[k][j] for one row.  Full tiles use a loop of constant length; narrow
 * ones (often a single column) are computed column by column.
 */
#define GEMM_ROW(type)                                                                             \
	static void row_##type(const sp_element_##type *a, size_t a_step, const sp_wrap_##type *b, \
			       size_t b_row, size_t depth, size_t width, sp_wrap_##type *sums)     \
	{                                                                                          \
		if (width < NARROW) {                                                              \
			for (size_t j = 0; j < width; j++)                                         \
				for (size_t k = 0; k < depth; k++)                                 \
					sums[j] += (sp_wrap_##type)SP_LOAD_##type(a[k * a_step]) * \
						   b[k * b_row + j];                               \
			return;                                                                    \
		}                                                                                  \
		for (size_t k = 0; k < depth; k++, b += b_row) {                                   \
			sp_wrap_##type x = (sp_wrap_##type)SP_LOAD_##type(a[k * a_step]);          \
                                                                                                   \
			if (width == COLUMNS)                                                      \
				for (size_t j = 0; j < COLUMNS; j++)                               \
					sums[j] += x * b[j];                                       \
			else                                                                       \
				for (size_t j = 0; j < width; j++)                                 \
					sums[j] += x * b[j];                                       \
		}                                                                                  \
	}

#define GEMM_TILE(type)                                                                           \
	static void fold_##type(size_t height, sp_wrap_##type(*sums)[COLUMNS],                    \
				sp_wrap_##type(*totals)[COLUMNS])                                 \
	{                                                                                         \
		for (size_t i = 0; i < height; i++)                                               \
			for (size_t j = 0; j < COLUMNS; j++)                                      \
				totals[i][j] += sums[i][j];                                       \
		memset(sums, 0, height * sizeof(sums[0]));                                        \
	}                                                                                         \
                                                                                                  \
	static void tile_##type(const sp_gemm *g, size_t row, size_t column, size_t height,       \
				size_t width)                                                     \
	{                                                                                         \
		bool in_place = g->b_column == 1 &&                                               \
				sizeof(sp_element_##type) == sizeof(sp_wrap_##type);              \
		const sp_element_##type *a = (const sp_element_##type *)g->a + row * g->a_row;    \
		sp_element_##type *c = (sp_element_##type *)g->c + row * g->n + column;           \
		sp_wrap_##type copy[DEPTH * COLUMNS], sums[ROWS][COLUMNS], totals[ROWS][COLUMNS]; \
		const sp_wrap_##type *b = copy;                                                   \
                                                                                                  \
		memset(sums, 0, height * sizeof(sums[0]));                                        \
		if (g->k > SPAN)                                                                  \
			memset(totals, 0, height * sizeof(totals[0]));                            \
		for (size_t k = 0; k < g->k; k += DEPTH) {                                        \
			size_t depth = g->k - k < DEPTH ? g->k - k : DEPTH;                       \
                                                                                                  \
			if (in_place)                                                             \
				b = (const sp_wrap_##type *)g->b + k * g->b_row + column;         \
			else                                                                      \
				copy_##type(g, k, column, depth, width, copy);                    \
			for (size_t i = 0; i < height; i++)                                       \
				row_##type(a + i * g->a_row + k * g->a_column, g->a_column, b,    \
					   in_place ? g->b_row : COLUMNS, depth, width, sums[i]); \
			if (g->k > SPAN && (k + depth) % SPAN == 0)                               \
				fold_##type(height, sums, totals);                                \
		}                                                                                 \
		if (g->k > SPAN)                                                                  \
			fold_##type(height, totals, sums);                                        \
		for (size_t i = 0; i < height; i++)                                               \
			for (size_t j = 0; j < width; j++)                                        \
				c[i * g->n + j] = SP_STORE_##type(sums[i][j]);                    \
	}

#define GEMM(type, ...)                                                                 \
	GEMM_COPY(type)                                                                 \
	GEMM_ROW(type)                                                                  \
	GEMM_TILE(type)                                                                 \
	static void gemm_##type(const sp_gemm *g)                                       \
	{                                                                               \
		for (size_t j = 0; j < g->n; j += COLUMNS)                              \
			for (size_t i = 0; i < g->m; i += ROWS)                         \
				tile_##type(g, i, j, g->m - i < ROWS ? g->m - i : ROWS, \
					    g->n - j < COLUMNS ? g->n - j : COLUMNS);   \
	}

GEMM(f64)
GEMM(c64)
GEMM(c128)
GEMM(i16)
GEMM(i32)
GEMM(i64)
GEMM(u32)
GEMM(u64)

static sp_gemm_fn *const kernels[SP_DTYPE_COUNT] = {
	[SP_FLOAT] = sp_gemm__float, [SP_DOUBLE] = gemm_f64,
	[SP_HALF] = sp_gemm__half,   [SP_BFLOAT16] = sp_gemm__bfloat16,
	[SP_COMPLEX64] = gemm_c64,   [SP_COMPLEX128] = gemm_c128,
	[SP_INT16] = gemm_i16,       [SP_INT32] = gemm_i32,
	[SP_INT64] = gemm_i64,       [SP_UINT32] = gemm_u32,
	[SP_UINT64] = gemm_u64,
};

sp_gemm_fn *sp_gemm__find(sp_dtype dtype)
{
	return kernels[dtype];
}

void sp_gemm__batch(sp_gemm_fn *kernel, const sp_gemm *first, sp_broadcast *batches, size_t size)
{
	sp_gemm g = *first;
	size_t a_size = g.m * g.k * size, b_size = g.k * g.n * size, c_size = g.m * g.n * size;

	for (sp_broadcast__start(batches); batches->more; sp_broadcast__next(batches))
		for (size_t i = 0; i < batches->run; i++) {
			g.a = (const char *)first->a +
			      (batches->at[0] + i * batches->step[0]) * a_size;
			g.b = (const char *)first->b +
			      (batches->at[1] + i * batches->step[1]) * b_size;
			g.c = (char *)first->c + (batches->out + i) * c_size;
			kernel(&g);
		}
}
