#include "base/hash.h"

#include <string.h>

uint64_t sp_murmur64(uint64_t seed, const void *data, size_t size)
{
	const uint64_t m = 0xc6a4a7935bd1e995u;
	const unsigned char *p = data;
	size_t whole = size / 8 * 8, tail = size - whole;
	uint64_t h = seed ^ (size * m), k;

	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&k, p + i, 8);
		k *= m;
		k ^= k >> 47;
		h = (h ^ (k * m)) * m;
	}
	if (tail > 0) {
		for (size_t i = 0; i < tail; i++)
			h ^= (uint64_t)p[whole + i] << (8 * i);
		h *= m;
	}
	h = (h ^ (h >> 47)) * m;
	return h ^ (h >> 47);
}
