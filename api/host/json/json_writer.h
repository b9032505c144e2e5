#ifndef SP_API_HOST_JSON_JSON_WRITER_H
#define SP_API_HOST_JSON_JSON_WRITER_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * JSON values appended to a buffer, which remembers a failure.
 * Threads: one thread at a time per buffer.
 */

/*
 * A quoted string.  What is not UTF-8 becomes U+FFFD, byte by byte: ask
 * sp_utf8_valid() first where the bytes matter.
 */
void sp_json_write_string(sp_buffer *out, sp_bytes text);

/* {"b64":"..."} */
void sp_json_write_base64(sp_buffer *out, sp_bytes data);

/*
 * A number as TensorFlow Serving writes it: six significant digits where they
 * read back as the same value, else as many as any value needs (9 or 17); ".0"
 * where nothing else shows that it is no integer; NaN, Infinity, -Infinity.
 */
void sp_json_write_f32(sp_buffer *out, float value);
void sp_json_write_f64(sp_buffer *out, double value);

void sp_json_write_i64(sp_buffer *out, int64_t value);
void sp_json_write_u64(sp_buffer *out, uint64_t value);

#endif
