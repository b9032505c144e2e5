#include "engine/ops/random/philox.h"

enum { ROUNDS = 10 };

static void run_round(uint32_t counter[4], const uint32_t key[2])
{
	uint64_t a = (uint64_t)0xd2511f53u * counter[0];
	uint64_t b = (uint64_t)0xcd9e8d57u * counter[2];

	counter[0] = (uint32_t)(b >> 32) ^ counter[1] ^ key[0];
	counter[1] = (uint32_t)b;
	counter[2] = (uint32_t)(a >> 32) ^ counter[3] ^ key[1];
	counter[3] = (uint32_t)a;
}

void sp_philox__next(sp_philox *generator, uint32_t out[4])
{
	uint32_t key[2] = {generator->key[0], generator->key[1]};

	for (int i = 0; i < 4; i++)
		out[i] = generator->counter[i];
	for (int i = 0; i < ROUNDS; i++) {
		run_round(out, key);
		key[0] += 0x9e3779b9u; /* the golden ratio */
		key[1] += 0xbb67ae85u; /* sqrt(3) - 1 */
	}
	sp_philox__skip(generator, 1);
}

void sp_philox__skip(sp_philox *generator, uint64_t count)
{
	uint32_t *counter = generator->counter;
	uint64_t low = (uint64_t)counter[1] << 32 | counter[0];

	low += count;
	counter[0] = (uint32_t)low;
	counter[1] = (uint32_t)(low >> 32);
	if (low < count && ++counter[2] == 0)
		counter[3]++;
}
