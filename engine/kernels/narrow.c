#include "engine/kernels/narrow.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"

/* Inlined into functions with a target attribute, for which the compiler vectorizes the loops. */
#define LOOP static inline __attribute__((always_inline)) void

LOOP widen_half(const uint16_t *from, float *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = sp_half_to_float(from[i]);
}

LOOP widen_bfloat16(const uint16_t *from, float *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = sp_bfloat16_to_float(from[i]);
}

LOOP narrow_half(const float *from, uint16_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = sp_half_from_float(from[i]);
}

LOOP narrow_bfloat16(const float *from, uint16_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = sp_bfloat16_from_float(from[i]);
}

#if defined(__x86_64__)

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))
/* Every processor with AVX2 has F16C, too. */
#define AVX2 __attribute__((target("avx2,f16c")))

AVX512 static void widen_half_avx512(const uint16_t *from, float *to, size_t count)
{
	size_t i = 0;

	for (; i + 16 <= count; i += 16)
		_mm512_storeu_ps(to + i,
				 _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + i))));
	widen_half(from + i, to + i, count - i);
}

AVX2 static void widen_half_avx2(const uint16_t *from, float *to, size_t count)
{
	size_t i = 0;

	for (; i + 8 <= count; i += 8)
		_mm256_storeu_ps(to + i,
				 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
	widen_half(from + i, to + i, count - i);
}

AVX512 static void narrow_half_avx512(const float *from, uint16_t *to, size_t count)
{
	size_t i = 0;

	for (; i + 16 <= count; i += 16)
		_mm256_storeu_si256(
			(__m256i *)(to + i),
			_mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
	narrow_half(from + i, to + i, count - i);
}

AVX2 static void narrow_half_avx2(const float *from, uint16_t *to, size_t count)
{
	size_t i = 0;

	for (; i + 8 <= count; i += 8)
		_mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i),
								      _MM_FROUND_TO_NEAREST_INT));
	narrow_half(from + i, to + i, count - i);
}

#define BY_COMPILER(name, from_type, to_type)                                              \
	AVX512 static void name##_avx512(const from_type *from, to_type *to, size_t count) \
	{                                                                                  \
		name(from, to, count);                                                     \
	}                                                                                  \
	AVX2 static void name##_avx2(const from_type *from, to_type *to, size_t count)     \
	{                                                                                  \
		name(from, to, count);                                                     \
	}

BY_COMPILER(widen_bfloat16, uint16_t, float)
BY_COMPILER(narrow_bfloat16, float, uint16_t)

#define CALL(name, ...)                             \
	do {                                        \
		if (sp_cpu_has(SP_ISA_AVX512))      \
			name##_avx512(__VA_ARGS__); \
		else if (sp_cpu_has(SP_ISA_AVX2))   \
			name##_avx2(__VA_ARGS__);   \
		else                                \
			name(__VA_ARGS__);          \
	} while (0)

#else

#define CALL(name, ...) name(__VA_ARGS__)

#endif

#define DISPATCH(name, from_type, to_type)                               \
	void sp_##name(const from_type *from, to_type *to, size_t count) \
	{                                                                \
		CALL(name, from, to, count);                             \
	}

DISPATCH(widen_half, uint16_t, float)
DISPATCH(widen_bfloat16, uint16_t, float)
DISPATCH(narrow_half, float, uint16_t)
DISPATCH(narrow_bfloat16, float, uint16_t)

sp_widen_fn *sp_widen_find(sp_dtype dtype)
{
	return dtype == SP_HALF ? sp_widen_half : dtype == SP_BFLOAT16 ? sp_widen_bfloat16 : NULL;
}

sp_narrow_fn *sp_narrow_find(sp_dtype dtype)
{
	return dtype == SP_HALF ? sp_narrow_half : dtype == SP_BFLOAT16 ? sp_narrow_bfloat16 : NULL;
}
