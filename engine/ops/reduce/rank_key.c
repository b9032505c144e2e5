#include "engine/ops/reduce/rank_key.h"

#include <string.h>

#define SIGN ((uint64_t)1 << 63)

bool sp_rank_key__has(sp_dtype dtype)
{
	return sp_dtype_is_integer(dtype) || sp_dtype_is_floating(dtype);
}

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

#define READ(T, key)                                     \
	do {                                             \
		const T *from = (const T *)data + first; \
                                                         \
		for (size_t i = 0; i < n; i++)           \
			keys[i] = key(from[i]);          \
	} while (0)

#define SIGNED_KEY(x)   ((uint64_t)(int64_t)(x) ^ SIGN)
#define UNSIGNED_KEY(x) ((uint64_t)(x))
#define HALF_KEY(x)     key_of_double((double)sp_half_to_float(x))
#define BFLOAT16_KEY(x) key_of_double((double)sp_bfloat16_to_float(x))

void sp_rank_key__read(uint64_t *keys, sp_dtype dtype, const void *data, size_t first, size_t n)
{
	switch (dtype) {
	case SP_FLOAT:
		READ(float, key_of_double);
		break;
	case SP_DOUBLE:
		READ(double, key_of_double);
		break;
	case SP_HALF:
		READ(uint16_t, HALF_KEY);
		break;
	case SP_BFLOAT16:
		READ(uint16_t, BFLOAT16_KEY);
		break;
	case SP_INT8:
		READ(int8_t, SIGNED_KEY);
		break;
	case SP_INT16:
		READ(int16_t, SIGNED_KEY);
		break;
	case SP_INT32:
		READ(int32_t, SIGNED_KEY);
		break;
	case SP_INT64:
		READ(int64_t, SIGNED_KEY);
		break;
	case SP_UINT8:
		READ(uint8_t, UNSIGNED_KEY);
		break;
	case SP_UINT16:
		READ(uint16_t, UNSIGNED_KEY);
		break;
	case SP_UINT32:
		READ(uint32_t, UNSIGNED_KEY);
		break;
	default:
		READ(uint64_t, UNSIGNED_KEY);
		break;
	}
}
