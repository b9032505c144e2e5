#ifndef SP_BASE_VARINT_H
#define SP_BASE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

/* Base-128 varints, as in protobuf and LevelDB.  Threads: pure. */

/*
 * Reads a varint and advances *at.  False if the bytes end inside it or it does not fit 64
 * bits; *at is then unspecified.
 */
static inline bool sp_varint_read(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			return true;
		}
	}
	return false;
}

/* The same for a number that must fit 32 bits. */
static inline bool sp_varint_read32(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
	uint64_t value;

	if (!sp_varint_read(at, end, &value) || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

#endif
