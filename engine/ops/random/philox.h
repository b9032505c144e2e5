#ifndef SP_ENGINE_OPS_PHILOX_H
#define SP_ENGINE_OPS_PHILOX_H

#include <stdint.h>

/*
 * Philox 4x32-10: a counter-based generator of 128 random bits at a time.
 *
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", 2011.
 */
typedef struct sp_philox {
	uint32_t counter[4]; /* least significant word first */
	uint32_t key[2];
} sp_philox;

/* The next four words; advances the counter by one. */
void sp_philox__next(sp_philox *generator, uint32_t out[4]);

/* Advances the counter as `count` calls of sp_philox__next() would. */
void sp_philox__skip(sp_philox *generator, uint64_t count);

#endif
