#include "storage/format/packed_row_internal.h"

#include "base/cpu.h"

#define SIGN  UINT32_C(0x80000000)
#define LEAST SP_PACKED_MIN
#define LOW   SP_PACKED_LOW
#define KEY   SP_PACKED_KEY

enum {
	ELEMENTS = SP_PACKED_ELEMENTS,
	AT = 29, /* position of the two bits of the key in an element */
};

/* ------------------------------------------------------------- definition */

static uint32_t bits_at(const void *row, size_t i)
{
	uint32_t bits;

	memcpy(&bits, (const char *)row + i * sizeof(bits), sizeof(bits));
	return bits;
}

static bool is_plain_first(const void *elements)
{
	return sp_packed__is_plain_first(bits_at(elements, 0));
}

static uint32_t with_key(uint32_t bits, size_t i, uint64_t key)
{
	return bits | (uint32_t)(~key >> 2 * i & 3) << AT;
}

static bool pack_scalar(int64_t key, const void *elements, void *row)
{
	bool all_fit = is_plain_first(elements);

	for (size_t i = 0; i < ELEMENTS; i++) {
		uint32_t bits = bits_at(elements, i), magnitude = bits & ~SIGN, packed;

		all_fit = all_fit && (magnitude == 0 || magnitude - LEAST - 1 < LOW);
		magnitude = magnitude == 0 ? 0 : (magnitude - LEAST) & LOW;
		packed = with_key((bits & SIGN) | magnitude, i, (uint64_t)key);
		memcpy((char *)row + i * sizeof(packed), &packed, sizeof(packed));
	}
	return all_fit;
}

/* Compiled for each instruction set, for which the compiler vectorises it. */
static inline __attribute__((always_inline)) void unpack(const void *restrict row,
							 float *restrict elements)
{
	for (size_t i = 0; i < ELEMENTS; i++) {
		uint32_t bits = bits_at(row, i) & (SIGN | LOW);

		bits += (bits & LOW) != 0 ? LEAST : 0;
		memcpy(&elements[i], &bits, sizeof(bits));
	}
}

int64_t sp_packed_row_key(const void *row)
{
	uint64_t mark = 0;

	for (size_t i = 0; i < ELEMENTS; i++)
		mark |= (uint64_t)(bits_at(row, i) >> AT & 3) << 2 * i;
	return (int64_t)~mark;
}

static bool holds_scalar(const void *row, int64_t key)
{
	return sp_packed_row_key(row) == key;
}

void sp_packed_row_refer(size_t dim, int64_t key, uint64_t number, void *row)
{
	const uint32_t marks[3] = {1, (uint32_t)(number >> 29), (uint32_t)number & SP_PACKED_LOW};

	for (size_t i = 0; i < dim; i++) {
		uint32_t bits = i < 3 ? marks[i] : 0;

		if (i < ELEMENTS)
			bits = with_key(bits, i, (uint64_t)key);
		memcpy((char *)row + i * sizeof(bits), &bits, sizeof(bits));
	}
}

bool sp_packed_row_suits(size_t dim, const void *rows, size_t count)
{
	enum { SAMPLE = 512, ONE_IN = 32 };
	size_t step = count / SAMPLE + 1, looked_at = 0, outliers = 0;
	char packed[ELEMENTS * sizeof(float)];

	if (dim < ELEMENTS)
		return false;
	for (size_t i = 0; i < count; i += step, looked_at++)
		outliers += !pack_scalar(0, (const char *)rows + i * dim * sizeof(float), packed);
	return outliers <= looked_at / ONE_IN;
}

#if defined(__x86_64__)

/* ------------------------------------------------------------------- AVX2 */

#define AVX2 __attribute__((target("avx2")))

