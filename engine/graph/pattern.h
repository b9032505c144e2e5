#ifndef SP_ENGINE_PATTERN_H
#define SP_ENGINE_PATTERN_H

#include <stdbool.h>
#include <string.h>

#include "engine/graph/graph.h"

/*
 * Questions that fusions ask of a graph.  A node with control inputs is never
 * part of a pattern: it has to wait for something that a pattern does not know.
 */

/* The node whose output 0 is `port`, if it is an `op` of so many inputs; else NULL. */
static inline const sp_node *sp_pattern_made_by(const sp_graph *graph, sp_port port, const char *op,
						size_t input_count)
{
	const sp_node *node = &graph->nodes[port.node];

	return port.port == 0 && node->control_count == 0 && node->input_count == input_count &&
			       strcmp(node->op_name, op) == 0
		       ? node
		       : NULL;
}

static inline bool sp_pattern_same(sp_port a, sp_port b)
{
	return a.node == b.node && a.port == b.port;
}

/* The value of a Const; NULL for anything else. */
const sp_tensor *sp_pattern_constant(const sp_graph *graph, sp_port port);

/* Is `port` a constant of one number, an integer, and that one? */
bool sp_pattern_is_integer(const sp_graph *graph, sp_port port, int64_t value);

/* The same, of any integer: the number goes into *value. */
bool sp_pattern_integer(const sp_graph *graph, sp_port port, int64_t *value);

/* Is `port` a constant vector of these integers? */
bool sp_pattern_is_vector(const sp_graph *graph, sp_port port, const int64_t *values, size_t count);

/* Is `port` vector[i], a number? */
bool sp_pattern_is_element(const sp_graph *graph, sp_port port, sp_port vector, int64_t i);

/* Is `port` shape(of)[axis], a number? */
bool sp_pattern_is_dimension(const sp_graph *graph, sp_port port, sp_port of, int64_t axis);

/* Does the attribute have that value, or is it left out and that is its default? */
bool sp_pattern_attr_int(const sp_node *node, const char *name, int64_t fallback, int64_t value);
bool sp_pattern_attr_type(const sp_node *node, const char *name, sp_dtype value);

#endif
