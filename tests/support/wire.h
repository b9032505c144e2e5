#ifndef SP_TESTS_SUPPORT_WIRE_H
#define SP_TESTS_SUPPORT_WIRE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * Writes protobuf's wire format field by field, so that a test can say any
 * message, also one that no library would write.  Nothing here knows a schema.
 *
 * Source: protobuf's "Encoding" document.
 */

/* A buffer for a message; sp_buffer_fini() frees it. */
sp_buffer sp_wire_begin(void);

/* A number without a field: for packed fields and length prefixes. */
void sp_wire_number(sp_buffer *out, uint64_t value);

void sp_wire_varint(sp_buffer *out, uint32_t field, uint64_t value);
void sp_wire_fixed32(sp_buffer *out, uint32_t field, uint32_t value);
void sp_wire_float(sp_buffer *out, uint32_t field, float value);
void sp_wire_double(sp_buffer *out, uint32_t field, double value);
void sp_wire_bytes(sp_buffer *out, uint32_t field, sp_bytes value);
void sp_wire_text(sp_buffer *out, uint32_t field, const char *value);

/* The finished `message` as a field; frees it. */
void sp_wire_message(sp_buffer *out, uint32_t field, sp_buffer *message);

static inline sp_bytes sp_wire_view(const sp_buffer *message)
{
	return (sp_bytes){message->data, message->size};
}

#endif
