#include "engine/ops/reduce/rank_key.h"

#include <string.h>

#include "engine/ops/array/element_types.h"

#define SIGN ((uint64_t)1 << 63)

/* Positive IEEE numbers compare as their bits do, negative ones in reverse. */
static inline uint64_t key_of_double(double value)
{
	uint64_t bits;

	if (value != value)
		return 0;
	value += 0.0; /* -0.0 becomes 0.0 */
	memcpy(&bits, &value, sizeof(bits));
	return bits & SIGN ? ~bits : bits | SIGN;
}

typedef void read_fn(uint64_t *keys, const void *data, size_t n);

#define READ(type, name, key)                                                 \
	static void name##_##type(uint64_t *keys, const void *data, size_t n) \
	{                                                                     \
		const sp_element_##type *from = data;                         \
                                                                              \
		for (size_t i = 0; i < n; i++)                                \
			keys[i] = key(SP_LOAD_##type(from[i]));               \
	}

#define SIGNED_KEY(x)   ((uint64_t)(int64_t)(x) ^ SIGN)
#define UNSIGNED_KEY(x) ((uint64_t)(x))

SP_FOR_FLOATING(READ, read, key_of_double)
SP_FOR_SIGNED(READ, read, SIGNED_KEY)
SP_FOR_UNSIGNED(READ, read, UNSIGNED_KEY)

static read_fn *const readers[SP_DTYPE_COUNT] = {SP_TABLE_NUMBER(read)};

bool sp_rank_key__has(sp_dtype dtype)
{
	return readers[dtype] != NULL;
}

void sp_rank_key__read(uint64_t *keys, sp_dtype dtype, const void *data, size_t first, size_t n)
{
	readers[dtype](keys, (const char *)data + first * sp_dtype_size(dtype), n);
}
