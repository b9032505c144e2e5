#ifndef SP_API_HOST_JSON_JSON_WRITER_H
#define SP_API_HOST_JSON_JSON_WRITER_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/json_text.h"

/*
 * Appends JSON values to a buffer, beside the strings of base/json_text.h; a failure is remembered
 * there.
 *
 * Threads: one thread at a time per buffer.
 */

/* The key of a member that is not the first of its object: ,"key": */
void sp_json_write_key(sp_buffer *out, const char *key);

/* Numbers, as json_print.h says. */
void sp_json_write_f32(sp_buffer *out, float value);
void sp_json_write_i64(sp_buffer *out, int64_t value);
void sp_json_write_u64(sp_buffer *out, uint64_t value);

#endif
