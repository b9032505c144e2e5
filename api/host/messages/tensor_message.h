#ifndef SP_API_HOST_MESSAGES_TENSOR_MESSAGE_H
#define SP_API_HOST_MESSAGES_TENSOR_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/serving_processor.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/size.h"
#include "base/status.h"
#include "base/wire.h"

/*
 * Messages with a tensor to typed tensors and back: tensorflow.TensorProto
 * (proto/tensorflow.proto), and EAS's ArrayProto (api/predict.proto).
 *
 * The values of a TensorProto are in tensor_content, if it is not empty, as they are in memory;
 * else in the field of the type:
 *
 *   DT_FLOAT float_val, DT_DOUBLE double_val, DT_INT64 int64_val, DT_UINT32 uint32_val,
 *   DT_UINT64 uint64_val, DT_BOOL bool_val, DT_STRING string_val,
 *   DT_INT32 and narrower integers int_val, truncated to the width,
 *   DT_HALF and DT_BFLOAT16 half_val, their bits,
 *   DT_COMPLEX64 scomplex_val, DT_COMPLEX128 dcomplex_val: real part, imaginary part, ...
 *
 * With fewer values than elements the last one repeats; with none all are zero; what is
 * beyond the last element is ignored, as TensorFlow does.
 *
 * An ArrayProto has exactly as many values as elements, and halves as floats.
 *
 * Threads: pure but for the arena.
 */

/* At most so many bytes of a tensor may come from repeating a value. */
enum { SP_TENSOR_MESSAGE_MAX_FILL = 64 << 20 };

/*
 * Sets all of *out but its name.  Strings, and numbers that lie in one piece, are views into
 * `message`; they need not be aligned.  All else is in the arena.
 *
 * Errors: SP_INVALID, SP_UNSUPPORTED (a type that no input has, too many dimensions),
 *         SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_tensor_message_decode(serving_processor_tensor *out, sp_bytes message,
						 sp_arena *arena, sp_error *err);
SP_MUST_CHECK sp_status sp_tensor_message_decode_array(serving_processor_tensor *out,
						       sp_bytes message, sp_arena *arena,
						       sp_error *err);

/* Dims while they are read. */
enum { SP_TENSOR_MAX_DIMS = 16 };
typedef struct sp_tensor_dims {
	int rank;
	int64_t dims[SP_TENSOR_MAX_DIMS];
} sp_tensor_dims;

/* Appends a repeated int64, packed or not.  SP_INVALID if malformed, SP_UNSUPPORTED if too many. */
SP_MUST_CHECK sp_status sp_tensor_dims_take(sp_tensor_dims *dims, const sp_wire_field *field,
					    sp_error *err);

/*
 * Sets the shape of a tensor whose dtype is set: a copy in the arena.  SP_INVALID if a dim is
 * negative or the tensor is too large.
 */
SP_MUST_CHECK sp_status sp_tensor_dims_set(serving_processor_tensor *tensor,
					   const sp_tensor_dims *dims, sp_arena *arena,
					   sp_error *err);

/* Bytes of the dims as a packed repeated int64, without tag and length. */
static inline size_t sp_tensor_packed_dims_size(const serving_processor_tensor *tensor)
{
	size_t size = 0;

	for (int i = 0; i < tensor->rank; i++)
		size += sp_wire_varint_size((uint64_t)tensor->dims[i]);
	return size;
}

/*
 * The product of the dims and the bytes it takes.  False if a dim is negative or a product does
 * not fit.
 */
static inline bool sp_tensor_message_size(const int64_t *dims, int rank, size_t element_size,
					  size_t *count, size_t *bytes)
{
	bool empty = false;

	/* The other dims of an empty tensor must fit, too. */
	*count = 1;
	for (int i = 0; i < rank; i++) {
		if (dims[i] < 0)
			return false;
		if (dims[i] == 0)
			empty = true;
		else if (!sp_size_mul(count, *count, (size_t)dims[i]))
			return false;
	}
	if (*count > SIZE_MAX / 2 || !sp_size_mul(bytes, *count, element_size))
		return false;
	if (empty)
		*count = *bytes = 0;
	return true;
}

typedef enum sp_tensor_style {
	SP_TENSOR_IN_FIELDS,
	SP_TENSOR_IN_CONTENT, /* tensor_content */
	SP_TENSOR_AS_ARRAY,   /* an ArrayProto */
} sp_tensor_style;

/* Bytes of the message that sp_tensor_message_put() writes; 0: it has no field for the type. */
size_t sp_tensor_message_encoded_size(const serving_processor_tensor *tensor,
				      sp_tensor_style style);

/* Writes it; returns the position behind it. */
unsigned char *sp_tensor_message_put(unsigned char *at, const serving_processor_tensor *tensor,
				     sp_tensor_style style);

/* SP_UNSUPPORTED: a response has no field for the type of an output. */
sp_status sp_tensor_message_no_field(const serving_processor_tensor *output, sp_error *err);

#endif
