#ifndef SP_API_HOST_PREDICT_JSON_ELEMENT_H
#define SP_API_HOST_PREDICT_JSON_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "api/serving_processor.h"
#include "base/buffer.h"
#include "base/bytes.h"

/* Elements of typed tensors as JSON values.  Threads: pure but for the buffer. */

/* Whether JSON has values of the type: numbers but for complex ones, bools and strings. */
bool sp_json_can_write(int dtype);

/*
 * Appends element i.  A half or bfloat16 is written as a float; in a string, bytes that are not
 * UTF-8 become U+FFFD.
 */
void sp_json_write_element(sp_buffer *out, const serving_processor_tensor *tensor, size_t i);

/*
 * Appends elements from `first` on, with `between` between them; returns how many: not all of
 * `count` if these are many, none if they are strings or the buffer is almost full.
 */
size_t sp_json_write_run(sp_buffer *out, const serving_processor_tensor *tensor, size_t first,
			 size_t count, sp_bytes between);

#endif
