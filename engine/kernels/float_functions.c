#include "engine/kernels/float_functions.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"
#include "base/half.h"

static const float PI = 3.14159265358979323846F;
static const float HALF_PI = 1.57079632679489661923F;

/* -2 - log(epsilon): above it softplus(x) is x, below its negative exp(x). */
static const float SOFTPLUS_EDGE = 13.9423847F;

static const float SELU_SCALE = 1.0507009873554804934193349852946F;
static const float SELU_SCALE_ALPHA = 1.7580993408473768599402175208123F;

/*
 * Payne-Hanek reduction for x >= 2^10: computes the 64 bits of x * 2/pi that hold the quadrant (the
 * upper two bits, rounded) and the fraction, from the bits of 2/pi that contribute to them. Returns
 * the rest, in [-pi/4, pi/4].
 */
static float reduce_one(float x, uint32_t *quadrant)
{
	static const uint8_t two_over_pi[] = {0x00, 0x00, 0x00, 0x28, 0xbe, 0x60, 0xdb, 0x93,
					      0x91, 0x05, 0x4a, 0x7f, 0x09, 0xd5, 0xf4, 0x7d,
					      0x4d, 0x37, 0x70, 0x36, 0xd8, 0xa5, 0x66, 0x4f,
					      0x10, 0xe4, 0x10, 0x00, 0x00};
	uint32_t bits, shift, mantissa, parts[3] = {0};
	uint64_t product, turns;

	memcpy(&bits, &x, sizeof(bits));
	shift = (bits >> 23) - 118;
	mantissa = ((bits & 0x7fffff) | 0x800000) << (shift & 7);
	for (size_t part = 0; part < 3; part++)
		for (size_t i = 0; i < 4; i++)
			parts[part] = parts[part] << 8 | two_over_pi[shift / 8 - 1 + 4 * part + i];
	product = (uint64_t)mantissa * parts[2];
	product = (uint64_t)mantissa * parts[1] + (product >> 32);
	product += (uint64_t)(mantissa * parts[0]) << 32;
	turns = (product + (UINT64_C(1) << 61)) >> 62;
	*quadrant = (uint32_t)turns;
	return (float)((double)(int64_t)(product - (turns << 62)) * 3.4061215800865545e-19);
}

static void reduce_large(const float *size, float huge, float *rest, uint32_t *quadrant,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (size[i] >= huge && size[i] < INFINITY)
			rest[i] = reduce_one(size[i], &quadrant[i]);
}

/* clang-format does not come to rest on this list. */
/* clang-format off */
#define FOR_FUNCTIONS(F) \
	F(exp) F(expm1) F(log) F(log1p) F(sin) F(cos) F(asin) F(acos) F(atan) F(atanh) \
	F(tanh) F(erf) F(rsqrt) F(reciprocal) F(sigmoid) F(softplus) F(elu) F(selu)
/* clang-format on */

/* Scalar code, for processors without AVX2 and as a reference for tests. */
#if defined(__x86_64__)
#define RECIPROCAL(x) _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(x)))
#define ROOT(x)       _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(x)))
#else
#define RECIPROCAL(x) (1 / (x))
#define ROOT(x)       (1 / sqrtf(x))
#endif

#define NAME(x) x##_scalar
#define TARGET
#define LANES              1
#define VECTOR             float
#define WORDS              uint32_t
#define OF(c)              ((float)(c))
#define BITS(x)            sp_float_bits(x)
#define FLOATS(w)          sp_float_from_bits(w)
#define LESS(a, b)         (-(uint32_t)((a) < (b)))
#define EQUAL(a, b)        (-(uint32_t)((a) == (b)))
#define SELECT(mask, a, b) ((mask) ? (a) : (b))
#define MIN(a, b)          ((b) < (a) ? (b) : (a))
#define MAX(a, b)          ((a) < (b) ? (b) : (a))
#define FLOOR(x)           floorf(x)
#define CUT(x)             truncf(x)
#define SQRT(x)            sqrtf(x)
#define INTEGER(x)         ((uint32_t)(int32_t)((x) == (x) ? (x) : 0))
#define NUMBER(w)          ((float)(int32_t)(w))
#define ANY(mask)          ((mask) != 0)
#define LOAD(p)            (*(p))
#define STORE(p, x)        (*(p) = (x))
#include "engine/kernels/float_functions.inc"
#include "engine/kernels/float_power.inc"

