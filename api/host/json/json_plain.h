#ifndef SP_API_HOST_JSON_JSON_PLAIN_H
#define SP_API_HOST_JSON_JSON_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "api/host/json/json_reader.h"

/*
 * A fast way to read plain numbers, which are almost all in practice: an optional minus, digits, an
 * optional fraction, at most 18 digits, no exponent; and not within the last bytes of the text.
 * What is not plain is left for sp_json_number_read(), whose result would be the same.
 */

/*
 * Reads plain numbers of a list, separated by commas, into `out`, which has room for `room` of the
 * type.  The reader is before a value; it is then behind the last one that was read.  Stops before
 * a value that is not plain or does not fit the type.  Returns how many were read; if none, the
 * reader has not moved.
 */
size_t sp_json_plain_f32(sp_json_reader *reader, float *out, size_t room);
size_t sp_json_plain_f64(sp_json_reader *reader, double *out, size_t room);
size_t sp_json_plain_i64(sp_json_reader *reader, int64_t *out, size_t room);
size_t sp_json_plain_i32(sp_json_reader *reader, int32_t *out, size_t room);

#endif
