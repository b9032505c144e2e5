#ifndef SP_ENGINE_DROP_UNREAD_H
#define SP_ENGINE_DROP_UNREAD_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * Removes dead outputs of conditions and loops: outputs of an If or a Case that nothing reads, and
 * loop variables that neither the condition nor live variables depend on.  Graphs that were
 * exported with their gradients have branches and loops that return values for the gradients only.
 *
 * Nodes keep their numbers.  Nodes without readers stay in the list; plans leave them out.
 *
 * kept [node_count]: nodes that entries feed, fetch or target; all their outputs are live.
 *
 * Linear in the size of the graph.
 */
SP_MUST_CHECK sp_status sp_graph_drop_dead_outputs(sp_graph *graph, const bool *kept,
						   sp_error *err);

#endif
