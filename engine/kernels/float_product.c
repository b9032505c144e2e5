#include "engine/kernels/float_product.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"

#define INLINE static inline __attribute__((always_inline))

#define NAME(x) x##_any
#define TARGET
#define LANES              4
#define HEIGHT             4
#define FUSED(a, b, c)     ((a) * (b) + (c))
#define FUSED_ALL(a, b, c) ((a) * (b) + (c))
#include "engine/kernels/float_product.inc"

#if defined(__x86_64__)

#define NAME(x)            x##_avx512
#define TARGET             __attribute__((target("avx512f")))
#define LANES              16
#define HEIGHT             12
#define FUSED(a, b, c)     FUSED_ALL(a, _mm512_set1_ps(b), c)
#define FUSED_ALL(a, b, c) ((vector_avx512)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#include "engine/kernels/float_product.inc"

#define NAME(x)            x##_avx2
#define TARGET             __attribute__((target("avx2,fma")))
#define LANES              8
#define HEIGHT             6
#define FUSED(a, b, c)     FUSED_ALL(a, _mm256_set1_ps(b), c)
#define FUSED_ALL(a, b, c) ((vector_avx2)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#include "engine/kernels/float_product.inc"

#endif

size_t sp_product_panel(void)
{
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX2))
		return sp_cpu_has(SP_ISA_AVX512) ? 32 : 16;
#endif
	return 8;
}

float sp_product_dot(const float *a, const float *b, size_t k)
{
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512))
		return dot_avx512(a, b, k);
	if (sp_cpu_has(SP_ISA_AVX2))
		return dot_avx2(a, b, k);
#endif
	return dot_any(a, b, k);
}

static void run_whole(const sp_product *product)
{
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512)) {
		product_avx512(product);
		return;
	}
	if (sp_cpu_has(SP_ISA_AVX2)) {
		product_avx2(product);
		return;
	}
#endif
	product_any(product);
}

/* The kernels store whole registers: rows of c that end within one are computed in a buffer. */
void sp_product_run(const sp_product *product)
{
	enum { ROWS = 24 };
	size_t lanes = sp_product_panel() / 2, width = product->width;
	float rows[ROWS * SP_PRODUCT_MAX_PANEL];
	sp_product part = *product;

	if (width % lanes == 0) {
		run_whole(product);
		return;
	}
	part.width += lanes - width % lanes;
	part.c = rows;
	part.c_row = part.width;
	for (size_t first = 0; first < product->rows; first += ROWS) {
		float *c = product->c + first * product->c_row;

		part.a = product->a + first * product->a_row;
		part.rows = product->rows - first < ROWS ? product->rows - first : ROWS;
		for (size_t i = 0; i < part.rows && part.add; i++)
			for (size_t j = 0; j < part.width; j++)
				rows[i * part.width + j] = j < width ? c[i * product->c_row + j]
								     : 0;
		run_whole(&part);
		for (size_t i = 0; i < part.rows; i++)
			memcpy(c + i * product->c_row, rows + i * part.width, width * sizeof(*c));
	}
}
