#ifndef SP_ENGINE_KERNELS_PROTOBUF_WRITER_H
#define SP_ENGINE_KERNELS_PROTOBUF_WRITER_H

#include <stddef.h>
#include <stdint.h>

/*
 * A writer of protobuf's encoding (engine/kernels/protobuf_reader.h reads it).
 *
 * Threads: pure.
 */
#define SP_PROTOBUF_MAX_VARINT 10

static inline size_t sp_protobuf_varint_size(uint64_t value)
{
	size_t n = 1;

	for (; value >= 0x80; value >>= 7)
		n++;
	return n;
}

/* Returns the position after the varint; `to` has room for sp_protobuf_varint_size(value). */
static inline char *sp_protobuf_put_varint(char *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (char)(value | 0x80);
	*to++ = (char)value;
	return to;
}

#endif
