#include "base/cpu.h"
#include "engine/ops/cells.h"
#include "engine/ops/gemm.h"

#define LOAD     SP_LOAD_f16
#define STORE    SP_STORE_f16
#define MULTIPLY sp_gemm__half

#if defined(__x86_64__)
#include <immintrin.h>

/* Whatever has AVX2 has these conversions. */
#define TARGET __attribute__((target("avx2,f16c")))

TARGET static __m256 rounded_avx2(__m256 x)
{
	return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#endif

#include "engine/ops/gemm_rounded.inc"
