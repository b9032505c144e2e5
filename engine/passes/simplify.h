#ifndef SP_ENGINE_SIMPLIFY_H
#define SP_ENGINE_SIMPLIFY_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * What a graph says twice it says once: nodes of one region with the same operator,
 * the same attributes and the same inputs (those of control, too; of Add, AddV2 and
 * Mul of numbers in either order) become one, and nobody reads through an identity
 * any more.  Exported graphs repeat themselves a
 * lot: every feature column takes its own look at the shape of the same input.
 *
 * Nodes keep their numbers and names.  What is not read any more stays in the
 * list and is left out of every plan.
 *
 * kept [node_count]  true for nodes that entries feed, fetch or target: nobody
 *                    reads another node in their place
 *
 * Linear in the size of the graph.
 */
SP_MUST_CHECK sp_status sp_graph_simplify(sp_graph *graph, const bool *kept, sp_error *err);

#endif
