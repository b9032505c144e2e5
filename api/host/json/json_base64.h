#ifndef SP_API_HOST_JSON_JSON_BASE64_H
#define SP_API_HOST_JSON_JSON_BASE64_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"

/* Base64 with the standard alphabet (RFC 4648, section 4).  Threads: pure. */

/* Appends `data` encoded, padded to a multiple of four. */
void sp_base64_encode(sp_buffer *out, sp_bytes data);

typedef enum sp_base64_result {
	SP_BASE64_OK,
	SP_BASE64_INVALID,
	SP_BASE64_NO_MEMORY
} sp_base64_result;

/* The padding may be missing; any other byte besides digits is INVALID. */
sp_base64_result sp_base64_decode(sp_bytes *out, sp_bytes text, sp_arena *arena);

#endif
