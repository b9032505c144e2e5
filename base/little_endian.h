#ifndef SP_BASE_LITTLE_ENDIAN_H
#define SP_BASE_LITTLE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Numbers as files and frames hold them, at any address.  Threads: pure. */

static inline uint32_t sp_le32_at(const void *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return le32toh(number);
}

static inline uint64_t sp_le64_at(const void *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return le64toh(number);
}

#endif
