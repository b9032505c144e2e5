#ifndef SP_ENGINE_OPS_RANDOM_FILL_H
#define SP_ENGINE_OPS_RANDOM_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/dtype.h"
#include "engine/ops/random/philox.h"

/*
 * Random numbers in the order in which TensorFlow's CPU kernels draw them from a Philox stream.
 *
 * Numerics: normal distributions use the Box-Muller transform in float (half and bfloat16 are
 * rounded from it) or double, with the C library's logarithm, sine and cosine, so the last bit may
 * depend on the library.
 */
typedef enum sp_random_kind {
	SP_RANDOM_UNIFORM,   /* [0, 1); half, bfloat16, float, double */
	SP_RANDOM_NORMAL,    /* mean 0, deviation 1; same types */
	SP_RANDOM_TRUNCATED, /* the same, numbers with |x| >= 2 rejected */
	SP_RANDOM_INTEGER,   /* [low, high); int32, int64 */
	SP_RANDOM_BITS,      /* every bit random; (u)int32, (u)int64 */
} sp_random_kind;

typedef struct sp_random_recipe {
	sp_random_kind kind;
	sp_dtype dtype;
	int64_t low, high; /* of SP_RANDOM_INTEGER; low < high, both of the dtype */
} sp_random_recipe;

bool sp_random__supports(sp_random_kind kind, sp_dtype dtype);

void sp_random__fill(const sp_random_recipe *recipe, sp_philox generator, void *out, size_t count);

#endif
