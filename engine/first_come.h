#ifndef SP_ENGINE_FIRST_COME_H
#define SP_ENGINE_FIRST_COME_H

#include "engine/graph.h"

/*
 * The order in which TensorFlow's optimizer has the nodes of a sorted graph: those that wait for
 * nobody, as they stand, and then each one as soon as the last that it reads or waits for has had
 * its turn; of several that wait for the same one the first in the graph is the first.
 *
 * [node_count], in `arena`; NULL when there is no memory.  Linear in the size of the graph.
 */
uint32_t *sp_graph_first_come(const sp_graph *graph, sp_arena *arena);

#endif
