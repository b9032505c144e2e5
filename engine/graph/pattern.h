#ifndef SP_ENGINE_PATTERN_H
#define SP_ENGINE_PATTERN_H

#include <stdbool.h>

#include "engine/graph/graph.h"

/*
 * Predicates of the fusion passes.  A node with control inputs never matches, because the fused
 * operator would not wait for them.
 */

/* The node whose output 0 is `port`, if it has that opcode and that many inputs; else NULL. */
static inline const sp_node *sp_pattern_made_by(const sp_graph *graph, sp_port port,
						sp_opcode opcode, size_t input_count)
{
	const sp_node *node = &graph->nodes[port.node];

	return port.port == 0 && node->control_count == 0 && node->input_count == input_count &&
			       node->opcode == opcode
		       ? node
		       : NULL;
}

static inline bool sp_pattern_same(sp_port a, sp_port b)
{
	return a.node == b.node && a.port == b.port;
}

/*
 * Whether the model version alone determines the value of node `i`, provided that no entry feeds
 * it. early [node_count] has the answers for the nodes before it.
 */
bool sp_pattern_is_early(const sp_graph *graph, const bool *early, size_t i);

/* The value of a Const; NULL for anything else. */
const sp_tensor *sp_pattern_constant(const sp_graph *graph, sp_port port);

/* Whether `port` is a constant of one element with that integer value. */
bool sp_pattern_is_integer(const sp_graph *graph, sp_port port, int64_t value);

/* Whether `port` is a constant of one integer, which goes into *value. */
bool sp_pattern_integer(const sp_graph *graph, sp_port port, int64_t *value);

/* Whether `port` is a constant vector of these integers. */
bool sp_pattern_is_vector(const sp_graph *graph, sp_port port, const int64_t *values, size_t count);

/* Whether `port` is the scalar vector[i]. */
bool sp_pattern_is_element(const sp_graph *graph, sp_port port, sp_port vector, int64_t i);

/* Whether `port` is the scalar shape(of)[axis]. */
bool sp_pattern_is_dimension(const sp_graph *graph, sp_port port, sp_port of, int64_t axis);

/* Whether the attribute has that value; a number that is left out is 0. */
bool sp_pattern_attr_int(const sp_node *node, const char *name, int64_t value);
bool sp_pattern_attr_type(const sp_node *node, const char *name, sp_dtype value);

#endif
