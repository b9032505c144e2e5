#include "base/cpu.h"
#include "engine/kernels/narrow.h"
#include "engine/ops/reduce/cells.h"
#include "engine/ops/nn/gemm.h"

#define LOAD     SP_LOAD_f16
#define STORE    SP_STORE_f16
#define WIDEN    sp_widen_half
#define NARROW   sp_narrow_half
#define MULTIPLY sp_gemm__half

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512vl")))
/* Whatever has AVX2 has these conversions. */
#define AVX2 __attribute__((target("avx2,f16c")))

AVX512 static inline __m512 rounded_avx512(__m512 x)
{
	return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

AVX2 static inline __m256 rounded_avx2(__m256 x)
{
	return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#endif

#include "engine/ops/nn/gemm_rounded.inc"
