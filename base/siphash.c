#include "base/hash.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

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

static inline void take(uint64_t v[4], uint64_t word, int rounds)
{
	v[3] ^= word;
	for (int i = 0; i < rounds; i++)
		sip_round(v);
	v[0] ^= word;
}

/* `rounds` per word and `last` finalization rounds; constants after inlining. */
static inline uint64_t siphash(const uint64_t key[2], const void *data, size_t size, int rounds,
			       int last)
{
	uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
			 key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
	const unsigned char *p = data;
	size_t whole = size / 8 * 8;
	uint64_t word;

	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, p + i, 8);
		take(v, word, rounds);
	}
	word = (uint64_t)size << 56;
	for (size_t i = whole; i < size; i++)
		word |= (uint64_t)p[i] << (8 * (i - whole));
	take(v, word, rounds);
	v[2] ^= 0xff;
	for (int i = 0; i < last; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t sp_siphash24(const uint64_t key[2], const void *data, size_t size)
{
	return siphash(key, data, size, 2, 4);
}

uint64_t sp_siphash13(const uint64_t key[2], const void *data, size_t size)
{
	return siphash(key, data, size, 1, 3);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t process_key[2];

static void make_key(void)
{
	if (getrandom(process_key, sizeof(process_key), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(process_key)) {
		process_key[0] = (uint64_t)time(NULL);
		process_key[1] = (uint64_t)(uintptr_t)&process_key;
	}
}

const uint64_t *sp_hash_process_key(void)
{
	pthread_once(&once, make_key);
	return process_key;
}
