#include "storage/format/packed_stream.h"

#include <assert.h>
#include <string.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "storage/format/packed_row_internal.h"

enum { LANES = 16, LINE = 64 };

bool sp_packed_stream_suits(size_t dim)
{
	return sp_cpu_has(SP_ISA_AVX2) && dim >= SP_PACKED_ELEMENTS && dim % LANES == 0 &&
	       dim <= SP_PACKED_STREAM_MAX_DIM;
}

/* x^(8 * bytes) modulo the polynomial, shifted by one bit, as carry-less products need it. */
static uint64_t factor_of(size_t bytes)
{
	static const unsigned char zeros[SP_PACKED_STREAM_MAX_DIM * sizeof(float) + 4];
	const uint32_t one = 0x80000000u;

	assert(bytes <= sizeof(zeros));
	return (uint64_t)(uint32_t)~sp_crc32c(~one, zeros, bytes) << 1;
}

void sp_packed_stream_begin(sp_packed_stream *stream, size_t dim, uint32_t crc)
{
	size_t size = dim * sizeof(float);

	assert(sp_packed_stream_suits(dim));
	stream->dim = dim;
	stream->before = crc;
	stream->folds = sp_cpu_has_wide_clmul();
	if (!stream->folds)
		return;
	stream->size = 0;
	stream->factors[0] = factor_of(size + 4);
	stream->factors[1] = factor_of(size - 4);
	memset(stream->sums, 0, size);
}

/* `sums` hold one row that has the same CRC as all rows, for a CRC register that starts at 0. */
uint32_t sp_packed_stream_end(sp_packed_stream *stream)
{
	uint32_t rows;

#if defined(__x86_64__)
	_mm_sfence();
#endif
	if (!stream->folds)
		return stream->before;
	rows = sp_crc32c(UINT32_MAX, stream->sums, stream->dim * sizeof(float));
	return sp_crc32c_join(~stream->before, rows, stream->size);
}

typedef struct rows_to_put {
	const int64_t *keys;
	const char *rows;
	char *const *slots;
	size_t count;
} rows_to_put;

#if defined(__x86_64__)

#define AVX2        __attribute__((target("avx2")))
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

/* Packs the first 32 elements into `packed`; false if any cannot be packed. */
AVX2_INLINE bool pack_avx2(int64_t key, const char *row, __m256i packed[4])
{
	__m256i fits = _mm256_set1_epi32(-1), first = _mm256_loadu_si256((const void *)row);
	uint64_t mark = ~(uint64_t)key;

#pragma GCC unroll 4
	for (size_t i = 0; i < 4; i++, mark >>= 16) {
		__m256i bits = _mm256_loadu_si256((const void *)(row + i * sizeof(bits)));

		bits = sp_packed__pack_lanes_avx2(bits, (uint32_t)mark, &packed[i]);
		fits = _mm256_and_si256(fits, bits);
	}
	return _mm256_movemask_epi8(fits) == -1 &&
	       sp_packed__is_plain_first((uint32_t)_mm256_cvtsi256_si32(first));
}

/* False if the row is an outlier and has a slot. */
AVX2_INLINE bool put_row_avx2(sp_packed_stream *stream, int64_t key, const char *row, char *slot)
{
	size_t size = stream->dim * sizeof(float);
	__m256i packed[4];

	if (slot == NULL)
		return true;
	if (__builtin_expect(!pack_avx2(key, row, packed), 0)) {
		memcpy(stream->outlier, row, size);
		return false;
	}
#pragma GCC unroll 4
	for (size_t i = 0; i < 4; i++)
		_mm256_stream_si256((__m256i *)slot + i, packed[i]);
	for (size_t at = sizeof(packed); at < size; at += sizeof(__m256i))
		_mm256_stream_si256((void *)(slot + at),
				    _mm256_loadu_si256((const void *)(row + at)));
	return true;
}

