#include <string.h>

#include "base/cpu.h"
#include "engine/ops/nn/gemm.h"

/*
 * Small products of floats as Eigen takes them, which is how TensorFlow multiplies the matrices
 * of a batch.  Every product is rounded.  In which order an element is summed depends on where it
 * is: columns are taken in panels of PANEL, and of the last, narrower one by fours; rows by fours.
 *
 *   a whole panel, or a row after the last four    one running sum
 *   fours of the last panel                        one of even and one of odd terms
 *   columns after these                            eight, one for every eighth term
 *
 * Terms after the last eight are added to what the others make together.
 */
enum { PANEL = 16, FOUR = 4, EIGHT = 8, DEPTH = SP_GEMM_PASS };

typedef float four __attribute__((vector_size(FOUR * sizeof(float)), aligned(4)));

#define FOUR_AT(x) (*(const four *)(x))

/* Some columns of b over some of k, and the rows of a that they are multiplied with. */
typedef struct panel {
	const float *a;
	size_t a_row, a_column;
	const float *b;
	size_t b_row;
	size_t depth;
	size_t fours; /* columns of the last panel that make up fours */
	float (*sums)[PANEL];
} panel;

#define INLINE static inline __attribute__((always_inline))

/* A row of four by the columns of the last panel after its fours: every eighth term. */
INLINE void multiply_rest(const panel *p, size_t row)
{
	const float *a = p->a + row * p->a_row, *b = p->b + p->fours;
	four s[EIGHT] = {{0}};
	size_t k = 0;

	for (; k + EIGHT <= p->depth; k += EIGHT)
#pragma GCC unroll 8
		for (size_t l = 0; l < EIGHT; l++)
			s[l] += FOUR_AT(b + (k + l) * p->b_row) * a[(k + l) * p->a_column];
	s[0] = (s[0] + s[2]) + (s[4] + s[6]);
	s[1] = (s[1] + s[3]) + (s[5] + s[7]);
	for (; k + 2 <= p->depth; k += 2) {
		s[0] += FOUR_AT(b + k * p->b_row) * a[k * p->a_column];
		s[1] += FOUR_AT(b + (k + 1) * p->b_row) * a[(k + 1) * p->a_column];
	}
	s[0] += s[1];
	if (k < p->depth)
		s[0] += FOUR_AT(b + k * p->b_row) * a[k * p->a_column];
	memcpy(p->sums[row] + p->fours, &s[0], sizeof(s[0]));
}

#define NAME(x) x##_any
#define TARGET
#define LANES   4
#define VECTORS 4
#include "engine/ops/nn/gemm_small.inc"

#if defined(__x86_64__)

#define NAME(x) x##_avx512
#define TARGET  __attribute__((target("avx512f")))
#define LANES   16
#define VECTORS 1
#include "engine/ops/nn/gemm_small.inc"

#define NAME(x) x##_avx2
#define TARGET  __attribute__((target("avx2")))
#define LANES   8
#define VECTORS 2
#include "engine/ops/nn/gemm_small.inc"

static void multiply(const panel *p, size_t height, size_t width)
{
	if (sp_cpu_has(SP_ISA_AVX512))
		multiply_avx512(p, height, width);
	else if (sp_cpu_has(SP_ISA_AVX2))
		multiply_avx2(p, height, width);
	else
		multiply_any(p, height, width);
}

#else

static void multiply(const panel *p, size_t height, size_t width)
{
	multiply_any(p, height, width);
}

#endif

/* Columns of b where they lie, or copied, with zeros to the right. */
static void take_columns(const sp_gemm *g, size_t k, size_t column, size_t width, float *copy,
			 panel *p)
{
	const float *b = (const float *)g->b + k * g->b_row + column * g->b_column;

	p->b = b;
	p->b_row = g->b_row;
	if (width == PANEL && g->b_column == 1)
		return;
	for (size_t i = 0; i < p->depth; i++, copy += PANEL)
		for (size_t j = 0; j < PANEL; j++)
			copy[j] = j < width ? b[i * g->b_row + j * g->b_column] : 0;
	p->b = copy - p->depth * PANEL;
	p->b_row = PANEL;
}

/* Terms of one pass over k: as near to each other as multiples of EIGHT up to DEPTH can be. */
static size_t pass_length(size_t k)
{
	if (k <= DEPTH)
		return k;
	if (k % DEPTH == 0)
		return DEPTH;
	return DEPTH - EIGHT * ((DEPTH - 1 - k % DEPTH) / (EIGHT * (k / DEPTH + 1)));
}

/* Adds what a pass makes of `height` rows and `width` columns. */
static void add_sums(const sp_gemm *g, const panel *p, size_t row, size_t column, size_t height,
		     size_t width)
{
	for (size_t i = 0; i < height; i++) {
		float *c = (float *)g->c + (row + i) * g->n + column;

		for (size_t j = 0; j < width; j++)
			c[j] += p->sums[i][j];
	}
}

static void multiply_columns(const sp_gemm *g, size_t column, size_t width)
{
	enum { HEIGHT = 32 };
	float copy[DEPTH * PANEL], sums[HEIGHT][PANEL];
	size_t pass = pass_length(g->k);
	panel p = {.a_row = g->a_row,
		   .a_column = g->a_column,
		   .fours = width / FOUR * FOUR,
		   .sums = sums};

	for (size_t k = 0; k < g->k; k += pass) {
		p.depth = g->k - k < pass ? g->k - k : pass;
		take_columns(g, k, column, width, copy, &p);
		for (size_t row = 0, height; row < g->m; row += height) {
			height = g->m - row < HEIGHT ? g->m - row : HEIGHT;
			p.a = (const float *)g->a + row * g->a_row + k * g->a_column;
			multiply(&p, height, width);
			add_sums(g, &p, row, column, height, width);
		}
	}
}

void sp_gemm__small(const sp_gemm *g)
{
	memset(g->c, 0, g->m * g->n * sizeof(float));
	for (size_t j = 0; j < g->n; j += PANEL)
		multiply_columns(g, j, g->n - j < PANEL ? g->n - j : PANEL);
}
