#include "base/cpu.h"
#include "engine/kernels/narrow.h"
#include "engine/ops/reduce/cells.h"
#include "engine/ops/nn/gemm.h"

#define LOAD     SP_LOAD_bf16
#define STORE    SP_STORE_bf16
#define WIDEN    sp_widen_bfloat16
#define NARROW   sp_narrow_bfloat16
#define MULTIPLY sp_gemm__bfloat16

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512vl")))
#define AVX2   __attribute__((target("avx2")))

/* To nearest, ties to even; a NaN stays one. */
AVX512 static inline __m512 rounded_avx512(__m512 x)
{
	const __m512i high = _mm512_set1_epi32((int)0xffff0000u);
	__m512i bits = _mm512_castps_si512(x);
	__m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	__m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
	__mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
	__m512i either = _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));

	return _mm512_castsi512_ps(_mm512_and_si512(either, high));
}

AVX2 static inline __m256 rounded_avx2(__m256 x)
{
	const __m256i high = _mm256_set1_epi32((int)0xffff0000u);
	__m256i bits = _mm256_castps_si256(x);
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
	__m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
	__m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
	__m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
	__m256 either = _mm256_blendv_ps(_mm256_castsi256_ps(up), _mm256_castsi256_ps(quiet), nan);

	return _mm256_and_ps(either, _mm256_castsi256_ps(high));
}
#endif

#include "engine/ops/nn/gemm_rounded.inc"
