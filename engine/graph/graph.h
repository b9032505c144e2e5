#ifndef SP_ENGINE_GRAPH_H
#define SP_ENGINE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * A graph of typed nodes with resolved inputs: one flat list in topological order, with functions
 * inlined and unreachable nodes left out.  Passes (engine/passes) rewrite it, then
 * engine/runtime/program.h compiles it.
 *
 * A region is a part of the graph that runs conditionally or repeatedly: a branch of an If, the
 * condition or the body of a While.  Every node lies in one region and reads values of that region
 * and of the regions around it.  The node that owns regions lies in the region around them and
 * stands after all their nodes.  Its inputs are
 *
 *     If, Case   the selector, then the results of each branch, branch after branch
 *     While      the variables, the result of the condition, the results of the body
 *
 * A variable of a loop is a LoopVariable node, whose input is its initial value.  The condition of
 * a While is its first region and the body its second, which lies in the first.
 *
 * A pass that replaces several nodes by one gives it the `region` of the last of them.
 *
 * Threads: one thread at a time while it is built; immutable after.
 */

/*
 * The operator of a node, out of engine/ops/ops.inc.  Import finds it by its name in the file; from
 * then on nodes are compared by opcode.
 */
typedef enum sp_opcode {
	SP_OPCODE_NONE, /* not supported, or an operator of a front end (engine/front_ends.inc) */
#define SP_OP(name)           SP_OPCODE_##name,
#define SP_OP_REWRITTEN(name) SP_OPCODE_##name,
#define SP_OP_INTERNAL(name)  SP_OPCODE_##name,
#include "engine/ops/ops.inc"
#undef SP_OP
#undef SP_OP_REWRITTEN
#undef SP_OP_INTERNAL
} sp_opcode;

struct sp_op;                /* engine/graph/op.h */
struct sp_embedding_columns; /* engine/ops/embedding/column_spec.h */

/* Of DenseLayer. */
typedef struct sp_dense_options {
	bool transposed; /* the weights are [n, k] */
	bool relu;
} sp_dense_options;

/* Output `port` of node `node`. */
typedef struct sp_port {
	uint32_t node;
	uint32_t port;
} sp_port;

typedef struct sp_node {
	const char *name;    /* unique; of an inlined node "call/inner" */
	const char *op_name; /* for messages: as the file spells it */
	sp_opcode opcode;
	const struct sp_op *op; /* NULL when the operator is not supported */
	const sp_port *inputs;
	size_t input_count;
	const uint32_t *controls; /* nodes that must run before this one */
	size_t control_count;
	const sp_attr *attrs;
	size_t attr_count;
	uint32_t region;       /* where it runs; 0 is the graph itself */
	uint32_t first_region; /* of those it owns, which are consecutive */
	uint32_t region_count;
	const char *refused;         /* why import refused the node; NULL when it did not */
	const sp_graph_def *library; /* has the functions that its attributes name; may be NULL */

	/* Options of internal operators, which have no attributes. */
	union {
		const struct sp_embedding_columns *columns; /* of EmbeddingColumns */
		sp_dense_options dense;
	};
} sp_node;

typedef struct sp_graph {
	sp_arena *arena; /* holds everything the graph points at */
	sp_node *nodes;  /* inputs and controls of a node stand before it */
	size_t node_count;
	sp_map names;     /* node name -> index, for nodes of the outer graph */
	uint32_t *around; /* [region_count] the region around a region; 0 around 0 */
	size_t region_count;
} sp_graph;

/* One way to run a graph (a signature): what is fed, what is fetched. */
typedef struct sp_entry_spec {
	const char *name;
	const sp_port *feeds;
	size_t feed_count;
	const sp_port *fetches;
	size_t fetch_count;
	const uint32_t *targets; /* nodes to run for their effect */
	size_t target_count;
} sp_entry_spec;

/* Sets opcode, op and op_name. */
void sp_node_set_op(sp_node *node, sp_opcode opcode);

/*
 * A tensor's name as signatures and savers spell it: "node:1", or "node" for
 * port 0.  SP_NOT_FOUND when the graph has no such node, SP_INVALID when it is
 * not of that form.
 */
SP_MUST_CHECK sp_status sp_graph_find(const sp_graph *graph, const char *tensor_name, sp_port *out,
				      sp_error *err);

/*
 * Attributes of a node; `fallback` is returned when the file leaves one out (writers strip
 * attributes that equal their default).  SP_INVALID, naming the attribute, when it has another
 * kind.
 */
SP_MUST_CHECK sp_status sp_node_attr_bool(const sp_node *node, const char *name, bool fallback,
					  bool *out, sp_error *err);
SP_MUST_CHECK sp_status sp_node_attr_int(const sp_node *node, const char *name, int64_t fallback,
					 int64_t *out, sp_error *err);
SP_MUST_CHECK sp_status sp_node_attr_float(const sp_node *node, const char *name, float fallback,
					   float *out, sp_error *err);
SP_MUST_CHECK sp_status sp_node_attr_bytes(const sp_node *node, const char *name,
					   const char *fallback, sp_bytes *out, sp_error *err);

/*
 * `fallback` SP_INVALID_DTYPE: the attribute is required.  SP_UNSUPPORTED for a data type that the
 * engine lacks (DT_FLOAT8_E4M3FN).
 */
SP_MUST_CHECK sp_status sp_node_attr_type(const sp_node *node, const char *name, sp_dtype fallback,
					  sp_dtype *out, sp_error *err);

/* A required tensor; it lives as long as the graph. */
SP_MUST_CHECK sp_status sp_node_attr_tensor(const sp_node *node, const char *name,
					    const sp_tensor **out, sp_error *err);

/*
 * A list of `element` kind; absent or empty gives count 0.  *out is never NULL on success: read its
 * count and list.
 */
SP_MUST_CHECK sp_status sp_node_attr_list(const sp_node *node, const char *name,
					  sp_attr_kind element, const sp_attr **out, sp_error *err);

bool sp_node_is_loop(const sp_node *node);

/* The attribute, or NULL. */
const sp_attr *sp_node_attr(const sp_node *node, const char *name);

#endif
