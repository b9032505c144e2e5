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
 * A graph of nodes with resolved inputs: one flat list in topological order,
 * functions inlined, unreachable nodes gone.  Passes (fusion) rewrite it; then
 * engine/runtime/program.h compiles it.
 *
 * What runs under a condition or many times is a region: a branch of an If, the
 * condition and the body of a While.  A node is in one region and reads values
 * of its own region and of those around it.  The node that owns regions stands
 * behind all their nodes and in the region around them; its inputs are
 *
 *     If, Case   selector, then what each branch returns, branch after branch
 *     While      variables, whether to go on, what the body returns
 *     For        limit, delta, counter, variables, what the body returns
 *
 * A variable of a loop is an _Argument, whose input is what it holds at first.
 * The condition of a While is in its first region, the body in its second, which
 * lies in the first; a For has a first region without nodes but its variables.
 *
 * A pass that replaces nodes keeps `region`: the new node is where the last of
 * the old ones was.
 *
 * Threads: one thread at a time while it is built; immutable after.
 */

struct sp_op;

/* Output `port` of node `node`. */
typedef struct sp_port {
	uint32_t node;
	uint32_t port;
} sp_port;

typedef struct sp_node {
	const char *name;       /* unique; of an inlined node "call/inner" */
	const char *op_name;    /* as the file spells it */
	const struct sp_op *op; /* NULL when we have no such operator */
	const sp_port *inputs;
	size_t input_count;
	const uint32_t *controls; /* nodes that must run before this one */
	size_t control_count;
	const sp_attr *attrs;
	size_t attr_count;
	uint32_t region;       /* where it runs; 0 is the graph itself */
	uint32_t first_region; /* of the ones it owns, which stand in a row */
	uint32_t region_count;
	const char *refused;         /* what of it could not be understood; NULL when all was */
	const sp_graph_def *library; /* has the functions that its attributes name; may be NULL */
} sp_node;

typedef struct sp_graph {
	sp_arena *arena; /* holds everything the graph points at */
	sp_node *nodes;  /* inputs and controls of a node stand before it */
	size_t node_count;
	sp_map names;     /* node name -> index, for nodes of the outer graph */
	uint32_t *around; /* [region_count] the region around a region; 0 around 0 */
	size_t region_count;
} sp_graph;

/*
 * A tensor's name as signatures and savers spell it: "node:1", or "node" for
 * port 0.  SP_NOT_FOUND when the graph has no such node, SP_INVALID when it is
 * not of that form.
 */
SP_MUST_CHECK sp_status sp_graph_find(const sp_graph *graph, const char *tensor_name, sp_port *out,
				      sp_error *err);

/*
 * Attributes of a node, with the default that holds when the file leaves one
 * out (writers strip attributes that equal their default).  A present attribute
 * of another kind is SP_INVALID, in words that name it.
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
 * `fallback` SP_INVALID_DTYPE: the attribute has no default and must be there.
 * SP_UNSUPPORTED for a data type that we do not have (DT_FLOAT8_E4M3FN).
 */
SP_MUST_CHECK sp_status sp_node_attr_type(const sp_node *node, const char *name, sp_dtype fallback,
					  sp_dtype *out, sp_error *err);

/* A tensor that has to be there; it lives as long as the graph. */
SP_MUST_CHECK sp_status sp_node_attr_tensor(const sp_node *node, const char *name,
					    const sp_tensor **out, sp_error *err);

/*
 * A list of `element` kind; absent or empty gives count 0.  The returned
 * attribute's count and list are read; it is never NULL on success.
 */
SP_MUST_CHECK sp_status sp_node_attr_list(const sp_node *node, const char *name,
					  sp_attr_kind element, const sp_attr **out, sp_error *err);

/* Where a loop has its variables and what becomes of them among its inputs. */
typedef struct sp_loop_inputs {
	size_t variables, results; /* the first of each */
	size_t count;
} sp_loop_inputs;

/* False for a node that is no loop. */
bool sp_node_is_loop(const sp_node *node, sp_loop_inputs *out);

/* Any attribute as it is, or NULL. */
const sp_attr *sp_node_attr(const sp_node *node, const char *name);

#endif
