#ifndef SP_ENGINE_GRAPH_SORT_H
#define SP_ENGINE_GRAPH_SORT_H

#include "engine/passes/fuse.h"

/*
 * Puts every node behind what it needs, for passes that append nodes: the
 * order stays where it can.  `ends` follows.
 *
 * SP_INTERNAL when nodes need each other in a circle.
 */
SP_MUST_CHECK sp_status sp_graph_sort(sp_graph *graph, sp_graph_ends *ends, sp_error *err);

#endif
