#ifndef SP_ENGINE_DROP_UNREAD_H
#define SP_ENGINE_DROP_UNREAD_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * What nobody reads of a condition or a loop is left out: outputs of an If or a Case, and variables
 * of a loop that neither its condition nor other variables need.  A graph that was exported with
 * the gradients of its training returns from every branch and collects in every round what these
 * would read; TensorFlow does not compute it, and its optimizer counts its readers for none.
 *
 * Nodes keep their numbers; what was needed for nothing else stays in the list and is left out of
 * every plan.
 *
 * kept [node_count]  true for nodes that entries feed, fetch or target: of these nothing is left
 *                    out
 *
 * Linear in the size of the graph.
 */
SP_MUST_CHECK sp_status sp_graph_drop_unread(sp_graph *graph, const bool *kept, sp_error *err);

#endif