/* Computes the checksum after packing, while the rows are still in the processor's cache. */
AVX2 static size_t put_all_avx2(sp_packed_stream *stream, const rows_to_put *r, bool *met_outlier)
{
	size_t row_size = stream->dim * sizeof(float), done = 0;

	while (done < r->count && !*met_outlier) {
		*met_outlier = !put_row_avx2(stream, r->keys[done], r->rows + done * row_size,
					     r->slots[done]);
		done++;
	}
	stream->before = sp_crc32c(stream->before, r->rows, done * row_size);
	return done;
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")))

#define AVX512_INLINE AVX512 static inline __attribute__((always_inline))

/* Folds sixteen elements into the sum. */
AVX512_INLINE __m512i fold(__m512i sum, __m512i elements, __m512i factors)
{
	__m512i low = _mm512_clmulepi64_epi128(sum, factors, 0x00);
	__m512i high = _mm512_clmulepi64_epi128(sum, factors, 0x11);

	return _mm512_ternarylogic_epi64(low, high, elements, 0x96); /* xor */
}

/*
 * Packs the first 32 elements into the slot; if they cannot be packed (false) or there is no slot,
 * copies them to `aside` instead.
 */
AVX512_INLINE bool put_packed(const __m512i bits[2], int64_t key, char *slot, float *aside)
{
	uint64_t mark = ~(uint64_t)key;
	__m512i first, second;
	bool fits = sp_packed__pack_lanes(bits[0], (uint32_t)mark, &first) &
		    sp_packed__pack_lanes(bits[1], (uint32_t)(mark >> 32), &second) &
		    sp_packed__is_plain_first((uint32_t)_mm512_cvtsi512_si32(bits[0]));

	if (__builtin_expect(!fits || slot == NULL, 0)) {
		_mm512_store_si512(aside, bits[0]);
		_mm512_store_si512(aside + LANES, bits[1]);
		return fits;
	}
	_mm512_stream_si512((void *)slot, first);
	_mm512_stream_si512((void *)(slot + LINE), second);
	return true;
}

/*
 * Folds a row of `lines` cache lines into as many sums; false if it is an outlier and has a slot.
 */
AVX512_INLINE bool put_row(sp_packed_stream *stream, __m512i *sums, size_t lines, __m512i factors,
			   int64_t key, const char *row, char *slot)
{
	__m512i bits[2] = {_mm512_loadu_si512(row), _mm512_loadu_si512(row + LINE)};
	bool fits;

	sums[0] = fold(sums[0], bits[0], factors);
	sums[1] = fold(sums[1], bits[1], factors);
	fits = put_packed(bits, key, slot, stream->outlier);
	for (size_t i = 2; i < lines; i++) {
		__m512i rest = _mm512_loadu_si512(row + i * LINE);

		sums[i] = fold(sums[i], rest, factors);
		if (__builtin_expect(!fits || slot == NULL, 0))
			_mm512_store_si512((char *)stream->outlier + i * LINE, rest);
		else
			_mm512_stream_si512((void *)(slot + i * LINE), rest);
	}
	return fits || slot == NULL;
}

AVX512_INLINE size_t put_rows(sp_packed_stream *stream, __m512i *sums, size_t lines,
			      const rows_to_put *r, bool *met_outlier)
{
	const uint64_t *f = stream->factors;
	__m512i factors = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)f[1], (long long)f[0]));
	size_t done = 0;

	while (done < r->count && !*met_outlier) {
		*met_outlier = !put_row(stream, sums, lines, factors, r->keys[done],
					r->rows + done * lines * LINE, r->slots[done]);
		done++;
	}
	return done;
}

/*
 * For rows of two cache lines the sums are kept in registers: in memory each row would wait for the
 * previous row's stores.
 */
AVX512 static size_t put_all_avx512(sp_packed_stream *stream, const rows_to_put *r,
				    bool *met_outlier)
{
	__m512i *sums = (__m512i *)stream->sums, registers[2] = {sums[0], sums[1]};
	size_t lines = stream->dim / LANES, done;

	if (lines != 2)
		return put_rows(stream, sums, lines, r, met_outlier);
	done = put_rows(stream, registers, 2, r, met_outlier);
	sums[0] = registers[0];
	sums[1] = registers[1];
	return done;
}

#endif

size_t sp_packed_stream_put(sp_packed_stream *stream, const int64_t *keys, const void *rows,
			    char *const *slots, size_t count, bool *met_outlier)
{
	const rows_to_put all = {keys, rows, slots, count};
	size_t done = 0;

	*met_outlier = false;
#if defined(__x86_64__)
	if (!stream->folds)
		return put_all_avx2(stream, &all, met_outlier);
	done = put_all_avx512(stream, &all, met_outlier);
	stream->size += done * stream->dim * sizeof(float);
#else
	(void)stream, (void)all; /* not reached: no dim suits this processor */
#endif
	return done;
}