#undef NAME
#undef TARGET
#undef LANES
#undef VECTOR
#undef WORDS
#undef OF
#undef BITS
#undef FLOATS
#undef LESS
#undef EQUAL
#undef SELECT
#undef MIN
#undef MAX
#undef FLOOR
#undef CUT
#undef SQRT
#undef INTEGER
#undef NUMBER
#undef RECIPROCAL
#undef ROOT
#undef ANY
#undef LOAD
#undef STORE

#if defined(__x86_64__)

typedef uint32_t words __attribute__((vector_size(32)));

#define NAME(x)            x##_avx2
#define TARGET             __attribute__((target("avx2")))
#define LANES              8
#define VECTOR             __m256
#define WORDS              words
#define OF(c)              _mm256_set1_ps(c)
#define BITS(x)            ((words)(x))
#define FLOATS(w)          ((__m256)(w))
#define LESS(a, b)         ((words)((a) < (b)))
#define EQUAL(a, b)        ((words)((a) == (b)))
#define SELECT(mask, a, b) _mm256_blendv_ps(b, a, FLOATS(mask))
#define MIN(a, b)          _mm256_min_ps(b, a)
#define MAX(a, b)          _mm256_max_ps(b, a)
#define FLOOR(x)           _mm256_floor_ps(x)
#define CUT(x)             _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define SQRT(x)            _mm256_sqrt_ps(x)
#define INTEGER(x)         ((words)_mm256_cvttps_epi32(x))
#define NUMBER(w)          _mm256_cvtepi32_ps((__m256i)(w))
#define RECIPROCAL(x)      _mm256_rcp_ps(x)
#define ROOT(x)            _mm256_rsqrt_ps(x)
#define ANY(mask)          (_mm256_movemask_ps(FLOATS(mask)) != 0)
#define LOAD(p)            _mm256_loadu_ps(p)
#define STORE(p, x)        _mm256_storeu_ps(p, x)
#include "engine/kernels/float_functions.inc"
#include "engine/kernels/float_power.inc"

#endif

#if defined(__x86_64__)
#define RUN(name, x, y, count)                  \
	if (sp_cpu_has(SP_ISA_AVX2))            \
		map_##name##_avx2(x, y, count); \
	else                                    \
		map_##name##_scalar(x, y, count)
#else
#define RUN(name, x, y, count) map_##name##_scalar(x, y, count)
#endif

/* The rest after the last whole packet is computed as a packet padded with zeros. */
#define FUNCTION(name)                                                       \
	void sp_float_##name(const float *x, float *y, size_t count)         \
	{                                                                    \
		size_t rest = count % SP_FLOAT_PACKET, whole = count - rest; \
		float last[SP_FLOAT_PACKET] = {0};                           \
                                                                             \
		RUN(name, x, y, whole);                                      \
		if (rest == 0)                                               \
			return;                                              \
		memcpy(last, x + whole, rest * sizeof(*x));                  \
		RUN(name, last, last, SP_FLOAT_PACKET);                      \
		memcpy(y + whole, last, rest * sizeof(*y));                  \
	}

FUNCTION(exp)
FUNCTION(expm1)
FUNCTION(log)
FUNCTION(log1p)
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(asin)
FUNCTION(acos)
FUNCTION(atan)
FUNCTION(atanh)
FUNCTION(tanh)
FUNCTION(erf)
FUNCTION(rsqrt)
FUNCTION(reciprocal)
FUNCTION(sigmoid)
FUNCTION(softplus)
FUNCTION(elu)
FUNCTION(selu)

enum { STRIP = 8 * SP_FLOAT_PACKET };

static void pow_strip(const float *x, const float *y, float *z, size_t count)
{
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX2)) {
		map_pow_avx2(x, y, z, count);
		return;
	}
#endif
	map_pow_scalar(x, y, z, count);
}

static void spread(float to[STRIP], const float *from, size_t step, size_t count)
{
	for (size_t i = 0; i < STRIP; i++)
		to[i] = i < count ? from[i * step] : 1;
}

void sp_float_pow(const float *x, size_t x_step, const float *y, size_t y_step, float *z,
		  size_t count)
{
	float base[STRIP], exponent[STRIP], power[STRIP];

	for (size_t i = 0, n; i < count; i += n) {
		n = count - i < STRIP ? count - i : STRIP;
		if (n == STRIP && x_step == 1 && y_step == 1) {
			pow_strip(x + i, y + i, z + i, n);
			continue;
		}
		spread(base, x + i * x_step, x_step, n);
		spread(exponent, y + i * y_step, y_step, n);
		pow_strip(base, exponent, power,
			  (n + SP_FLOAT_PACKET - 1) / SP_FLOAT_PACKET * SP_FLOAT_PACKET);
		memcpy(z + i, power, n * sizeof(*z));
	}
}
