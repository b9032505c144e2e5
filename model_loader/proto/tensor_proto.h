#ifndef SP_MODEL_LOADER_PROTO_TENSOR_PROTO_H
#define SP_MODEL_LOADER_PROTO_TENSOR_PROTO_H

#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"

/*
 * Converts TensorFlow's TensorProto to a tensor.
 *
 * The elements come from tensor_content or from the typed field of the dtype.  As in TensorFlow, if
 * a typed field has fewer values than the shape has elements, its last value is repeated, and
 * without any value all are zero; values beyond the shape are ignored; integers are truncated to
 * the dtype's width.  A bool is true for any byte but 0.
 *
 * Errors: SP_CORRUPT for an invalid shape, for tensor_content of a wrong size, for more repeated
 * bytes than SP_TENSOR_PROTO_MAX_REPEATED; SP_UNSUPPORTED for resources, variants, unknown types,
 * ranks above SP_MAX_RANK.
 *
 * Source: tensor.proto and Tensor::FromProto of TensorFlow 2.15.
 */

/* Limit of repeated bytes per file: a few bytes could otherwise ask for any amount of memory. */
#define SP_TENSOR_PROTO_MAX_REPEATED ((size_t)256 << 20)

/* Parses a serialized message, which is not needed afterwards. */
SP_MUST_CHECK sp_status sp_tensor_parse(sp_tensor *out, sp_bytes bytes, sp_arena *arena,
					sp_error *err);

#endif
