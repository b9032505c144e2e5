#ifndef SP_ENGINE_VARIABLE_HANDLES_H
#define SP_ENGINE_VARIABLE_HANDLES_H

#include "base/status.h"
#include "engine/graph/graph.h"

#define SP_NO_VARIABLE UINT32_MAX

/*
 * For each node of a lowered graph (engine/import/lower.h) that is a handle of a variable, directly
 * or through Identity, the first VarHandleOp of that variable; SP_NO_VARIABLE for all others.
 * Handles with the same shared name and container are one variable; a handle without a shared name
 * is a variable of its own.
 *
 * *variables [node_count] is in the graph's arena.  Linear in the size of the graph.
 */
SP_MUST_CHECK sp_status sp_graph_find_variables(sp_graph *graph, const uint32_t **variables,
						sp_error *err);

/* The variable that a node reads or writes by its input 0. */
static inline uint32_t sp_variable_of(const uint32_t *variables, const sp_node *node)
{
	return node->input_count != 0 ? variables[node->inputs[0].node] : SP_NO_VARIABLE;
}

#endif
