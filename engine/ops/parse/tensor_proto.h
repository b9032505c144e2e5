#ifndef SP_ENGINE_OPS_TENSOR_PROTO_H
#define SP_ENGINE_OPS_TENSOR_PROTO_H

#include "engine/graph/op.h"

/* Converts tensors to and from serialized TensorProtos. */

/*
 * Parses a tensor for the caller to own; its strings are views of `from`.  SP_INVALID unless `from`
 * is a tensor of that type.
 */
SP_MUST_CHECK sp_status sp_tensor_proto__parse(const sp_call *call, sp_bytes from, sp_dtype dtype,
					       sp_tensor *out);

/* How strings are written: each in a field of its own, or together in tensor_content. */
typedef enum sp_texts { SP_TEXTS_AS_FIELDS, SP_TEXTS_AS_CONTENT } sp_texts;

/* Serializes a tensor into bytes that live as long as the request. */
SP_MUST_CHECK sp_status sp_tensor_proto__write(const sp_call *call, const sp_tensor *t,
					       sp_texts texts, sp_bytes *out);

#endif
