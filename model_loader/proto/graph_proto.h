#ifndef SP_MODEL_LOADER_PROTO_GRAPH_PROTO_H
#define SP_MODEL_LOADER_PROTO_GRAPH_PROTO_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * Converts a serialized GraphDef to that of engine/graph/graph_def.h.  The bytes are not needed
 * afterwards.
 *
 * Attributes are sorted by name.  A large tensor of few values is not expanded (SP_ATTR_REPEATED).
 * An attribute that this build cannot represent (a rank above SP_MAX_RANK, a constant of a resource
 * or variant) becomes SP_ATTR_NONE, so that only the operator that needs it fails.  A function's
 * returns and control returns are in the order of its signature.
 *
 * Errors: SP_CORRUPT for bytes that are no such message, names that contain a NUL, nodes and
 * functions without a name, repeated attributes, outputs of a function without a return value, and
 * errors of model_loader/proto/tensor_proto.h; SP_UNSUPPORTED for functions with list arguments.
 * The text names the node or the function.
 *
 * Source: graph.proto, node_def.proto, attr_value.proto, function.proto and op_def.proto of
 * TensorFlow 2.15.
 */
SP_MUST_CHECK sp_status sp_graph_def_parse(sp_graph_def *out, sp_bytes bytes, sp_arena *arena,
					   sp_error *err);

#endif
