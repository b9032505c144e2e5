#include "storage/redis/redis_slots.h"

#include <string.h>

/* Four bits at a time: a batch has a key per partition, not per row. */
static const uint16_t steps[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
				   0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};

static uint16_t crc16(const unsigned char *data, size_t size)
{
	uint16_t crc = 0;

	for (size_t i = 0; i < size; i++) {
		crc = (uint16_t)(crc << 4 ^ steps[crc >> 12 ^ data[i] >> 4]);
		crc = (uint16_t)(crc << 4 ^ steps[(crc >> 12 ^ data[i]) & 15]);
	}
	return crc;
}

uint32_t sp_redis_slot(const void *key, size_t size)
{
	const char *open = size != 0 ? memchr(key, '{', size) : NULL;

	if (open != NULL) {
		size_t rest = size - (size_t)(open + 1 - (const char *)key);
		const char *close = rest != 0 ? memchr(open + 1, '}', rest) : NULL;

		if (close != NULL && close != open + 1)
			return crc16((const unsigned char *)open + 1, (size_t)(close - open - 1)) %
			       SP_REDIS_SLOTS;
	}
	return crc16(key, size) % SP_REDIS_SLOTS;
}
