#include "storage/woven_stream.h"

#include <assert.h>
#include <string.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "storage/woven_row_internal.h"

enum { LANES = 16, LINE = 64 };

bool sp_woven_stream_suits(size_t dim)
{
	return sp_cpu_has_wide_clmul() && dim >= SP_WOVEN_ELEMENTS && dim % LANES == 0 &&
	       dim <= SP_WOVEN_STREAM_MOST_DIM;
}

/* x^(8 * bytes) of the checksum, moved on by the bit that a product without carry falls short. */
static uint64_t factor_of(size_t bytes)
{
	static const unsigned char zeros[SP_WOVEN_STREAM_MOST_DIM * sizeof(float) + 4];
	const uint32_t one = 0x80000000u;

	assert(bytes <= sizeof(zeros));
	return (uint64_t)(uint32_t)~sp_crc32c(~one, zeros, bytes) << 1;
}

void sp_woven_stream_begin(sp_woven_stream *stream, size_t dim, uint32_t crc)
{
	size_t size = dim * sizeof(float);

	assert(sp_woven_stream_suits(dim));
	stream->dim = dim;
	stream->before = crc;
	stream->size = 0;
	stream->factors[0] = factor_of(size + 4);
	stream->factors[1] = factor_of(size - 4);
	memset(stream->sums, 0, size);
}

/* The sums are a row with the checksum that all rows have, where the register starts from 0. */
uint32_t sp_woven_stream_end(sp_woven_stream *stream)
{
	uint32_t rows = sp_crc32c(UINT32_MAX, stream->sums, stream->dim * sizeof(float));

#if defined(__x86_64__)
	_mm_sfence();
#endif
	return sp_crc32c_join(~stream->before, rows, stream->size);
}

#if defined(__x86_64__)

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")))

/*
 * Sixteen elements, which are added to the sum.  The compiler is told that they
 * change behind the load: so it cannot load again what it stores.
 */
AVX512 static inline __m512i take_lanes(const void *elements, void *sum, __m512i factors)
{
	__m512i bits = _mm512_loadu_si512(elements), before = _mm512_load_si512(sum);
	__m512i low = _mm512_clmulepi64_epi128(before, factors, 0x00);
	__m512i high = _mm512_clmulepi64_epi128(before, factors, 0x11);

	__asm__("" : "+v"(bits));
	_mm512_store_si512(sum, _mm512_ternarylogic_epi64(low, high, bits, 0x96)); /* xor */
	return bits;
}

/* Whether the first 32 elements are not an outlier's; then they go to the slot, else to `aside`. */
AVX512 static inline bool put_woven(const __m512i bits[2], int64_t key, char *slot, float *aside)
{
	uint64_t mark = ~(uint64_t)key;
	__m512i first, second;
	bool fits = sp_woven__weave_lanes(bits[0], (uint32_t)mark, &first) &
		    sp_woven__weave_lanes(bits[1], (uint32_t)(mark >> 32), &second) &
		    sp_woven__is_plain_first((uint32_t)_mm512_cvtsi512_si32(bits[0]));

	if (__builtin_expect(!fits || slot == NULL, 0)) {
		_mm512_store_si512(aside, bits[0]);
		_mm512_store_si512(aside + LANES, bits[1]);
		return fits;
	}
	_mm512_stream_si512((void *)slot, first);
	_mm512_stream_si512((void *)(slot + LINE), second);
	return true;
}

AVX512 static bool put_row(sp_woven_stream *stream, int64_t key, const char *row, char *slot)
{
	const uint64_t *f = stream->factors;
	__m512i factors = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)f[1], (long long)f[0]));
	__m512i bits[2] = {take_lanes(row, stream->sums, factors),
			   take_lanes(row + LINE, stream->sums + LINE, factors)};
	bool fits = put_woven(bits, key, slot, stream->outlier);

	for (size_t at = 2 * LINE; at < stream->dim * sizeof(float); at += LINE) {
		__m512i rest = take_lanes(row + at, stream->sums + at, factors);

		if (__builtin_expect(!fits || slot == NULL, 0))
			_mm512_store_si512((char *)stream->outlier + at, rest);
		else
			_mm512_stream_si512((void *)(slot + at), rest);
	}
	return fits || slot == NULL;
}

#else

static bool put_row(sp_woven_stream *stream, int64_t key, const char *row, char *slot)
{
	(void)stream, (void)key, (void)row, (void)slot;
	return false; /* no dim suits this processor */
}

#endif

size_t sp_woven_stream_put(sp_woven_stream *stream, const int64_t *keys, const void *rows,
			   char *const *slots, size_t count, bool *met)
{
	size_t size = stream->dim * sizeof(float), done = 0;

	*met = false;
	while (done < count && !*met) {
		*met = !put_row(stream, keys[done], (const char *)rows + done * size, slots[done]);
		done++;
	}
	stream->size += done * size;
	return done;
}
