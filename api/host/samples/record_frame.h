#ifndef SP_API_HOST_SAMPLES_RECORD_FRAME_H
#define SP_API_HOST_SAMPLES_RECORD_FRAME_H

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

/*
 * What is around a record of a TFRecord file: before it its length and that number's checksum,
 * behind it its own checksum, little-endian and masked.
 *
 * Threads: pure.
 */
enum { SP_RECORD_HEAD = 12, SP_RECORD_TAIL = 4 };

/* The ends of a closed file's name, and of one that grows. */
#define SP_RECORD_CLOSED ".tfrecord"
#define SP_RECORD_OPEN   ".part"

static inline void sp_record_frame(unsigned char head[SP_RECORD_HEAD],
				   unsigned char tail[SP_RECORD_TAIL], sp_bytes record)
{
	uint64_t length = record.size;
	uint32_t crc = sp_crc32c_mask(sp_crc32c(0, &length, sizeof(length)));

	memcpy(head, &length, sizeof(length));
	memcpy(head + sizeof(length), &crc, sizeof(crc));
	crc = sp_crc32c_mask(sp_crc32c(0, record.data, record.size));
	memcpy(tail, &crc, sizeof(crc));
}

#endif
