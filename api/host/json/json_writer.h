#ifndef SP_API_HOST_JSON_JSON_WRITER_H
#define SP_API_HOST_JSON_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * Appends JSON values to a buffer; a failure is remembered there.
 * Threads: one thread at a time per buffer.
 */

/*
 * A quoted string.  Each byte that is not part of valid UTF-8 becomes U+FFFD: where the
 * bytes matter, check sp_utf8_valid() first.
 */
void sp_json_write_string(sp_buffer *out, sp_bytes text);

/* "key": with a comma before it unless it is the first of its object. */
void sp_json_write_key(sp_buffer *out, const char *key, bool first);

/* Numbers, as json_print.h says. */
void sp_json_write_f32(sp_buffer *out, float value);
void sp_json_write_f64(sp_buffer *out, double value);
void sp_json_write_i64(sp_buffer *out, int64_t value);
void sp_json_write_u64(sp_buffer *out, uint64_t value);

#endif
