#ifndef SP_ENGINE_SIMPLIFY_H
#define SP_ENGINE_SIMPLIFY_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * Common subexpression elimination: nodes of one region with equal operators, attributes, inputs
 * and control inputs become one, and no node reads through an Identity any more.  Add, AddV2 and
 * Mul of numbers commute.  Exported graphs repeat themselves: every feature column computes the
 * shape of the same input.
 *
 * Nodes keep their numbers and names.  Nodes without readers stay in the list; plans leave them
 * out.
 *
 * kept [node_count]: nodes that entries feed, fetch or target; they are not replaced by equal
 * nodes.
 *
 * Linear in the size of the graph.
 */
SP_MUST_CHECK sp_status sp_graph_simplify(sp_graph *graph, const bool *kept, sp_error *err);

#endif
