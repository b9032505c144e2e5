#include "base/hash.h"

#include <pthread.h>
#include <string.h>

#include "base/cpu.h"

/*
 * Two implementations: tables for eight bytes at a time, or the CRC32 instruction.  Both take
 * the running value inverted, as the shift register of RFC 3720 holds it.
 *
 * The instruction has a latency of three cycles and a throughput of one, so three runs of
 * LANE bytes are summed side by side and joined.
 */
enum { LANE = 1024, CACHE_LINE = 64 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t tables[8][256];
static uint32_t lane_shift[4][256]; /* effect of LANE zero bytes on each byte of a sum */
static uint32_t powers[64];         /* x^(8 * 2^i) */

/*
 * The product of two polynomials over GF(2) modulo the CRC's; the highest bit is the
 * coefficient of x^0.  A checksum is such a polynomial, and appending n zero bits to the data
 * multiplies it by x^n.
 */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	/* Without a branch: the bits are random, so half of the branches would be mispredicted. */
	for (; a != 0; a <<= 1) {
		product ^= b & (0 - (a >> 31));
		b = (b >> 1) ^ (0x82f63b78u & (0 - (b & 1)));
	}
	return product;
}

/* x^(8 * bytes), from `powers`. */
static uint32_t power_of(uint64_t bytes)
{
	uint32_t result = 0x80000000u; /* x^0 */

	for (; bytes != 0; bytes &= bytes - 1)
		result = multiply(powers[__builtin_ctzll(bytes)], result);
	return result;
}

static void make_tables(void)
{
	uint32_t lane;

	powers[0] = 0x00800000u; /* x^8 */
	for (int i = 1; i < 64; i++)
		powers[i] = multiply(powers[i - 1], powers[i - 1]);
	lane = power_of(LANE);
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
		tables[0][i] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (int i = 0; i < 256; i++)
			tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
	for (int k = 0; k < 4; k++)
		for (uint32_t i = 0; i < 256; i++)
			lane_shift[k][i] = multiply(i << (8 * k), lane);
}

static uint32_t by_tables(uint32_t crc, const unsigned char *data, size_t size)
{
	pthread_once(&once, make_tables);
	for (; size >= 8; size -= 8, data += 8) {
		uint64_t word;

		memcpy(&word, data, 8);
		word ^= crc;
		crc = 0;
		for (int k = 0; k < 8; k++)
			crc ^= tables[7 - k][(word >> (8 * k)) & 0xff];
	}
	for (; size != 0; size--, data++)
		crc = (crc >> 8) ^ tables[0][(crc ^ *data) & 0xff];
	return crc;
}

#if defined(__x86_64__)
/* The sum after LANE zero bytes. */
static uint32_t shift_lane(uint32_t crc)
{
	return lane_shift[0][crc & 0xff] ^ lane_shift[1][(crc >> 8) & 0xff] ^
	       lane_shift[2][(crc >> 16) & 0xff] ^ lane_shift[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t three_lanes(uint32_t crc,
							      const unsigned char *data)
{
	uint64_t first = crc, second = 0, third = 0;

	for (size_t i = 0; i < LANE; i += 8) {
		uint64_t words[3];

		/* The hardware prefetcher stops at the end of a page. */
		if (i % CACHE_LINE == 0)
			for (size_t lane = 0; lane < 3; lane++)
				__builtin_prefetch(data + (3 + lane) * LANE + i);
		memcpy(&words[0], data + i, 8);
		memcpy(&words[1], data + LANE + i, 8);
		memcpy(&words[2], data + 2 * LANE + i, 8);
		first = __builtin_ia32_crc32di(first, words[0]);
		second = __builtin_ia32_crc32di(second, words[1]);
		third = __builtin_ia32_crc32di(third, words[2]);
	}
	return shift_lane(shift_lane((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc,
								 const unsigned char *data,
								 size_t size)
{
	uint64_t wide;

	if (size >= 3 * LANE)
		pthread_once(&once, make_tables);
	for (; size >= 3 * LANE; size -= 3 * LANE, data += 3 * LANE)
		crc = three_lanes(crc, data);
	wide = crc;
	for (; size >= 8; size -= 8, data += 8) {
		uint64_t word;

		memcpy(&word, data, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	for (; size != 0; size--, data++)
		crc = __builtin_ia32_crc32qi(crc, *data);
	return crc;
}
#endif

uint32_t sp_crc32c_join(uint32_t first, uint32_t second, uint64_t second_size)
{
	pthread_once(&once, make_tables);
	return multiply(first, power_of(second_size)) ^ second;
}

uint32_t sp_crc32c(uint32_t crc, const void *data, size_t size)
{
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_SSE42))
		return ~by_instruction(~crc, data, size);
#endif
	return ~by_tables(~crc, data, size);
}
