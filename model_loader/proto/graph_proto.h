#ifndef SP_MODEL_LOADER_PROTO_GRAPH_PROTO_H
#define SP_MODEL_LOADER_PROTO_GRAPH_PROTO_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * A serialized GraphDef as engine/graph/graph_def.h has it.
 * The bytes are not needed afterwards.
 *
 * Attributes come sorted by name.  A large tensor of few values is not written out
 * (SP_ATTR_REPEATED).  One whose value this build cannot hold (a
 * rank above SP_MAX_RANK, a constant of a resource or variant) becomes
 * SP_ATTR_NONE, so that only the operator that needs it refuses.  A function's
 * returns and control returns come in the order of its signature.
 *
 * Errors: SP_CORRUPT for bytes that are no such message, names with a NUL
 * inside, nodes and functions without a name, attributes given twice, outputs
 * of a function that nothing is returned for, and what
 * model_loader/proto/tensor_proto.h refuses; SP_UNSUPPORTED for functions whose
 * arguments are lists.  The text names the node or the function.
 *
 * Source: graph.proto, node_def.proto, attr_value.proto, function.proto and
 * op_def.proto of TensorFlow 2.15.
 */
SP_MUST_CHECK sp_status sp_graph_def_parse(sp_graph_def *out, sp_bytes bytes, sp_arena *arena,
					   sp_error *err);

#endif
