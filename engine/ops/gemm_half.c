#include "engine/ops/gemm.h"

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"

/*
 * The product of half precision, rounded where TensorFlow rounds: every product and
 * every sum is a half.  Its kernel takes 16 columns at once and adds in order
 * of k; where 8 are left, rows that come in fours have two sums, of even and odd k.
 * Sums are kept as floats that are halves.
 */
enum { ROWS = 32, COLUMNS = 64, DEPTH = 64 };
enum { BLOCK = 16, PAIRED_COLUMNS = 8, PAIRED_ROWS = 4, PAIRED_DEPTH = 8 };

static float rounded(float x)
{
	return sp_half_to_float(sp_half_from_float(x));
}

static float add_product(float sum, float x, float y)
{
	return rounded(sum + rounded(x * y));
}

static void add_row_scalar(float *sums, float x, const float *b, size_t width)
{
	for (size_t j = 0; j < width; j++)
		sums[j] = add_product(sums[j], x, b[j]);
}

#if defined(__x86_64__)

__attribute__((target("avx2,f16c"))) static __m256 rounded_f16c(__m256 x)
{
	return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

/* Whatever has AVX2 has these conversions. */
__attribute__((target("avx2,f16c"))) static void add_row_f16c(float *sums, float x, const float *b,
							      size_t width)
{
	const __m256 all = _mm256_set1_ps(x);
	size_t j = 0;

	for (; j + 8 <= width; j += 8) {
		__m256 product = rounded_f16c(_mm256_mul_ps(all, _mm256_loadu_ps(b + j)));
		__m256 sum = _mm256_add_ps(_mm256_loadu_ps(sums + j), product);

		_mm256_storeu_ps(sums + j, rounded_f16c(sum));
	}
	add_row_scalar(sums + j, x, b + j, width - j);
}

static void add_row(float *sums, float x, const float *b, size_t width)
{
	if (sp_cpu_has(SP_ISA_AVX2))
		add_row_f16c(sums, x, b, width);
	else
		add_row_scalar(sums, x, b, width);
}

#else

static void add_row(float *sums, float x, const float *b, size_t width)
{
	add_row_scalar(sums, x, b, width);
}

#endif

static float a_at(const sp_gemm *g, size_t i, size_t k)
{
	return sp_half_to_float(((const uint16_t *)g->a)[i * g->a_row + k * g->a_column]);
}

static float b_at(const sp_gemm *g, size_t k, size_t j)
{
	return sp_half_to_float(((const uint16_t *)g->b)[k * g->b_row + j * g->b_column]);
}

static void tile(const sp_gemm *g, size_t row, size_t column, size_t height, size_t width)
{
	float b[DEPTH][COLUMNS], sums[ROWS][COLUMNS];
	uint16_t *c = (uint16_t *)g->c + row * g->n + column;

	memset(sums, 0, height * sizeof(sums[0]));
	for (size_t start = 0; start < g->k; start += DEPTH) {
		size_t depth = g->k - start < DEPTH ? g->k - start : DEPTH;

		for (size_t k = 0; k < depth; k++)
			for (size_t j = 0; j < width; j++)
				b[k][j] = b_at(g, start + k, column + j);
		for (size_t i = 0; i < height; i++)
			for (size_t k = 0; k < depth; k++)
				add_row(sums[i], a_at(g, row + i, start + k), b[k], width);
	}
	for (size_t i = 0; i < height; i++)
		for (size_t j = 0; j < width; j++)
			c[i * g->n + j] = sp_half_from_float(sums[i][j]);
}

static float sum_in_pairs(const sp_gemm *g, size_t i, size_t j)
{
	size_t paired = g->k / PAIRED_DEPTH * PAIRED_DEPTH;
	float sums[2] = {0, 0};

	for (size_t k = 0; k < paired; k++)
		sums[k % 2] = add_product(sums[k % 2], a_at(g, i, k), b_at(g, k, j));
	sums[0] = rounded(sums[0] + sums[1]);
	for (size_t k = paired; k < g->k; k++)
		sums[0] = add_product(sums[0], a_at(g, i, k), b_at(g, k, j));
	return sums[0];
}

static void redo_in_pairs(const sp_gemm *g)
{
	size_t first = g->n / BLOCK * BLOCK, rows = g->m / PAIRED_ROWS * PAIRED_ROWS;

	if (g->n - first < PAIRED_COLUMNS)
		return;
	for (size_t i = 0; i < rows; i++)
		for (size_t j = first; j < first + PAIRED_COLUMNS; j++)
			((uint16_t *)g->c)[i * g->n + j] = sp_half_from_float(
				sum_in_pairs(g, i, j));
}

void sp_gemm__half(const sp_gemm *g)
{
	for (size_t j = 0; j < g->n; j += COLUMNS)
		for (size_t i = 0; i < g->m; i += ROWS)
			tile(g, i, j, g->m - i < ROWS ? g->m - i : ROWS,
			     g->n - j < COLUMNS ? g->n - j : COLUMNS);
	redo_in_pairs(g);
}