AVX2 static bool pack_avx2(int64_t key, const void *elements, void *row)
{
	__m256i all_fit = _mm256_set1_epi32(-1), packed;
	uint64_t mark = ~(uint64_t)key;

	for (size_t i = 0; i < ELEMENTS; i += 8, mark >>= 16) {
		__m256i bits = _mm256_loadu_si256((const void *)((const char *)elements + i * 4));
		__m256i fit = sp_packed__pack_lanes_avx2(bits, (uint32_t)mark, &packed);

		all_fit = _mm256_and_si256(all_fit, fit);
		_mm256_storeu_si256((void *)((char *)row + i * 4), packed);
	}
	return _mm256_movemask_epi8(all_fit) == -1 && is_plain_first(elements);
}

AVX2 static bool holds_avx2(const void *row, int64_t key)
{
	return sp_packed__holds_avx2(row, key);
}

/* ---------------------------------------------------------------- AVX-512 */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

AVX512 static bool pack_avx512(int64_t key, const void *elements, void *row)
{
	__m512i bits[2] = {_mm512_loadu_si512(elements),
			   _mm512_loadu_si512((const char *)elements + 64)};
	uint64_t mark = ~(uint64_t)key;
	__m512i first, second;
	bool fits = sp_packed__pack_lanes(bits[0], (uint32_t)mark, &first) &
		    sp_packed__pack_lanes(bits[1], (uint32_t)(mark >> 32), &second);

	_mm512_storeu_si512(row, first);
	_mm512_storeu_si512((char *)row + 64, second);
	return fits && is_plain_first(elements);
}

AVX512 static bool holds_avx512(const void *row, int64_t key)
{
	__m512i first = _mm512_loadu_si512(row);
	__m512i second = _mm512_loadu_si512((const char *)row + 64);
	uint64_t mark = ~(uint64_t)key;

	first = _mm512_xor_si512(first, sp_packed__key_lanes((uint32_t)mark));
	second = _mm512_xor_si512(second, sp_packed__key_lanes((uint32_t)(mark >> 32)));
	return _mm512_test_epi32_mask(_mm512_or_si512(first, second),
				      _mm512_set1_epi32((int)KEY)) == 0;
}

#endif

/* ----------------------------------------------------------------- codecs */

/* Elements after the first 32 are stored as in fp32. */
#define CODEC(isa, target)                                                                         \
	target static void decode_##isa(size_t dim, const void *row, float *elements)              \
	{                                                                                          \
		unpack(row, elements);                                                             \
		memcpy(elements + ELEMENTS, (const float *)row + ELEMENTS,                         \
		       (dim - ELEMENTS) * sizeof(float));                                          \
	}                                                                                          \
	target static void accumulate_##isa(size_t dim, float weight, const void *row, float *sum) \
	{                                                                                          \
		const sp_row_codec *fp32 = sp_row_codec_find(SP_ROW_FP32);                         \
		float packed[ELEMENTS];                                                            \
                                                                                                   \
		unpack(row, packed);                                                               \
		fp32->accumulate(ELEMENTS, weight, packed, sum);                                   \
		fp32->accumulate(dim - ELEMENTS, weight, (const float *)row + ELEMENTS,            \
				 sum + ELEMENTS);                                                  \
	}                                                                                          \
	static bool pack_row_##isa(size_t dim, int64_t key, const void *elements, void *row)       \
	{                                                                                          \
		memcpy((float *)row + ELEMENTS, (const char *)elements + ELEMENTS * sizeof(float), \
		       (dim - ELEMENTS) * sizeof(float));                                          \
		return pack_##isa(key, elements, row);                                             \
	}                                                                                          \
	const sp_packed_codec sp_packed__codec_##isa = {                                           \
		.row = {NULL, decode_##isa, accumulate_##isa},                                     \
		.holds = holds_##isa,                                                              \
		.pack = pack_row_##isa};

CODEC(scalar, )
#if defined(__x86_64__)
CODEC(avx2, AVX2)
CODEC(avx512, AVX512)
#endif

const sp_packed_codec *sp_packed_codec_find(void)
{
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512))
		return &sp_packed__codec_avx512;
	if (sp_cpu_has(SP_ISA_AVX2))
		return &sp_packed__codec_avx2;
#endif
	return &sp_packed__codec_scalar;
}
