#ifndef SP_MODEL_LOADER_PROTO_PROTO_INTERNAL_H
#define SP_MODEL_LOADER_PROTO_PROTO_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"
#include "engine/tensor/tensor.h"
#include "model_loader/proto/graph.pb-c.h"
#include "model_loader/proto/tensor.pb-c.h"

/* Conversions of messages unpacked by protobuf-c to our structures; for model_loader only. */

/* Where to put the structures of one file, and how many repeated bytes they may still take. */
typedef struct sp_proto_target {
	sp_arena *arena;
	size_t repeated_left; /* see SP_TENSOR_PROTO_MAX_REPEATED */
} sp_proto_target;

/* The dtype of a DataType, also of a reference type; else SP_INVALID_DTYPE. */
sp_dtype sp_proto__dtype(int32_t number);

/* As sp_proto__dtype(); SP_UNSUPPORTED, with the type's name, when it is unknown. */
SP_MUST_CHECK sp_status sp_proto__known_dtype(sp_dtype *out, int32_t number, sp_error *err);

/* A shape without unknown dimensions; NULL is a scalar, as in TensorFlow. */
SP_MUST_CHECK sp_status sp_proto__shape(sp_shape *out, const SpPb__TensorShapeProto *proto,
					sp_error *err);

/* A shape whose dimensions or rank may be unknown. */
SP_MUST_CHECK sp_status sp_proto__partial_shape(sp_partial_shape *out,
						const SpPb__TensorShapeProto *proto, sp_error *err);

/* See model_loader/proto/tensor_proto.h. */
SP_MUST_CHECK sp_status sp_proto__tensor(sp_tensor *out, const SpPb__TensorProto *proto,
					 sp_proto_target *target, sp_error *err);

/* A large tensor of few values, not expanded (SP_ATTR_REPEATED); *out is NULL for any other. */
SP_MUST_CHECK sp_status sp_proto__repeated_values(sp_repeated_values **out,
						  const SpPb__TensorProto *proto,
						  sp_proto_target *target, sp_error *err);

/* See model_loader/proto/graph_proto.h. */
SP_MUST_CHECK sp_status sp_proto__graph(sp_graph_def *out, const SpPb__GraphDef *proto,
					sp_proto_target *target, sp_error *err);

#endif
