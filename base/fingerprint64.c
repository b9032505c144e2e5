#include "base/hash.h"

#include <string.h>

/*
 * FarmHash's Fingerprint64, with the names of its definition (farmhashna): one case each for
 * lengths 0-16, 17-32 and 33-64; longer inputs in rounds of 64 bytes over a state of seven
 * words.  All arithmetic is modulo 2^64.
 */
static const uint64_t k0 = 0xc3a5c85c97cb3127u;
static const uint64_t k1 = 0xb492b66fbe98f273u;
static const uint64_t k2 = 0x9ae16a3b2f90404fu;

typedef struct pair {
	uint64_t first;
	uint64_t second;
} pair;

static inline uint64_t fetch64(const char *p)
{
	uint64_t word;

	memcpy(&word, p, 8);
	return word;
}

static inline uint64_t fetch32(const char *p)
{
	uint32_t word;

	memcpy(&word, p, 4);
	return word;
}

static inline uint64_t rotate(uint64_t x, int shift)
{
	return (x >> shift) | (x << (64 - shift));
}

static inline uint64_t shift_mix(uint64_t x)
{
	return x ^ (x >> 47);
}

static uint64_t hash_16(uint64_t u, uint64_t v, uint64_t mul)
{
	uint64_t a = shift_mix((u ^ v) * mul);
	uint64_t b = shift_mix((v ^ a) * mul);

	return b * mul;
}

static uint64_t hash_0_to_16(const char *s, size_t n)
{
	uint64_t mul = k2 + n * 2;

	if (n >= 8) {
		uint64_t a = fetch64(s) + k2;
		uint64_t b = fetch64(s + n - 8);
		uint64_t c = rotate(b, 37) * mul + a;
		uint64_t d = (rotate(a, 25) + b) * mul;

		return hash_16(c, d, mul);
	}
	if (n >= 4)
		return hash_16(n + (fetch32(s) << 3), fetch32(s + n - 4), mul);
	if (n > 0) {
		uint32_t a = (unsigned char)s[0];
		uint32_t b = (unsigned char)s[n >> 1];
		uint32_t c = (unsigned char)s[n - 1];
		uint32_t y = a + (b << 8);
		uint32_t z = (uint32_t)n + (c << 2);

		return shift_mix(y * k2 ^ z * k0) * k2;
	}
	return k2;
}

static uint64_t hash_17_to_32(const char *s, size_t n)
{
	uint64_t mul = k2 + n * 2;
	uint64_t a = fetch64(s) * k1;
	uint64_t b = fetch64(s + 8);
	uint64_t c = fetch64(s + n - 8) * mul;
	uint64_t d = fetch64(s + n - 16) * k2;

	return hash_16(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + k2, 18) + c, mul);
}

static uint64_t hash_33_to_64(const char *s, size_t n)
{
	uint64_t mul = k2 + n * 2;
	uint64_t a = fetch64(s) * k2;
	uint64_t b = fetch64(s + 8);
	uint64_t c = fetch64(s + n - 8) * mul;
	uint64_t d = fetch64(s + n - 16) * k2;
	uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
	uint64_t z = hash_16(y, a + rotate(b + k2, 18) + c, mul);
	uint64_t e = fetch64(s + 16) * mul;
	uint64_t f = fetch64(s + 24);
	uint64_t g = (y + fetch64(s + n - 32)) * mul;
	uint64_t h = (z + fetch64(s + n - 24)) * mul;

	return hash_16(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, mul);
}

/* 32 bytes into two words. */
static pair weak_hash_32(const char *s, uint64_t a, uint64_t b)
{
	uint64_t w = fetch64(s), x = fetch64(s + 8), y = fetch64(s + 16), z = fetch64(s + 24);
	uint64_t c;

	a += w;
	b = rotate(b + a + z, 21);
	c = a;
	a += x;
	a += y;
	b += rotate(a, 44);
	return (pair){a + z, b + c};
}

static uint64_t hash_long(const char *s, size_t n)
{
	const uint64_t seed = 81;
	uint64_t x = seed;
	uint64_t y = seed * k1 + 113;
	uint64_t z = shift_mix(y * k2 + 113) * k2;
	uint64_t mul, swap;
	pair v = {0, 0}, w = {0, 0};
	const char *end = s + (n - 1) / 64 * 64;
	const char *last64 = end + ((n - 1) & 63) - 63;

	x = x * k2 + fetch64(s);
	do {
		x = rotate(x + y + v.first + fetch64(s + 8), 37) * k1;
		y = rotate(y + v.second + fetch64(s + 48), 42) * k1;
		x ^= w.second;
		y += v.first + fetch64(s + 40);
		z = rotate(z + w.first, 33) * k1;
		v = weak_hash_32(s, v.second * k1, x + w.first);
		w = weak_hash_32(s + 32, z + w.second, y + fetch64(s + 16));
		swap = z;
		z = x;
		x = swap;
		s += 64;
	} while (s != end);

	mul = k1 + ((z & 0xff) << 1);
	s = last64;
	w.first += (n - 1) & 63;
	v.first += w.first;
	w.first += v.first;
	x = rotate(x + y + v.first + fetch64(s + 8), 37) * mul;
	y = rotate(y + v.second + fetch64(s + 48), 42) * mul;
	x ^= w.second * 9;
	y += v.first * 9 + fetch64(s + 40);
	z = rotate(z + w.first, 33) * mul;
	v = weak_hash_32(s, v.second * mul, x + w.first);
	w = weak_hash_32(s + 32, z + w.second, y + fetch64(s + 16));
	return hash_16(hash_16(v.first, w.first, mul) + shift_mix(y) * k0 + x,
		       hash_16(v.second, w.second, mul) + z, mul);
}

uint64_t sp_fingerprint64(const void *data, size_t size)
{
	const char *s = data;

	if (size <= 16)
		return hash_0_to_16(s, size);
	if (size <= 32)
		return hash_17_to_32(s, size);
	if (size <= 64)
		return hash_33_to_64(s, size);
	return hash_long(s, size);
}
