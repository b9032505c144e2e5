#ifndef SP_API_HOST_PREDICT_JSON_TENSOR_H
#define SP_API_HOST_PREDICT_JSON_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/json/json_reader.h"
#include "api/serving_processor.h"
#include "base/arena.h"
#include "base/status.h"

/*
 * Reads nested JSON lists into the elements of a tensor.
 *
 * The shape is the length of the first list at each level; every later list must have the
 * same length.  Numbers must fit the type of the tensor: an integer type takes integers
 * only; a float type also takes integers, refuses a number that would round to an infinity,
 * and reads a number that is too small as zero.  A string is a JSON string or
 * {"b64": "..."}.
 *
 * Errors: SP_INVALID for data that does not fit; SP_UNSUPPORTED for a type that JSON cannot
 *         represent; SP_CORRUPT and SP_NO_MEMORY from the reader.
 */

/* Lists that nest deeper are refused. */
enum { SP_JSON_TENSOR_MAX_RANK = 100 };

typedef struct sp_json_shape {
	int rank;                              /* -1 until the first element is seen */
	int closed;                            /* dims of this and deeper levels are set */
	int64_t dims[SP_JSON_TENSOR_MAX_RANK]; /* the first `rank` of them */
} sp_json_shape;

/* The elements of one input; the memory is kept from request to request. */
typedef struct sp_json_elements {
	int dtype;
	char *data; /* from sp_alloc */
	size_t count;
	size_t capacity_bytes;
	sp_budget *budget; /* that the capacity counts against; NULL: none */
} sp_json_elements;

/* Frees the memory; all zero is fine. */
void sp_json_elements_fini(sp_json_elements *elements);

/* Appends one value, a scalar or nested lists; *shape is its shape. */
SP_MUST_CHECK sp_status sp_json_tensor_read(sp_json_reader *reader, sp_json_elements *elements,
					    sp_json_shape *shape, sp_arena *arena, sp_error *err);

/*
 * Appends the next value if it is a plain number (json_plain.h) of the type and there is room;
 * false: nothing has changed, and sp_json_tensor_read() must read it.
 */
bool sp_json_tensor_read_plain(sp_json_reader *reader, sp_json_elements *elements);

/* Whether the next value is exactly {"b64": "<text>"}; the reader does not move. */
bool sp_json_is_base64(sp_json_reader *reader, sp_arena *arena);

/* Reads and decodes such a value. */
SP_MUST_CHECK sp_status sp_json_read_base64(sp_json_reader *reader, sp_bytes *out, sp_arena *arena,
					    sp_error *err);

#endif
