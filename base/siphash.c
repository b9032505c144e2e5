#include "base/hash.h"

#include <string.h>

static inline uint64_t rotate(uint64_t x, int b)
{
	return (x << b) | (x >> (64 - b));
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static inline void take(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

uint64_t sp_siphash24(const uint64_t key[2], const void *data, size_t size)
{
	uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
			 key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
	const unsigned char *p = data;
	size_t whole = size / 8 * 8;
	uint64_t word;

	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, p + i, 8);
		take(v, word);
	}
	word = (uint64_t)size << 56;
	for (size_t i = whole; i < size; i++)
		word |= (uint64_t)p[i] << (8 * (i - whole));
	take(v, word);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
