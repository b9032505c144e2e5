#ifndef SP_ENGINE_GRAPH_SORT_H
#define SP_ENGINE_GRAPH_SORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/graph/graph.h"

/* What entries do with nodes. */
typedef struct sp_graph_ends {
	bool *fed; /* [nodes] requests give its value */
	uint64_t
		*wanted; /* [nodes] a bit per output of an entry that fetches it; 63 for the rest */
	size_t capacity; /* of both: the most nodes that the graph may come to have */
} sp_graph_ends;

/*
 * Puts the nodes in topological order, for passes that append nodes; nodes keep their order where
 * they can.  `ends` follows.
 *
 * SP_INTERNAL when nodes depend on each other in a cycle.
 */
SP_MUST_CHECK sp_status sp_graph_sort(sp_graph *graph, sp_graph_ends *ends, sp_error *err);

#endif
