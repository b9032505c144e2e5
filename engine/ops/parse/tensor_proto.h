#ifndef SP_ENGINE_OPS_TENSOR_PROTO_H
#define SP_ENGINE_OPS_TENSOR_PROTO_H

#include "engine/graph/op.h"

/* Tensors as serialized TensorProtos, for the operators that read and write them. */

/*
 * A new tensor of the caller's; its texts show the bytes it was read from.  SP_INVALID
 * unless these are a tensor of that type.
 */
SP_MUST_CHECK sp_status sp_tensor_proto__parse(const sp_call *call, sp_bytes from, sp_dtype dtype,
					       sp_tensor *out);

/* Where the texts of a tensor stand: each in a field, or together as its content. */
typedef enum sp_texts { SP_TEXTS_AS_FIELDS, SP_TEXTS_AS_CONTENT } sp_texts;

/* The bytes, which live as long as the request. */
SP_MUST_CHECK sp_status sp_tensor_proto__write(const sp_call *call, const sp_tensor *t,
					       sp_texts texts, sp_bytes *out);

#endif
